// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/probe_targets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace weir::manager {

namespace {

using Checks = std::map<std::string, std::shared_ptr<const HealthCheck>, std::less<>>;
using Endpoints = std::map<EndpointRef, const Endpoint*>;

Endpoints endpointsOf(const Configuration& configuration) {
  Endpoints endpoints;
  for (const auto& group : configuration.groups)
    for (const auto& endpoint : group.endpoints)
      endpoints.emplace(EndpointRef{group.name, endpoint.identity()}, &endpoint);
  return endpoints;
}

// The service's virtual addresses, each once.
std::set<Address> virtualAddresses(const Configuration& configuration, const std::string& service) {
  std::set<Address> addresses;
  for (const auto& rule : configuration.rules)
    if (rule.backendService == service) addresses.insert(rule.address);
  return addresses;
}

std::uint16_t portOf(const HealthCheck& check, const Endpoint& endpoint) {
  if (check.portSpecification == HealthCheck::PortSpecification::servingPort && endpoint.port)
    return *endpoint.port;
  return check.port;
}

bool uses(const BackendService& service, const std::string& group) {
  return std::ranges::any_of(service.backends,
                             [&](const ServiceBackend& backend) { return backend.group == group; });
}

// X1.3: where the proxy would connect to.
std::optional<Address> connectAddress(const Endpoint& endpoint, AddressSelection selection) {
  switch (selection) {
    case AddressSelection::ipv4Only:
      return endpoint.addressOf(Family::ipv4);
    case AddressSelection::ipv6Only:
      return endpoint.addressOf(Family::ipv6);
    case AddressSelection::preferIpv6:
      break;
  }
  const auto ipv6 = endpoint.addressOf(Family::ipv6);
  return ipv6 ? ipv6 : endpoint.addressOf(Family::ipv4);
}

class Collector {
 public:
  void addProxied(const BackendService& service, const EndpointRef& ref, const Endpoint& endpoint,
                  const std::shared_ptr<const HealthCheck>& check) {
    if (const auto address = connectAddress(endpoint, service.proxy.addressSelection))
      insert({ref, check, *address, portOf(*check, endpoint), Mark{}, Mark{}, {service.name}});
  }
  void add(const std::string& service, const BackendView& backend, const Endpoint& endpoint,
           const std::shared_ptr<const HealthCheck>& check, const std::set<Address>& addresses) {
    const EndpointRef ref{backend.group, backend.endpoint};
    const std::uint16_t port = portOf(*check, endpoint);
    if (check->target == HealthCheck::Target::endpoint) {
      for (const auto& address : {endpoint.ipAddress, endpoint.ipv6Address})
        if (address) insert({ref, check, *address, port, Mark{}, backend.mark, {service}});
      return;
    }
    for (const Address address : addresses)
      if (endpoint.addressOf(address.family()))
        insert({ref, check, address, port, backend.mark, backend.mark, {service}});
  }
  std::vector<ProbeTarget> take() && { return std::move(targets_); }

 private:
  void insert(ProbeTarget target) {
    const auto [found, isNew] = seen_.emplace(
        std::tuple(target.endpoint, target.check->name, target.address), targets_.size());
    if (isNew) return targets_.push_back(std::move(target));
    auto& services = targets_[found->second].services;
    const std::string& service = target.services.front();
    services.insert(std::lower_bound(services.begin(), services.end(), service), service);
  }
  // Where in targets_.
  std::map<std::tuple<EndpointRef, std::string, Address>, std::size_t> seen_;
  std::vector<ProbeTarget> targets_;
};

}  // namespace

std::vector<ProbeTarget> probeTargets(const ControlPlane& controlPlane,
                                      const ProxyPlane& proxyPlane) {
  const Configuration& configuration = controlPlane.configuration();
  Checks checks;
  for (const auto& check : configuration.healthChecks)
    checks.emplace(check.name, std::make_shared<const HealthCheck>(check));
  const Endpoints endpoints = endpointsOf(configuration);
  Collector collector;
  for (const auto& service : configuration.services) {
    const auto check = checks.find(service.healthCheck);
    if (check == checks.end()) continue;
    if (service.isManaged()) {
      for (const auto& [ref, endpoint] : endpoints)
        if (uses(service, ref.group) && proxyPlane.health(ref) != Health::draining)
          collector.addProxied(service, ref, *endpoint, check->second);
      continue;
    }
    const auto view = controlPlane.view(service.name);
    if (!view) continue;
    const auto addresses = virtualAddresses(configuration, service.name);
    for (const auto& backend : view->backends) {
      if (backend.health == Health::draining) continue;
      const auto endpoint = endpoints.find({backend.group, backend.endpoint});
      if (endpoint != endpoints.end())
        collector.add(service.name, backend, *endpoint->second, check->second, addresses);
    }
  }
  return std::move(collector).take();
}

}  // namespace weir::manager
