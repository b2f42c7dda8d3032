// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <unordered_set>

#include "control_plane_state.h"

namespace weir::control {
namespace {

using Flush = std::array<bool, kProtocolClasses>;
constexpr Flush kFlushAll{true, true, true};

constexpr std::size_t at(ProtocolClass c) noexcept { return static_cast<std::size_t>(c); }

// P6.3: which entries of a backend go when it turns unhealthy.
Flush flushedByUnhealthy(const BackendService& service) noexcept {
  // 3-, 2- and 1-tuple sessions are not connections: nothing of them is worth keeping.
  const bool perSession = service.tracking == TrackingMode::perSession;
  const bool sessionsAreConnections = !perSession || service.affinity == SessionAffinity::none ||
                                      service.affinity == SessionAffinity::clientIpPortProto;
  Flush flush = kFlushAll;
  switch (service.persist) {
    case PersistOnUnhealthy::defaultForProtocol:
      flush[at(ProtocolClass::tcp)] = !sessionsAreConnections;
      break;
    case PersistOnUnhealthy::neverPersist:
      break;
    case PersistOnUnhealthy::alwaysPersist:
      flush[at(ProtocolClass::tcp)] = perSession;
      flush[at(ProtocolClass::udp)] = perSession;
      break;
  }
  return flush;
}

void flushEntries(BackendState& backend, const Flush& flush, Generation next) noexcept {
  for (std::size_t c = 0; c < kProtocolClasses; ++c)
    if (flush[c]) backend.validFrom[c] = next;
}

// New backends get their slots.
void updateBackends(const BackendService& service, ServiceState& state,
                    const std::vector<Listing>& current, Generation next) {
  std::set<BackendSlot> used;
  for (const auto& [identity, backend] : state.backends) used.insert(backend.slot);
  for (const Listing& listing : current) {
    if (!listing.present()) continue;
    const auto [it, added] = state.backends.try_emplace(listing.ref->endpoint);
    it->second.addresses = addressesOf(listing.endpoint->definition);
    if (!added) continue;
    it->second.slot = freeSlot(used);
    it->second.mayTurnUnhealthy = listing.countsHealthy(service);
    used.insert(it->second.slot);
    flushEntries(it->second, kFlushAll, next);
  }
}

// P6.3, and P7.5: health does not decide about the entries of a draining backend.
void applyHealth(const BackendService& service, ServiceState& state,
                 const std::vector<Listing>& current, Generation next) {
  for (const Listing& listing : current) {
    if (!listing.present()) continue;
    BackendState& backend = state.backends.at(listing.ref->endpoint);
    if (listing.countsHealthy(service)) {
      backend.mayTurnUnhealthy = true;
      continue;
    }
    // A configuration that brings a health check, or another group, leaves a backend unprobed:
    // that is not a verdict yet.
    const Verdict& verdict = listing.endpoint->verdict(service.name);
    const bool known = verdict.probed || verdict.health != Health::unknown;
    if (!backend.mayTurnUnhealthy || !known) continue;
    backend.mayTurnUnhealthy = false;
    if (!listing.draining()) flushEntries(backend, flushedByUnhealthy(service), next);
  }
}

std::vector<Member> membersOf(const BackendService& service, const ServiceState& state,
                              const std::vector<Listing>& current) {
  std::vector<Member> members;
  members.reserve(current.size());
  for (const Listing& listing : current) {
    if (listing.draining()) continue;
    Member member;
    member.slot = state.backends.at(listing.ref->endpoint).slot;
    member.failover = listing.failover;
    member.healthy = listing.countsHealthy(service);
    if (service.weighted) {
      member.weight = listing.endpoint->weight(service.name);
      member.weightValid = listing.endpoint->weightValid(service.name);
    }
    member.zone = listing.group->zone;
    member.identity = listing.ref->endpoint;
    members.push_back(std::move(member));
  }
  return members;
}

// P6.5. A set that is empty in between is not a switch by itself.
void notePool(const BackendService& service, ServiceState& state, Pool pool, Generation next) {
  if (pool == Pool::none) return;
  if (state.pool != Pool::none && state.pool != pool &&
      service.failover.disableConnectionDrainOnFailover)
    for (auto& [identity, backend] : state.backends) flushEntries(backend, kFlushAll, next);
  state.pool = pool;
}

std::vector<std::pair<ZoneIndex, EligibleSet>> zonalSets(const Node& node,
                                                         const BackendService& service,
                                                         std::span<const Member> members,
                                                         const Eligibility& base) {
  std::vector<std::pair<ZoneIndex, EligibleSet>> sets;
  if (service.spillover == Spillover::disabled) return sets;
  for (std::size_t i = 0; i < node.zones.size(); ++i) {
    auto refined = refineForZone(service, members, base, node.zones[i].name);
    if (refined && refined->set.members != base.set.members)
      sets.emplace_back(ZoneIndex(static_cast<ZoneIndex::rep>(i)), std::move(refined->set));
  }
  return sets;
}

std::vector<SnapshotBackend> snapshotBackends(const State& state, const ServiceState& service,
                                              const std::vector<Listing>& current) {
  std::vector<SnapshotBackend> backends;
  backends.reserve(service.backends.size());
  for (const Listing& listing : current) {
    if (!listing.present()) continue;
    const BackendState& backend = service.backends.at(listing.ref->endpoint);
    backends.push_back(
        {backend.slot,
         markAt(state.marks.at(backend.addresses), state.configuration.node.fwmarkMask),
         backend.validFrom, listing.ref->group, listing.ref->endpoint});
  }
  std::sort(backends.begin(), backends.end(),
            [](const SnapshotBackend& a, const SnapshotBackend& b) { return a.slot < b.slot; });
  return backends;
}

// Is `made` (without its generation) what `known` holds, or what the digest of a saved state
// stands for? Clears the digest.
template <class Snapshot>
bool sameContent(Snapshot& made, const Snapshot& known, std::optional<std::uint64_t>& restored) {
  if (restored) {
    made.generation = Generation{};
    return digest(made) == std::exchange(restored, std::nullopt);
  }
  made.generation = known.generation;
  return made == known;
}

}  // namespace

std::uint64_t digest(const SnapshotMessage& withoutGeneration) {
  // FNV-1a, 64 bits.
  std::uint64_t value = 0xcbf29ce484222325ull;
  for (const std::uint8_t byte : encode(withoutGeneration))
    value = (value ^ byte) * 0x100000001b3ull;
  return value;
}

std::optional<Time> Listing::deadline() const noexcept {
  if (drain != nullptr && endpoint->leaves) return std::min(drain->deadline, *endpoint->leaves);
  return drain != nullptr ? std::optional(drain->deadline) : endpoint->leaves;
}

std::vector<Listing> listings(const State& state, const Index& index, const BackendService& service,
                              const ServiceState& known) {
  std::vector<Listing> result;
  std::unordered_set<std::string_view> seen;
  const auto visit = [&](const ServiceBackend& backend, bool leaving) {
    const NetworkEndpointGroup* group = index.groups.at(backend.group);
    for (auto it = state.endpoints.lower_bound(EndpointRef{backend.group, ""});
         it != state.endpoints.end() && it->first.group == backend.group; ++it) {
      if (it->second.leaves.has_value() != leaving) continue;
      const auto drain = known.drains.find(it->first.endpoint);
      // An endpoint that left before it was ever this service's backend has no entries here.
      if (leaving && drain == known.drains.end() && !known.backends.contains(it->first.endpoint))
        continue;
      if (!seen.insert(it->first.endpoint).second) continue;
      result.push_back({&it->first, &it->second, group, backend.failover,
                        drain == known.drains.end() ? nullptr : &drain->second});
    }
  };
  for (const bool failover : {false, true})
    for (const ServiceBackend& backend : service.backends)
      if (backend.failover == failover) visit(backend, false);
  for (const ServiceBackend& backend : service.backends) visit(backend, true);
  return result;
}

bool rebuildService(const State& state, const Index& index, const BackendService& service,
                    ServiceState& known, Generation next) {
  const std::vector<Listing> current = listings(state, index, service, known);
  forgetGone(known, current);
  updateBackends(service, known, current, next);
  applyHealth(service, known, current, next);
  const std::vector<Member> members = membersOf(service, known, current);
  known.eligibility = eligible(service, members);
  notePool(service, known, known.eligibility.pool, next);

  ServiceSnapshot made;
  made.id = known.id;
  made.name = service.name;
  made.affinity = service.affinity;
  made.tracking = service.tracking;
  made.idleTimeout = service.idleTimeout;
  made.backends = snapshotBackends(state, known, current);
  made.eligible = known.eligibility.set;
  made.zonal = zonalSets(state.configuration.node, service, members, known.eligibility);

  const bool first = known.snapshot.name.empty();
  const Generation before = known.snapshot.generation;
  const bool restored = known.restoredDigest.has_value();
  const bool same = (!first || restored) && sameContent(made, known.snapshot, known.restoredDigest);
  made.generation = same ? before : next;
  known.snapshot = std::move(made);
  return !same;
}

bool rebuildRules(State& state, Generation next) {
  const Configuration& configuration = state.configuration;
  RulesSnapshot made;
  made.hashSeed = configuration.node.hashSeed;
  std::map<std::string, const SnapshotRule*> byName;
  for (const ForwardingRule& rule : configuration.rules) {
    const auto service = state.services.find(rule.backendService);
    if (!isPassthrough(rule.scheme) || service == state.services.end()) continue;
    made.rules.push_back({rule.name, rule.address, rule.protocol, rule.ports, service->second.id});
  }
  std::sort(made.rules.begin(), made.rules.end(),
            [](const SnapshotRule& a, const SnapshotRule& b) { return a.name < b.name; });
  for (const SnapshotRule& rule : made.rules) byName.emplace(rule.name, &rule);
  for (const Route& route : configuration.routes)
    if (const auto rule = byName.find(route.nextHopIlb); rule != byName.end())
      made.routes.push_back(
          {route.name, route.destRange, route.priority, route.nextHopIlb, rule->second->service});
  std::sort(made.routes.begin(), made.routes.end(),
            [](const SnapshotRoute& a, const SnapshotRoute& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < configuration.node.zones.size(); ++i) {
    const Zone& zone = configuration.node.zones[i];
    made.zones.push_back(zone.name);
    for (const Prefix& range : zone.clientRanges)
      made.clientRanges.emplace_back(range, ZoneIndex(static_cast<ZoneIndex::rep>(i)));
  }

  const Generation before = state.rules.generation;
  const bool first = !state.applied && !state.restoredRulesDigest;
  const bool same = !first && sameContent(made, state.rules, state.restoredRulesDigest);
  made.generation = same ? before : next;
  state.rules = std::move(made);
  return !same;
}

}  // namespace weir::control
