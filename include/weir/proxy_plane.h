// SPDX-License-Identifier: GPL-2.0-or-later
//
// From configuration, probe results and commands to what the TCP proxy is told: the manager's
// decisions for services of the proxy schemes, beside ControlPlane for those of passthrough.
// Health, weights, utilization, distances (S1), automatic capacity drain (S4) and draining (X5.4)
// end here; the choice for each connection is the data plane's. `weirctl simulate` drives it on a
// virtual clock.
//
// Every function takes the time and returns what changed for data planes; an event without effect
// returns an empty ProxyChanges. Not thread-safe.
#pragma once

#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/control_plane.h"
#include "weir/eligibility.h"
#include "weir/model.h"
#include "weir/placement.h"
#include "weir/proxy_snapshot.h"
#include "weir/result.h"

namespace weir {

// What the proxy must be told, to be sent in this order: services, node, reports, removed services.
struct ProxyChanges {
  std::vector<ProxyServiceSnapshot> services;
  std::optional<ProxySnapshot> node;
  std::vector<ProxyLoadReport> reports;
  std::vector<std::string> removed;
  bool empty() const noexcept {
    return services.empty() && !node && reports.empty() && removed.empty();
  }
};
// The same as messages, in that order.
std::vector<SnapshotMessage> messagesOf(ProxyChanges);

struct ProxyBackendView {
  std::string endpoint;
  Health health = Health::unknown;
  std::uint32_t weight = 1;
  std::optional<Time> drainDeadline;
  std::optional<double> utilization;  // one that is trusted
};

// A group as an operator sees it (S6).
struct ProxyGroupView {
  std::string name;
  std::string zone;
  std::string region;
  GroupCapacity configured;
  unsigned members = 0;
  unsigned healthy = 0;
  double capacity = 0;        // C(g)
  double usableFraction = 0;  // u(g)
  double usable = 0;          // K(g)
  bool serves = false;        // it has usable capacity, and isolation lets it serve (S5)
  // Milliseconds to its zone; infinity: not known.
  double distance = std::numeric_limits<double>::infinity();
  bool distanceConfigured = false;
  std::optional<Time> drainedSince;  // S4; since when its capacity is 0
  std::optional<Time> undrains;      // S4.3; when it has it again, if health stays as it is
  std::string note;  // why it does not serve as configured, in words; empty: it does
  std::vector<ProxyBackendView> backends;
};

struct ProxyServiceView {
  std::string name;
  ServiceLbPolicy policy;
  std::vector<ProxyGroupView> groups;
};

class ProxyPlane {
 public:
  // `initialHealth`: state of an endpoint never probed (unknown; a simulation starts healthy).
  explicit ProxyPlane(Health initialHealth = Health::unknown);
  ~ProxyPlane();

  // Makes `configuration` the wanted one. Endpoints that left a group drain for the largest
  // draining timeout among the services that use it; a group that left a service does not (P7.3,
  // P7.4). Never fails: names in a valid configuration resolve.
  ProxyChanges apply(Configuration configuration, Time now);

  // Reports of probes, each taken together. Endpoints that are unknown here, among them those of
  // passthrough groups, are left aside: the same report goes to both planes.
  ProxyChanges setHealth(std::span<const ControlPlane::HealthUpdate>, Time now);
  ProxyChanges setWeight(std::span<const ControlPlane::WeightUpdate>, Time now);
  // H13. A report is trusted for three probe intervals of the service's health check, of the
  // longest check among the services that use the group; without a check for kUntimedTrust.
  struct UtilizationUpdate {
    EndpointRef endpoint;
    double value = 0;  // 0 or more
    Time at;
  };
  static constexpr std::chrono::seconds kUntimedTrust{15};
  ProxyChanges setUtilization(std::span<const UtilizationUpdate>, Time now);
  // S1. Distances are the median of the round trips of a zone's endpoints, smoothed (an eighth of
  // each new median); the order of zones follows when a distance has moved by more than a tenth and
  // by more than 0.05 ms. `proximity` wins over them.
  struct RoundTripUpdate {
    EndpointRef endpoint;
    std::chrono::microseconds roundTrip{0};
  };
  ProxyChanges setRoundTrips(std::span<const RoundTripUpdate>, Time now);

  // X5.4 by command. Timeout: the service's, unless given; 0..3600 s. As ControlPlane::drain().
  Result<ProxyChanges> drain(std::string_view service, std::string_view endpoint,
                             std::optional<std::chrono::seconds> timeout, Time now);
  Result<ProxyChanges> undrain(std::string_view service, std::string_view endpoint, Time now);

  // What is due: ends of drains, groups whose capacity comes back (S4.3). Call when
  // nextDeadline() comes; cheap before.
  ProxyChanges advance(Time now);
  std::optional<Time> nextDeadline() const;

  // Everything, for a data plane that connects.
  ProxyChanges everything() const;

  // nullopt: no service of a proxy scheme has that name.
  std::optional<ProxyServiceView> view(std::string_view service, Time now) const;
  // nullopt: no group has it, neither configured nor leaving.
  std::optional<Health> health(const EndpointRef&, std::string_view service = {}) const;
  // S1 as it stands.
  const ZoneOrder& zoneOrder() const noexcept;

  // State that must outlive the process, as JSON text: health, drains, capacity drains, distances;
  // restore() before the first apply(). A state that cannot be read is refused and changes nothing.
  std::string save() const;
  Status restore(std::string_view state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
