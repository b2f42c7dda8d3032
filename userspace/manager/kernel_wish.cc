// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel_wish.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "manager/announced.h"

namespace weir::manager {

namespace {

// The services that routes lead to.
std::set<std::string_view> nextHopServices(const Configuration& configuration) {
  std::set<std::string_view> hops;
  for (const Route& route : configuration.routes) hops.insert(route.nextHopIlb);
  std::set<std::string_view> services;
  for (const ForwardingRule& rule : configuration.rules)
    if (hops.contains(rule.name)) services.insert(rule.backendService);
  return services;
}

void insertAddresses(const Endpoint& endpoint, std::set<Address>& into) {
  if (endpoint.ipAddress) into.insert(*endpoint.ipAddress);
  if (endpoint.ipv6Address) into.insert(*endpoint.ipv6Address);
}

// The machines behind the routes with all their addresses: those of the services' backends, the
// leaving ones too, and of endpoints of any group that carry the same `instance`: a machine that
// sends packets back by another interface than it got them has its further addresses there.
std::vector<Address> appliances(const ControlPlane& controlPlane) {
  const Configuration& configuration = controlPlane.configuration();
  std::set<Address> addresses;
  std::map<Mark, BackendRoute> routes;
  for (const BackendRoute& route : controlPlane.routes()) routes.emplace(route.mark, route);
  std::set<std::string_view> groups;
  for (const std::string_view service : nextHopServices(configuration)) {
    const auto view = controlPlane.view(service);
    if (!view) continue;
    for (const BackendView& backend : view->backends) {
      groups.insert(backend.group);
      const auto route = routes.find(backend.mark);
      if (route == routes.end()) continue;
      if (route->second.ipv4) addresses.insert(*route->second.ipv4);
      if (route->second.ipv6) addresses.insert(*route->second.ipv6);
    }
    for (const BackendService& configured : configuration.services)
      if (configured.name == service)
        for (const ServiceBackend& backend : configured.backends) groups.insert(backend.group);
  }
  std::set<std::string_view> instances;
  for (const NetworkEndpointGroup& group : configuration.groups)
    if (groups.contains(group.name))
      for (const Endpoint& endpoint : group.endpoints)
        if (!endpoint.instance.empty()) instances.insert(endpoint.instance);
  for (const NetworkEndpointGroup& group : configuration.groups)
    for (const Endpoint& endpoint : group.endpoints)
      if (instances.contains(endpoint.instance)) insertAddresses(endpoint, addresses);
  return {addresses.begin(), addresses.end()};
}

template <class T>
std::vector<T> joined(const std::vector<T>& a, const std::vector<T>& b) {
  std::set<T> both(a.begin(), a.end());
  both.insert(b.begin(), b.end());
  return {both.begin(), both.end()};
}

}  // namespace

std::vector<DivertedRoute> divertedRoutes(const Configuration& configuration) {
  std::set<DivertedRoute> routes;
  for (const Route& route : configuration.routes) routes.insert({route.name, route.destRange});
  return {routes.begin(), routes.end()};
}

KernelWish wishOf(const ControlPlane& controlPlane) {
  const Configuration& configuration = controlPlane.configuration();
  std::set<Prefix> divert;
  for (const auto& rule : configuration.rules)
    if (rule.target.empty())  // a proxy's connections end at this host
      divert.emplace(rule.address, rule.address.isIpv4() ? 32u : 128u);

  const Node& node = configuration.node;
  KernelWish wish;
  wish.backends = controlPlane.routes();
  wish.divert.assign(divert.begin(), divert.end());
  wish.routes = divertedRoutes(configuration);
  wish.appliances = appliances(controlPlane);
  wish.announced = announcedAddresses(controlPlane);
  wish.interfaces = node.interfaces;
  wish.manageSysctls = node.manageSysctls;
  wish.spreadsByPort = spreadsByPort(configuration);
  wish.fwmarkMask = node.fwmarkMask;
  wish.ruleBase = node.ruleBase;
  wish.tableBase = node.tableBase;
  wish.routeProtocol = node.routeProtocol;
  wish.queueBase = node.queueBase;
  wish.queues = static_cast<std::uint16_t>(node.queues);
  return wish;
}

KernelWish unionOf(const KernelWish& old, const KernelWish& wanted) {
  KernelWish both = wanted;
  std::map<Mark, BackendRoute> backends;
  for (const auto& route : wanted.backends) backends.emplace(route.mark, route);
  for (const auto& route : old.backends) backends.emplace(route.mark, route);
  both.backends.clear();
  for (auto& [mark, route] : backends) both.backends.push_back(route);
  both.divert = joined(wanted.divert, old.divert);
  both.routes = joined(wanted.routes, old.routes);
  both.appliances = joined(wanted.appliances, old.appliances);
  return both;
}

}  // namespace weir::manager
