// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the control plane remembers, and the steps that its events are made of. State is a value:
// an event that can fail works on a copy. Ownership of each step: numbers in
// control_plane_numbers.cc, drains in control_plane_drains.cc, snapshots in
// control_plane_snapshots.cc, the saved form in control_plane_saved.cc.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "endpoint_states.h"
#include "weir/control_plane.h"

namespace weir::control {

// What a mark leads to: two endpoints with the same addresses share a mark.
struct AddressPair {
  std::optional<Address> ipv4;
  std::optional<Address> ipv6;
  friend auto operator<=>(const AddressPair&, const AddressPair&) = default;
};
inline AddressPair addressesOf(const Endpoint& endpoint) {
  return {endpoint.ipAddress, endpoint.ipv6Address};
}

// A backend of a service that data planes know, by its identity.
struct BackendState {
  BackendSlot slot;
  AddressPair addresses;
  std::array<Generation, kProtocolClasses> validFrom{};
  // It counted as healthy and has not turned unhealthy since: the next bad verdict is P6.3's turn.
  bool mayTurnUnhealthy = false;
};

struct ServiceState {
  ServiceId id;
  std::map<std::string, BackendState> backends;
  std::map<std::string, OperatorDrain> drains;
  Pool pool = Pool::none;  // of the last set that was not empty
  Eligibility eligibility;
  ServiceSnapshot snapshot;
  // After a restore, in place of the snapshot's content: its digest.
  std::optional<std::uint64_t> restoredDigest;
};

// Endpoint address pairs and the positions of their marks, from 1, before the shift into the mask.
using MarkPositions = std::map<AddressPair, std::uint32_t>;

struct State {
  Configuration configuration;
  Generation generation;
  EndpointStates endpoints;                      // of all groups, proxies' included
  std::map<std::string, ServiceState> services;  // passthrough services
  MarkPositions marks;
  RulesSnapshot rules;
  std::optional<std::uint64_t> restoredRulesDigest;
  bool applied = false;  // a configuration was applied
};

// Lookups by name into a configuration, which must outlive it (a move of the configuration keeps
// it valid, a copy does not).
struct Index {
  explicit Index(const Configuration&);
  Index() = default;
  std::unordered_map<std::string, const BackendService*> services;  // passthrough only
  std::unordered_map<std::string, const NetworkEndpointGroup*> groups;
  std::unordered_map<std::string, std::vector<std::string>> servicesOfGroup;
};

constexpr bool isPassthrough(LoadBalancingScheme scheme) noexcept {
  return scheme == LoadBalancingScheme::internal || scheme == LoadBalancingScheme::external;
}

// A backend as a service sees it now: one per identity, a configured primary before a configured
// failover backend before one that is leaving.
struct Listing {
  const EndpointRef* ref = nullptr;
  const EndpointState* endpoint = nullptr;
  const NetworkEndpointGroup* group = nullptr;
  bool failover = false;
  const OperatorDrain* drain = nullptr;

  bool draining() const noexcept { return drain != nullptr || endpoint->leaves.has_value(); }
  // Data planes need it: it may be eligible or hold entries.
  bool present() const noexcept { return drain == nullptr || !drain->ended; }
  // When its entries end or, of a drain by command, have ended; nullopt: not draining.
  std::optional<Time> deadline() const noexcept;
  bool countsHealthy(const BackendService& service) const noexcept {
    return service.healthCheck.empty() || endpoint->verdict(service.name).health == Health::healthy;
  }
};
std::vector<Listing> listings(const State&, const Index&, const BackendService&,
                              const ServiceState&);

// --- numbers ---

// Ids for the services of the configuration that have none; `removed` receives those of services
// that are gone. An id given back is not given out again in the same step.
Status numberServices(State&, const Index&, std::vector<ServiceId>& removed);
// A mark for every backend, and for nothing else; one that snapshots from before this step may
// mention is not given to another.
Status numberMarks(State&, const Index&);
// Takes the marks of backends back that are gone.
void returnMarks(State&, const Index&);
Mark markAt(std::uint32_t position, std::uint32_t fwmarkMask) noexcept;
// The lowest slot that no backend has; there is one (apply() sees to that).
BackendSlot freeSlot(const std::set<BackendSlot>& used) noexcept;

// --- drains ---

// Ends what is due, so that whatever comes back in the same step is new; the names of the services
// to be rebuilt are added to `affected`. The index is that of the configuration last applied.
void expireDrains(State&, const Index&, Time now, std::set<std::string>& affected);
std::optional<Time> earliestDeadline(const State&);
// Drops what a service remembers of backends that are gone: their slots, and the drains by command
// that were about them.
void forgetGone(ServiceState&, const std::vector<Listing>& current);

// --- snapshots ---

// Brings a service's state and snapshot up to date. True: the snapshot changed and carries `next`.
bool rebuildService(const State&, const Index&, const BackendService&, ServiceState&,
                    Generation next);
bool rebuildRules(State&, Generation next);
std::uint64_t digest(const SnapshotMessage& withoutGeneration);

// --- saved form ---

std::string toJson(const State&);
Result<State> fromJson(std::string_view text);

}  // namespace weir::control
