// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the plane of proxy services remembers, and the steps its events are made of: snapshots in
// proxy_plane_snapshots.cc, views in proxy_plane_view.cc, the saved form in proxy_plane_saved.cc.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "endpoint_states.h"
#include "weir/placement.h"
#include "weir/proxy_plane.h"
#include "zone_distances.h"

namespace weir::proxy_plane {

struct ServiceState {
  std::map<std::string, control::OperatorDrain> drains;  // by endpoint
  CapacityDrain capacityDrain;
  std::map<std::string, Time> drainedSince;  // groups of no capacity (S4)
  ProxyServiceSnapshot snapshot;             // as last told, without reports of utilization
  bool told = false;
};

struct State {
  Configuration configuration;
  Generation generation;
  control::EndpointStates endpoints;  // of all groups
  std::map<std::string, ServiceState> services;
  std::map<EndpointRef, ProxyUtilization> utilizations;  // of groups of mode UTILIZATION
  ZoneDistances distances;
  ZoneOrder order{{}, {}};
  ProxySnapshot node;
  bool applied = false;
};

// The unit of CapacityDrain.
inline CapacityDrain::Seconds secondsOf(Time time) {
  return static_cast<double>(time.time_since_epoch().count()) / 1000;
}
inline Time timeAt(CapacityDrain::Seconds seconds) {
  return Time(Clock::duration(std::llround(seconds * 1000)));
}

// Lookups into a configuration, which must outlive them.
struct Index {
  Index() = default;
  explicit Index(const Configuration&);
  std::unordered_map<std::string, const BackendService*> services;  // of proxy schemes
  std::unordered_map<std::string, const NetworkEndpointGroup*> groups;
  std::unordered_map<std::string, std::vector<const BackendService*>> servicesOfGroup;
  std::unordered_map<std::string, const ServiceLbPolicy*> policies;
  std::unordered_map<std::string, const HealthCheck*> healthChecks;
  std::unordered_map<std::string, std::string> regions;  // by zone
};

// A member of a group as a service sees it.
struct Listing {
  const EndpointRef* ref = nullptr;
  const control::EndpointState* endpoint = nullptr;
  std::optional<Time> drainDeadline;
};
// The configured members in their order, then those that are leaving.
std::vector<Listing> listings(const State&, const NetworkEndpointGroup&, const ServiceState&);
bool countsHealthy(const BackendService&, const control::EndpointState&) noexcept;

// Brings a service's capacity drain and snapshot up to date. True: the snapshot changed; it carries
// `next`.
bool rebuildService(const State&, const Index&, const BackendService&, ServiceState&,
                    Generation next, Time now);
bool rebuildNode(State&, Generation next);
// The snapshot with the last reports in it, as data planes get it.
ProxyServiceSnapshot withReports(const State&, ProxyServiceSnapshot);
// How long a report of a member of the group is trusted (H13).
std::chrono::seconds trustOf(const Index&, const std::string& group);

ProxyServiceView viewOf(const State&, const BackendService&, const ServiceState&, Time now);

std::string toJson(const State&);
Result<State> fromJson(std::string_view text);

}  // namespace weir::proxy_plane
