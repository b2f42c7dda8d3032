// SPDX-License-Identifier: GPL-2.0-or-later
//
// The path of a packet through the core (P1, P4, P5, P8.6).
#include "weir/data_plane.h"

namespace weir {
namespace {

// N6; a 1-tuple key cannot be symmetric.
bool isSymmetric(const Prepared& prepared) noexcept {
  return prepared.match->byRoute &&
         prepared.service->snapshot().affinity != SessionAffinity::clientIpNoDestination;
}

FlowKey keyOf(const Prepared& prepared, TupleKind kind, const Tuple& flow) noexcept {
  return isSymmetric(prepared) ? makeSymmetricKey(kind, flow) : makeKey(kind, flow);
}

bool isValid(const Service::Backend& backend, Protocol protocol, Generation madeIn) noexcept {
  return madeIn >= backend.validFrom[static_cast<std::size_t>(protocolClass(protocol))];
}

void forwardTo(BackendSlot slot, Mark mark, ConnectionState connection, Decision& decision) {
  decision.action = Action::forward;
  decision.connection = connection;
  decision.backend = slot;
  decision.mark = mark;
}

// The live entry of the packet's flow decides, if there is one.
bool followEntry(TrackingTable& table, const Prepared& prepared, const TrackingTable::Use& use,
                 ConnectionState connection, Decision& decision) noexcept {
  const auto entry = table.lookup(prepared.key, use);
  if (!entry) return false;
  const Service::Backend* backend = prepared.service->backend(entry->backend);
  if (backend == nullptr || !isValid(*backend, prepared.key.key.protocol, entry->madeIn)) {
    return false;
  }
  forwardTo(entry->backend, backend->mark, connection, decision);
  return true;
}

void select(const World& world, const Prepared& prepared, ConnectionState connection,
            Decision& decision) noexcept {
  const Selection selection = selectionOf(world, prepared);
  decision.set = &selection.choice->set;
  if (!selection.backend) {
    decision.action = Action::drop;
    decision.reason = DropReason::noEligibleBackend;
    return;
  }
  const Mark mark = prepared.service->backend(*selection.backend)->mark;
  forwardTo(*selection.backend, mark, connection, decision);
}

enum class Effect : std::uint8_t { act, none };

Decision conclude(const World& world, TrackingTable& table, const Prepared& prepared, Time now,
                  Effect effect) noexcept {
  Decision decision;
  if (!prepared.match) return decision;
  decision.match = *prepared.match;
  decision.service = prepared.service;
  if (prepared.service == nullptr) {
    decision.action = Action::drop;
    decision.reason = DropReason::unknownService;
    return decision;
  }

  const ServiceSnapshot& service = prepared.service->snapshot();
  TrackingTable::Use use{.now = now, .idleTimeout = service.idleTimeout, .refresh = false};
  if (prepared.related) {
    if (!followEntry(table, prepared, use, ConnectionState::related, decision)) {
      select(world, prepared, ConnectionState::related, decision);
    }
    return decision;
  }

  const bool isSyn = prepared.packet.isNewBySyn();
  use.refresh = effect == Effect::act;
  use.established = !isSyn;
  const bool isNew = isSyn && synIsAlwaysNew(service.tracking, service.affinity);
  if (!isNew && followEntry(table, prepared, use, ConnectionState::known, decision)) {
    return decision;
  }
  select(world, prepared, ConnectionState::fresh, decision);
  if (effect == Effect::act && decision.action == Action::forward) {
    // A table without room costs the flow its memory, not the packet its way.
    static_cast<void>(table.insert(prepared.key, decision.backend, service.generation, use));
  }
  return decision;
}

// P8.6: the rule or route of the flow that an ICMP error is about. The quoted packet usually came
// from behind it; under a route it may also be the one that the route carried.
const Rules::Match* matchQuoted(const Rules& rules, Prepared& prepared) noexcept {
  const Tuple& quoted = prepared.packet.quoted;
  const Rules::Match* match = rules.find(quoted.reversed());
  if (match == nullptr) {
    match = rules.findRoute(quoted.destination);
    prepared.quotedAsIs = match != nullptr;
  }
  prepared.related = match != nullptr;
  return match;
}

void prepareKey(const TrackingTable& table, const Tuple& flow, Prepared& prepared) noexcept {
  const ServiceSnapshot& service = prepared.service->snapshot();
  const TupleKind kind = trackingTuple(service.tracking, service.affinity, flow);
  prepared.key = table.tracked(keyOf(prepared, kind, flow), service.id);
  table.prefetch(prepared.key);
}

}  // namespace

std::string_view toString(Action action) noexcept {
  switch (action) {
    case Action::forward:
      return "forward";
    case Action::drop:
      return "drop";
    case Action::pass:
      return "pass";
  }
  return "";
}

std::string_view toString(ConnectionState state) noexcept {
  switch (state) {
    case ConnectionState::none:
      return "none";
    case ConnectionState::fresh:
      return "new";
    case ConnectionState::known:
      return "known";
    case ConnectionState::related:
      return "related";
  }
  return "";
}

std::string_view toString(DropReason reason) noexcept {
  switch (reason) {
    case DropReason::none:
      return "none";
    case DropReason::noEligibleBackend:
      return "no_eligible_backend";
    case DropReason::unknownService:
      return "unknown_service";
  }
  return "";
}

void prepare(const World& world, const TrackingTable& table, Prepared& prepared) noexcept {
  prepared.match.reset();
  prepared.service = nullptr;
  prepared.related = false;
  prepared.quotedAsIs = false;
  const Rules::Match* match = nullptr;
  if (prepared.packet.isIcmpError) [[unlikely]]
    match = matchQuoted(world.rules(), prepared);
  if (match == nullptr) match = world.rules().find(prepared.packet.tuple);
  if (match == nullptr) return;
  prepared.match = *match;
  prepared.service = world.service(match->service);
  if (prepared.service == nullptr) return;
  if (prepared.related) {
    prepareKey(table, prepared.flow(), prepared);
  } else {
    prepareKey(table, prepared.packet.tuple, prepared);
  }
}

Prepared prepare(const World& world, const TrackingTable& table, const Packet& packet) noexcept {
  Prepared prepared;
  prepared.packet = packet;
  prepare(world, table, prepared);
  return prepared;
}

Decision decide(const World& world, TrackingTable& table, const Prepared& prepared,
                Time now) noexcept {
  return conclude(world, table, prepared, now, Effect::act);
}

Decision foresee(const World& world, TrackingTable& table, const Prepared& prepared,
                 Time now) noexcept {
  return conclude(world, table, prepared, now, Effect::none);
}

Selection selectionOf(const World& world, const Prepared& prepared) noexcept {
  const Service& service = *prepared.service;
  const Tuple flow = prepared.flow();
  const ZoneIndex zone =
      service.snapshot().zonal.empty() ? kNoZone : world.rules().zoneOf(flow.source);
  Selection selection;
  selection.choice = &service.choiceFor(zone);
  selection.key = keyOf(prepared, selectionTuple(service.snapshot().affinity, flow), flow);
  selection.symmetric = isSymmetric(prepared);
  selection.hash = hashKey(selection.key, world.rules().snapshot().hashSeed);
  // The service's tables were built from members that all have a backend.
  if (const MaglevTable& table = selection.choice->table; !table.empty()) {
    selection.backend = selection.choice->set.members[table.pick(selection.hash)].slot;
  }
  return selection;
}

bool isLive(const World& world, const TrackingTable::Visited& visited, Time now) noexcept {
  const Service* service = world.service(visited.service);
  if (service == nullptr) return false;
  const Service::Backend* backend = service->backend(visited.entry.backend);
  return backend != nullptr && isValid(*backend, visited.key.protocol, visited.entry.madeIn) &&
         now - visited.entry.lastUsed < service->snapshot().idleTimeout;
}

}  // namespace weir
