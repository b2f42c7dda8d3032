// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "proxy_plane_state.h"
#include "weir/proxy_placement.h"

namespace weir::proxy_plane {

namespace {

LocalityPolicy localityOf(const BackendService& service) noexcept {
  if (service.proxy.locality) return *service.proxy.locality;
  return service.affinity == SessionAffinity::none ? LocalityPolicy::roundRobin
                                                   : LocalityPolicy::maglev;
}

ServiceLbPolicy policyOf(const Index& index, const BackendService& service) {
  const auto found = index.policies.find(service.proxy.lbPolicy);
  return found == index.policies.end() ? ServiceLbPolicy() : *found->second;
}

ProxyEndpoint endpointOf(const BackendService& service, const Listing& listing) {
  const Endpoint& definition = listing.endpoint->definition;
  ProxyEndpoint made;
  made.endpoint = listing.ref->endpoint;
  made.ipv4 = definition.ipAddress;
  made.ipv6 = definition.ipv6Address;
  made.port = definition.port.value_or(0);
  made.fqdn = definition.fqdn;
  made.healthy = countsHealthy(service, *listing.endpoint);
  made.drainDeadline = listing.drainDeadline;
  return made;
}

// P9.2 for proxies: one weight that is missing or invalid makes all of them equal.
void setWeights(const State& state, ProxyServiceSnapshot& snapshot) {
  if (snapshot.locality != LocalityPolicy::weightedRoundRobin) return;
  const auto known = [&](const ProxyGroup& group, const ProxyEndpoint& endpoint) -> const auto& {
    return state.endpoints.at({group.name, endpoint.endpoint});
  };
  for (const ProxyGroup& group : snapshot.groups)
    for (const ProxyEndpoint& endpoint : group.endpoints)
      if (!endpoint.draining() && !known(group, endpoint).weightValid(snapshot.name)) return;
  for (ProxyGroup& group : snapshot.groups)
    for (ProxyEndpoint& endpoint : group.endpoints)
      endpoint.weight = known(group, endpoint).weight(snapshot.name);
}

// S4
void setDrained(const State& plane, const BackendService& service, ServiceState& state,
                ProxyServiceSnapshot& snapshot, Time now) {
  if (!snapshot.policy.autoCapacityDrain) {
    state.capacityDrain = CapacityDrain();
    state.drainedSince.clear();
    return;
  }
  std::vector<CapacityDrain::Group> groups;
  for (const ProxyGroup& group : snapshot.groups) {
    const PlacedGroup placed = placedGroup(group);
    const auto unprobed =
        std::count_if(group.endpoints.begin(), group.endpoints.end(), [&](const auto& endpoint) {
          const auto& known = plane.endpoints.at({group.name, endpoint.endpoint});
          return !endpoint.draining() && !known.verdict(service.name).probed &&
                 !countsHealthy(service, known);
        });
    groups.push_back({group.name, placed.members, placed.healthy, placed.capacity <= 0,
                      static_cast<unsigned>(unprobed)});
  }
  const std::set<std::string>& drained = state.capacityDrain.update(groups, secondsOf(now));
  for (ProxyGroup& group : snapshot.groups) {
    group.drained = drained.contains(group.name);
    if (group.drained) state.drainedSince.try_emplace(group.name, now);
  }
  std::erase_if(state.drainedSince,
                [&](const auto& since) { return !drained.contains(since.first); });
}

ProxyGroup groupOf(const State& state, const Index& index, const BackendService& service,
                   const ServiceState& known, const ServiceBackend& backend) {
  const NetworkEndpointGroup& group = *index.groups.at(backend.group);
  ProxyGroup made;
  made.name = group.name;
  made.zone = group.zone;
  if (const auto region = index.regions.find(group.zone); region != index.regions.end())
    made.region = region->second;
  made.capacity = backend.capacity;
  for (const Listing& listing : listings(state, group, known))
    made.endpoints.push_back(endpointOf(service, listing));
  return made;
}

}  // namespace

Index::Index(const Configuration& configuration) {
  for (const NetworkEndpointGroup& group : configuration.groups) groups.emplace(group.name, &group);
  for (const ServiceLbPolicy& policy : configuration.lbPolicies)
    policies.emplace(policy.name, &policy);
  for (const HealthCheck& check : configuration.healthChecks)
    healthChecks.emplace(check.name, &check);
  for (const Zone& zone : configuration.node.zones) regions.emplace(zone.name, zone.region);
  for (const BackendService& service : configuration.services) {
    if (!service.isManaged()) continue;
    services.emplace(service.name, &service);
    for (const ServiceBackend& backend : service.backends)
      servicesOfGroup[backend.group].push_back(&service);
  }
}

bool countsHealthy(const BackendService& service, const control::EndpointState& endpoint) noexcept {
  return service.healthCheck.empty() || endpoint.verdict(service.name).health == Health::healthy;
}

std::vector<Listing> listings(const State& state, const NetworkEndpointGroup& group,
                              const ServiceState& service) {
  std::vector<Listing> result;
  const auto add = [&](control::EndpointStates::const_iterator endpoint) {
    Listing listing{&endpoint->first, &endpoint->second, endpoint->second.leaves};
    if (const auto drain = service.drains.find(endpoint->first.endpoint);
        drain != service.drains.end())
      listing.drainDeadline = listing.drainDeadline
                                  ? std::min(*listing.drainDeadline, drain->second.deadline)
                                  : drain->second.deadline;
    result.push_back(listing);
  };
  for (const Endpoint& endpoint : group.endpoints)
    add(state.endpoints.find({group.name, endpoint.identity()}));
  for (auto it = state.endpoints.lower_bound({group.name, ""});
       it != state.endpoints.end() && it->first.group == group.name; ++it)
    if (it->second.leaves) add(it);
  return result;
}

bool rebuildService(const State& state, const Index& index, const BackendService& service,
                    ServiceState& known, Generation next, Time now) {
  ProxyServiceSnapshot made;
  made.name = service.name;
  made.generation = known.snapshot.generation;
  made.affinity = service.affinity;
  made.locality = localityOf(service);
  made.policy = policyOf(index, service);
  made.maxConnections = service.proxy.maxConnections;
  made.idleTimeout = service.proxy.idleTimeout;
  made.connectTimeout = service.proxy.connectTimeout;
  made.addressSelection = service.proxy.addressSelection;
  made.logEnable = service.logEnable;
  made.logSampleRate = service.logSampleRate;
  for (const ServiceBackend& backend : service.backends)
    made.groups.push_back(groupOf(state, index, service, known, backend));
  setWeights(state, made);
  setDrained(state, service, known, made, now);
  if (std::exchange(known.told, true) && made == known.snapshot) return false;
  made.generation = next;
  known.snapshot = std::move(made);
  return true;
}

bool rebuildNode(State& state, Generation next) {
  const Node& node = state.configuration.node;
  std::vector<ProxyZone> zones;
  for (const Zone& zone : node.zones) zones.push_back({zone.name, zone.region});
  state.order = ZoneOrder({node.zone, node.region}, std::move(zones), node.proximityMs,
                          state.distances.published());
  ProxySnapshot made;
  made.generation = state.node.generation;
  made.hashSeed = node.hashSeed;
  made.settings = node.proxy;
  made.zone = node.zone;
  made.region = node.region;
  made.zones = state.order.nearestFirst();
  made.targetProxies = state.configuration.targetProxies;
  made.tlsRoutes = state.configuration.tlsRoutes;
  for (const ForwardingRule& rule : state.configuration.rules)
    if (!rule.target.empty() && !rule.ports.empty())
      made.fronts.push_back({rule.name, rule.address, rule.ports.front().first, rule.target});
  if (state.applied && made == state.node) return false;
  made.generation = next;
  state.node = std::move(made);
  return true;
}

ProxyServiceSnapshot withReports(const State& state, ProxyServiceSnapshot snapshot) {
  for (ProxyGroup& group : snapshot.groups) {
    if (group.capacity.mode != BalancingMode::utilization) continue;
    for (ProxyEndpoint& endpoint : group.endpoints)
      if (const auto found = state.utilizations.find({group.name, endpoint.endpoint});
          found != state.utilizations.end())
        endpoint.utilization = found->second;
  }
  return snapshot;
}

std::chrono::seconds trustOf(const Index& index, const std::string& group) {
  std::chrono::seconds longest{0};
  if (const auto users = index.servicesOfGroup.find(group); users != index.servicesOfGroup.end())
    for (const BackendService* service : users->second)
      if (const auto check = index.healthChecks.find(service->healthCheck);
          check != index.healthChecks.end())
        longest = std::max(longest, 3 * check->second->checkInterval);
  return longest.count() != 0 ? longest : ProxyPlane::kUntimedTrust;
}

}  // namespace weir::proxy_plane
