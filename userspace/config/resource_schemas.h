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
void readNode(const Value&, Node& out, Reader&);

// The same in normal form: a mapping with the name first and without what is at its default.
// Reading it gives the same resource again.
ValuePtr writeHealthCheck(const HealthCheck&);
ValuePtr writeGroup(const NetworkEndpointGroup&);
ValuePtr writeEndpoint(const Endpoint&);
ValuePtr writeService(const BackendService&);
ValuePtr writeRule(const ForwardingRule&);
ValuePtr writeRoute(const Route&);
ValuePtr writeNode(const Node&);

const MappingInfo& healthCheckFields();
const MappingInfo& groupFields();
const MappingInfo& serviceFields();
const MappingInfo& ruleFields();
const MappingInfo& routeFields();
const MappingInfo& nodeFields();

// Why whatever belongs to proxies is refused.
inline constexpr std::string_view kNoProxyYet =
    "this version of weir does not have the TCP proxy yet";
inline constexpr std::string_view kProxyOnly =
    "it belongs to proxies, and this version of weir does not have the TCP proxy yet";

// loadBalancingScheme as every passthrough resource has it.
Type<LoadBalancingScheme> passthroughScheme();

}  // namespace weir::config
