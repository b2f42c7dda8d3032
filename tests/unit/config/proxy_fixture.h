// SPDX-License-Identifier: GPL-2.0-or-later
//
// The resources of a proxy, to put a wrong one beside.
#pragma once

#include <string>

#include "fixture.h"

namespace weir::config::test {

inline const std::string kPortGroup =
    "networkEndpointGroups: [{name: g, zone: za, endpoints: [{ipAddress: 10.2.0.1, port: 80}]}]\n";
inline const std::string kProxyService =
    "backendServices: [{name: s, loadBalancingScheme: INTERNAL_MANAGED, healthChecks: [hc], "
    "backends: [{group: g, maxConnections: 10}]}]\n";
inline const std::string kTargetProxy = "targetTcpProxies: [{name: t, service: s}]\n";
inline const std::string kProxyRule =
    "forwardingRules: [{name: r, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.9.9.9, "
    "ports: [80], target: t}]\n";
inline const std::string kProxyAll =
    kCheck + kPortGroup + kProxyService + kTargetProxy + kProxyRule;

// The only proxy service, backend, rule and so on with `fields` added.
inline std::string proxyService(const std::string& fields) {
  return kCheck + kPortGroup + "backendServices: [{name: s, loadBalancingScheme: " +
         "INTERNAL_MANAGED, healthChecks: [hc], " + fields + "}]\n" + kTargetProxy + kProxyRule;
}
inline std::string proxyBackend(const std::string& fields) {
  return proxyService("backends: [{group: g, " + fields + "}]");
}
inline std::string proxyRule(const std::string& fields) {
  return kCheck + kPortGroup + kProxyService + kTargetProxy +
         "forwardingRules: [{name: r, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: "
         "10.9.9.9, " +
         fields + "}]\n";
}
inline std::string targetProxy(const std::string& fields) {
  return kCheck + kPortGroup + kProxyService + "targetTcpProxies: [{name: t, " + fields + "}]\n" +
         kProxyRule;
}
inline std::string policy(const std::string& fields) {
  return kProxyAll + "serviceLbPolicies: [{name: p, " + fields + "}]\n";
}

// With TLS routes in the place of the target proxy's service.
inline const std::string kTlsBase =
    kCheck + kPortGroup + kProxyService + "targetTcpProxies: [{name: t}]\n" + kProxyRule;
inline std::string tlsRoute(const std::string& fields) {
  return kTlsBase + "tlsRoutes: [{name: x, " + fields + "}]\n";
}
inline std::string tlsRules(const std::string& rules) {
  return tlsRoute("targetProxies: [t], rules: [" + rules + "]");
}
inline std::string tlsMatch(const std::string& match) {
  return tlsRules("{matches: [" + match + "], action: {destinations: [{serviceName: s}]}}");
}
inline std::string tlsAction(const std::string& action) {
  return tlsRules("{matches: [{sniHost: [a.example.com]}], action: {" + action + "}}");
}

}  // namespace weir::config::test
