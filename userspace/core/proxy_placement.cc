// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_placement.h"

#include <cmath>

namespace weir {

namespace {

// A capacity of 100 scaled by 0.55 is 55, not the 55.00000000000001 that has room for a 56th
// connection.
double withoutNoise(double capacity) noexcept {
  constexpr double kPerUnit = 1e9;
  return std::round(capacity * kPerUnit) / kPerUnit;
}

template <class Limit>
double limitOf(const std::optional<Limit>& ofGroup, const std::optional<Limit>& perMember,
               double members) {
  if (ofGroup) return static_cast<double>(*ofGroup);
  return perMember ? static_cast<double>(*perMember) * members : 0;
}

}  // namespace

double targetCapacity(const GroupCapacity& capacity, std::size_t count) noexcept {
  const auto members = static_cast<double>(count);
  switch (capacity.mode) {
    case BalancingMode::connection:
      return limitOf(capacity.maxConnections, capacity.maxConnectionsPerEndpoint, members);
    case BalancingMode::rate:
      return limitOf(capacity.maxRate, capacity.maxRatePerEndpoint, members);
    case BalancingMode::utilization:
      return limitsConnections(capacity)
                 ? limitOf(capacity.maxConnections, capacity.maxConnectionsPerEndpoint, members)
                 : capacity.maxUtilization * members;
  }
  return 0;
}

bool limitsConnections(const GroupCapacity& capacity) noexcept {
  return capacity.maxConnections || capacity.maxConnectionsPerEndpoint;
}

PlacedGroup placedGroup(const ProxyGroup& group) {
  PlacedGroup placed;
  placed.name = group.name;
  placed.zone = group.zone;
  placed.region = group.region;
  placed.preferred = group.capacity.preference == Preference::preferred;
  for (const ProxyEndpoint& endpoint : group.endpoints) {
    if (endpoint.draining()) continue;
    ++placed.members;
    placed.healthy += endpoint.healthy ? 1 : 0;
  }
  if (!group.drained)
    placed.capacity = withoutNoise(targetCapacity(group.capacity, placed.members) *
                                   group.capacity.capacityScaler);
  return placed;
}

std::vector<PlacedGroup> placedGroups(const ProxyServiceSnapshot& service) {
  std::vector<PlacedGroup> groups;
  groups.reserve(service.groups.size());
  for (const ProxyGroup& group : service.groups) groups.push_back(placedGroup(group));
  return groups;
}

PlacementPlan planOf(const ProxyServiceSnapshot& service, const ZoneOrder& order) {
  return planPlacement(service.policy, placedGroups(service), order);
}

}  // namespace weir
