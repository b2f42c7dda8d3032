// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/edit_references.h"

#include <fmt/format.h>

namespace weir::config {
namespace {

// Calls `see(path, collection, name)` for everything that a resource names.
template <class See>
void forEachReference(const BackendService& service, See see) {
  see("healthChecks[0]", "healthChecks", service.healthCheck);
  see("serviceLbPolicy", "serviceLbPolicies", service.proxy.lbPolicy);
  for (std::size_t i = 0; i < service.backends.size(); ++i)
    see(fmt::format("backends[{}].group", i), "networkEndpointGroups", service.backends[i].group);
}

template <class See>
void forEachReference(const ForwardingRule& rule, See see) {
  see("backendService", "backendServices", rule.backendService);
  see("target", "targetTcpProxies", rule.target);
}

template <class See>
void forEachReference(const Route& route, See see) {
  see("nextHopIlb", "forwardingRules", route.nextHopIlb);
}

template <class See>
void forEachReference(const TargetTcpProxy& proxy, See see) {
  see("service", "backendServices", proxy.service);
}

template <class See>
void forEachReference(const TlsRoute& route, See see) {
  for (std::size_t i = 0; i < route.targetProxies.size(); ++i)
    see(fmt::format("targetProxies[{}]", i), "targetTcpProxies", route.targetProxies[i]);
  for (std::size_t i = 0; i < route.rules.size(); ++i)
    for (std::size_t j = 0; j < route.rules[i].destinations.size(); ++j)
      see(fmt::format("rules[{}].action.destinations[{}].serviceName", i, j), "backendServices",
          route.rules[i].destinations[j].service);
}

}  // namespace

std::vector<Reference> referencesTo(const Configuration& c, std::string_view collection,
                                    std::string_view name) {
  std::vector<Reference> found;
  const auto look = [&](std::string_view in, const auto& resources) {
    for (const auto& resource : resources)
      forEachReference(resource, [&](const std::string& path, std::string_view toCollection,
                                     const std::string& toName) {
        if (toCollection == collection && toName == name)
          found.push_back({in, resource.name, path});
      });
  };
  look("backendServices", c.services);
  look("forwardingRules", c.rules);
  look("routes", c.routes);
  look("targetTcpProxies", c.targetProxies);
  look("tlsRoutes", c.tlsRoutes);
  return found;
}

}  // namespace weir::config
