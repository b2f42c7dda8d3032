// SPDX-License-Identifier: GPL-2.0-or-later
//
// What happens to a packet (P1 to P8), as one pure step: world, table, packet and time in, decision
// out. The engine runs it on packets from the queue, `weirctl simulate` on packets from a file.
//
// A World is immutable. A change makes a new one that shares all unchanged parts with the old one;
// packet threads go on with the one they hold until their next batch, so no packet ever waits for
// a table that is being built.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/maglev.h"
#include "weir/packet.h"
#include "weir/snapshot.h"
#include "weir/tracking_table.h"

namespace weir {

// A service as packets meet it: lookup tables built from a snapshot.
class Service {
 public:
  // Builds the Maglev tables; takes milliseconds with many backends. Members of sets without a
  // backend of their slot are left out.
  Service(ServiceSnapshot snapshot, std::uint64_t hashSeed);

  const ServiceSnapshot& snapshot() const noexcept { return snapshot_; }
  struct Backend {
    Mark mark;  // 0: no such backend
    std::array<Generation, kProtocolClasses> validFrom{};
  };
  // The backend in a slot, or nullptr.
  const Backend* backend(BackendSlot) const noexcept;
  const SnapshotBackend* describe(BackendSlot) const noexcept;

  // The set for a client's zone and its table, built from it.
  struct Choice {
    EligibleSet set;
    MaglevTable table;
  };
  const Choice& choiceFor(ZoneIndex zone) const noexcept;

 private:
  ServiceSnapshot snapshot_;
  std::vector<Backend> backends_;                       // by slot
  std::vector<std::uint32_t> descriptions_;             // slot -> index into snapshot_.backends
  std::vector<std::shared_ptr<const Choice>> choices_;  // [0] without zone
  std::vector<std::uint16_t> choiceOfZone_;             // ZoneIndex -> index into choices_
};

// Forwarding rules, routes and client zones, indexed for packets.
class Rules {
 public:
  explicit Rules(RulesSnapshot);
  const RulesSnapshot& snapshot() const noexcept { return snapshot_; }

  struct Match {
    ServiceId service;
    bool byRoute = false;     // next hop: symmetric keys (N6)
    std::uint32_t index = 0;  // into snapshot().rules, or into snapshot().routes if byRoute
  };
  // P8.2, P8.3: the most specific rule for a packet's destination, protocol and port; else the
  // route with the longest prefix, then lowest priority, then first name (N1, N4).
  std::optional<Match> match(const Tuple&) const noexcept;
  // The same, pointing into the index: nullptr for no match, valid as long as the rules.
  const Match* find(const Tuple&) const noexcept;
  // The route alone, whatever rules the address has.
  const Match* findRoute(Address destination) const noexcept;
  ZoneIndex zoneOf(Address client) const noexcept;
  // Is this address the virtual address of any rule?
  bool isVirtual(Address) const noexcept;

 private:
  struct Index;
  RulesSnapshot snapshot_;
  std::shared_ptr<const Index> index_;
};

class World {
 public:
  World();  // no rules: everything passes
  // The world after a message; SyncBegin and SyncEnd bracket a full synchronisation, during which
  // the services heard so far are collected. Throws nothing on decoded messages.
  std::shared_ptr<const World> after(const SnapshotMessage&) const;

  const Rules& rules() const noexcept { return *rules_; }
  // nullptr: not known.
  const Service* service(ServiceId) const noexcept;
  const std::vector<std::shared_ptr<const Service>>& services() const noexcept { return services_; }

 private:
  std::shared_ptr<const Rules> rules_;
  std::vector<std::shared_ptr<const Service>> services_;  // by ServiceId, with holes
  std::optional<std::vector<bool>> heardInSync_;          // by ServiceId, while synchronising
};

enum class Action : std::uint8_t { forward, drop, pass };
// related: an ICMP error that follows the connection it is about (P8.6).
enum class ConnectionState : std::uint8_t { none, fresh, known, related };

// Why a packet was dropped; each value is a counter's label.
enum class DropReason : std::uint8_t {
  none,
  noEligibleBackend,  // P2.8 or a service without backends
  unknownService,     // a rule whose service the manager has not sent (never in steady state)
};
inline constexpr std::size_t kDropReasons = 3;
std::string_view toString(Action) noexcept;
std::string_view toString(ConnectionState) noexcept;  // "new", "known", "related"
std::string_view toString(DropReason) noexcept;       // "no_eligible_backend", ...

struct Decision {
  Action action = Action::pass;
  ConnectionState connection = ConnectionState::none;
  DropReason reason = DropReason::none;
  Mark mark;
  BackendSlot backend;
  const Service* service = nullptr;  // lives as long as the World
  const EligibleSet* set = nullptr;  // that a new connection chose from
  Rules::Match match;                // when action is not pass
};

// A packet on its way to a decision; prepare() of a whole batch before the first decide() lets the
// processor fetch table lines for all of them at once.
struct Prepared {
  Packet packet;
  std::optional<Rules::Match> match;
  const Service* service = nullptr;
  // An ICMP error (P8.6): match and key are those of the quoted packet, reversed, because it came
  // from behind the rule or route; or as it stands, when it is the one that the route carried.
  bool related = false;
  bool quotedAsIs = false;
  TrackedKey key;  // when service is not nullptr

  // The flow that match and key are about.
  Tuple flow() const noexcept {
    if (!related) return packet.tuple;
    return quotedAsIs ? packet.quoted : packet.quoted.reversed();
  }
};
//
// A packet takes its rule (P8.3), or else its route (N1), to a service; an ICMP error those of the
// flow it quotes, if there are any (P8.6), else its own. Keys under a route are symmetric for all
// protocols (N6 asks it for TCP and UDP), except with CLIENT_IP_NO_DESTINATION.
Prepared prepare(const World&, const TrackingTable&, const Packet&) noexcept;
// The same without copies: fills in the rest around `packet`, which the caller has parsed in place.
// Fastest when all packets of a batch have been parsed before the first is prepared, and
// TrackingTable::prefetchSlot() has been called for all before the first is decided.
void prepare(const World&, const TrackingTable&, Prepared&) noexcept;
Decision decide(const World&, TrackingTable&, const Prepared&, Time now) noexcept;

// What decide() would do, without doing it: no entry is made or refreshed.
Decision foresee(const World&, TrackingTable&, const Prepared&, Time now) noexcept;

// What the selection of a prepared packet's flow hashes and where that leads (P4, N6), for whoever
// wants to show it. Only when prepared.service is there.
struct Selection {
  const Service::Choice* choice = nullptr;  // the set for the client's zone
  FlowKey key;
  bool symmetric = false;
  std::uint64_t hash = 0;
  std::optional<BackendSlot> backend;  // nullopt: the set is empty
};
Selection selectionOf(const World&, const Prepared&) noexcept;

// Is an entry valid for the service it belongs to (backend present, generation not older than the
// backend's validFrom, not idle)?
bool isLive(const World&, const TrackingTable::Visited&, Time now) noexcept;

}  // namespace weir
