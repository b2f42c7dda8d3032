// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "proxy_plane_state.h"
#include "weir/proxy_placement.h"

namespace weir::proxy_plane {

namespace {

// Why a group does not serve as configured (S2, S4, S5); the first reason that holds.
std::string noteOf(const ProxyGroup& group, const PlacedGroup& placed,
                   const PlacementPlan::Group& planned, const ProxyServiceSnapshot& service,
                   const std::string& nodeRegion) {
  if (placed.members == 0) return "it has no endpoints";
  if (group.capacity.capacityScaler == 0) return "its capacityScaler is 0";
  if (group.drained)
    return fmt::format(
        "drained because fewer than a quarter of its endpoints were healthy ({} of {} now); its "
        "capacity comes back when 35% have been healthy for 60 s",
        placed.healthy, placed.members);
  if (placed.healthy == 0) return "none of its endpoints is healthy";
  if (!planned.allowed)
    return service.policy.isolation == Isolation::strict
               ? fmt::format("isolation STRICT keeps traffic in region {}",
                             nodeRegion.empty() ? "(none configured)" : nodeRegion)
               : "isolation NEAREST keeps traffic in the nearest region with a healthy endpoint";
  if (planned.usableFraction < 1)
    return fmt::format(
        "{:.0f}% healthy is below failoverHealthThreshold {}: {:.0f}% of its "
        "capacity is used, the rest spills over",
        100.0 * placed.healthy / placed.members, service.policy.failoverHealthThreshold,
        100 * planned.usableFraction);
  return "";
}

ProxyBackendView backendOf(const State& state, const BackendService& service,
                           const ProxyGroup& group, const ProxyEndpoint& endpoint, Time now) {
  const EndpointRef ref{group.name, endpoint.endpoint};
  ProxyBackendView view;
  view.endpoint = endpoint.endpoint;
  view.health = endpoint.draining() ? Health::draining
                : service.healthCheck.empty()
                    ? Health::healthy
                    : state.endpoints.at(ref).verdict(service.name).health;
  view.weight = endpoint.weight;
  view.drainDeadline = endpoint.drainDeadline;
  if (const auto report = state.utilizations.find(ref);
      report != state.utilizations.end() && report->second.until >= now)
    view.utilization = report->second.value;
  return view;
}

}  // namespace

ProxyServiceView viewOf(const State& state, const BackendService& service,
                        const ServiceState& known, Time now) {
  const ProxyServiceSnapshot& snapshot = known.snapshot;
  const PlacementPlan plan = planOf(snapshot, state.order);
  ProxyServiceView view{service.name, snapshot.policy, {}};
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) {
    const ProxyGroup& group = snapshot.groups[i];
    const PlacedGroup placed = placedGroup(group);
    ProxyGroupView made;
    made.name = group.name;
    made.zone = group.zone;
    made.region = group.region;
    made.configured = group.capacity;
    made.members = placed.members;
    made.healthy = placed.healthy;
    made.capacity = placed.capacity;
    made.usableFraction = plan.groups[i].usableFraction;
    made.usable = plan.groups[i].usable;
    made.serves = plan.groups[i].serves();
    made.distance = state.order.milliseconds(group.zone);
    made.distanceConfigured = state.configuration.node.proximityMs.contains(group.zone);
    if (const auto since = known.drainedSince.find(group.name); since != known.drainedSince.end())
      made.drainedSince = since->second;
    const auto& recovering = known.capacityDrain.memory().healthySince;
    if (const auto since = recovering.find(group.name); since != recovering.end())
      made.undrains = timeAt(since->second + CapacityDrain::kHealthyFor);
    made.note = noteOf(group, placed, plan.groups[i], snapshot, state.order.nodeRegion());
    for (const ProxyEndpoint& endpoint : group.endpoints)
      made.backends.push_back(backendOf(state, service, group, endpoint, now));
    view.groups.push_back(std::move(made));
  }
  return view;
}

}  // namespace weir::proxy_plane
