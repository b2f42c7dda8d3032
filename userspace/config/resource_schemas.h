// SPDX-License-Identifier: GPL-2.0-or-later
//
// How each kind of resource is read and written: its fields, and the rules that hold inside of one.
// What is wrong is reported; what is right is in `out` all the same.
#pragma once

#include "config/schema.h"
#include "weir/model.h"

namespace weir::config {

void readHealthCheck(const Value&, HealthCheck& out, Reader&);
void readGroup(const Value&, NetworkEndpointGroup& out, Reader&);
void readEndpoint(const Value&, Endpoint& out, Reader&);
void readService(const Value&, BackendService& out, Reader&);
void readRule(const Value&, ForwardingRule& out, Reader&);
void readRoute(const Value&, Route& out, Reader&);
void readTargetProxy(const Value&, TargetTcpProxy& out, Reader&);
void readTlsRoute(const Value&, TlsRoute& out, Reader&);
void readLbPolicy(const Value&, ServiceLbPolicy& out, Reader&);
void readNode(const Value&, Node& out, Reader&);

// The same in normal form: a mapping with the name first and without what is at its default.
// Reading it gives the same resource again.
ValuePtr writeHealthCheck(const HealthCheck&);
ValuePtr writeGroup(const NetworkEndpointGroup&);
ValuePtr writeEndpoint(const Endpoint&);
ValuePtr writeService(const BackendService&);
ValuePtr writeRule(const ForwardingRule&);
ValuePtr writeRoute(const Route&);
ValuePtr writeTargetProxy(const TargetTcpProxy&);
ValuePtr writeTlsRoute(const TlsRoute&);
ValuePtr writeLbPolicy(const ServiceLbPolicy&);
ValuePtr writeNode(const Node&);

const MappingInfo& healthCheckFields();
const MappingInfo& groupFields();
const MappingInfo& serviceFields();
const MappingInfo& ruleFields();
const MappingInfo& routeFields();
const MappingInfo& targetProxyFields();
const MappingInfo& tlsRouteFields();
const MappingInfo& lbPolicyFields();
const MappingInfo& nodeFields();

Type<LoadBalancingScheme> loadBalancingScheme();

}  // namespace weir::config
