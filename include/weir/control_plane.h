// SPDX-License-Identifier: GPL-2.0-or-later
//
// From configuration, probe results and commands to snapshots: the decisions of the manager
// without its sockets. Every function takes the time and returns what changed for data planes; an
// event without effect returns an empty Changes. `weirctl simulate` drives it on a virtual clock.
//
// It owns the numbers that must stay the same while things live: service ids, backend slots,
// marks, generations. save() and restore() carry them, the health and the drains over a restart of
// the manager. The generation rises once per event that changes anything; all snapshots of one
// Changes carry it.
//
// Only passthrough services (schemes INTERNAL and EXTERNAL) have snapshots; services of the proxy
// schemes count for the draining timeouts of groups that they share (P7.3). Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/eligibility.h"
#include "weir/model.h"
#include "weir/result.h"
#include "weir/snapshot.h"

namespace weir {

// What data planes must be told, to be sent in this order: services, rules, removed services.
struct Changes {
  std::vector<ServiceSnapshot> services;
  std::optional<RulesSnapshot> rules;
  std::vector<ServiceId> removed;
  bool empty() const noexcept { return services.empty() && !rules && removed.empty(); }
};

// A member of a group, by the group's name and Endpoint::identity().
struct EndpointRef {
  std::string group;
  std::string endpoint;
  friend auto operator<=>(const EndpointRef&, const EndpointRef&) = default;
};

// Marks are given out by their position under fwmarkMask, from 1 to at most this, however wide the
// mask: each costs the kernel a routing table.
inline constexpr std::uint32_t kLastMarkPosition = 65535;

// The kernel's side of a backend: packets with this mark go to this next hop.
struct BackendRoute {
  Mark mark;
  std::optional<Address> ipv4;
  std::optional<Address> ipv6;
  friend bool operator==(const BackendRoute&, const BackendRoute&) = default;
};

// A backend of a service as an operator sees it.
struct BackendView {
  std::string group;
  std::string endpoint;
  std::string zone;
  bool failover = false;
  Health health = Health::unknown;
  bool eligible = false;  // in the set for clients without a zone of their own
  std::uint32_t weight = 1;
  Mark mark;
  std::optional<Time> drainDeadline;
};

struct ServiceView {
  std::string name;
  Eligibility eligibility;
  std::vector<BackendView> backends;
};

class ControlPlane {
 public:
  // `initialHealth`: state of an endpoint never probed (unknown; a simulation starts healthy).
  explicit ControlPlane(Health initialHealth = Health::unknown);
  ~ControlPlane();

  // Makes `configuration` the wanted one. Endpoints that left a group drain (P7.1, P7.3), groups
  // that left a service do not (P7.4); ids, slots and marks of what stays are kept. Fails, without
  // any effect, when marks run out (fwmarkMask too small for the number of backends).
  Result<Changes> apply(Configuration configuration, Time now);
  const Configuration& configuration() const noexcept;

  // States of endpoints from their probes, taken together: no set in between is ever seen (P6.5).
  // `draining` and unknown endpoints are refused with an error that names them; then nothing is
  // changed. For an endpoint that drains the state is noted for its return (P7.5).
  //
  // Each service has a health check of its own (H1), so that an endpoint of a group in two services
  // can be healthy for one only. `service`: whose check says so; empty: all services', those that
  // come to use the group later included. One that does not use the group: without effect.
  struct HealthUpdate {
    EndpointRef endpoint;
    Health health;
    std::string service = {};
  };
  struct WeightUpdate {
    EndpointRef endpoint;
    ReportedWeight weight;
    std::string service = {};
  };
  Result<Changes> setHealth(std::span<const HealthUpdate>, Time now);
  Result<Changes> setWeight(std::span<const WeightUpdate>, Time now);

  // P7 by command. Timeout: the service's, unless given; 0..3600 s. Endpoint: its identity. The
  // endpoint stays without new connections, also after its entries have ended, until undrain() or
  // until it has left its group and drained. A repeated drain() counts from the latest command.
  Result<Changes> drain(std::string_view service, std::string_view endpoint,
                        std::optional<std::chrono::seconds> timeout, Time now);
  Result<Changes> undrain(std::string_view service, std::string_view endpoint, Time now);

  // Ends drains whose deadline is not after `now`. Call when nextDeadline() comes; cheap before.
  Changes advance(Time now);
  std::optional<Time> nextDeadline() const;

  // Everything, for a data plane that connects.
  Changes everything() const;
  // The kernel state that the snapshots rely on, sorted by mark. A mark is given to another
  // backend only by an apply() that begins when no snapshot mentions it any more.
  std::vector<BackendRoute> routes() const;

  // nullopt: no passthrough service of that name.
  std::optional<ServiceView> view(std::string_view service) const;
  // nullopt: no such endpoint, neither configured nor leaving its group (then it is draining; a
  // drain by command concerns one service and shows in its view). For the service of that name; for
  // none: what was said of all.
  std::optional<Health> health(const EndpointRef&, std::string_view service = {}) const;

  // State that must outlive the process, as JSON text; restore() before the first apply().
  // Deadlines are absolute times of the same clock. A state that cannot be read is refused and
  // leaves the control plane as it was.
  std::string save() const;
  Status restore(std::string_view state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
