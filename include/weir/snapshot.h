// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the manager tells a data plane. A snapshot is complete in itself: a data plane that has the
// rules and every service needs nothing else to decide, and nothing of the past. encode() and
// decode() are the wire form between manager and data planes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/address.h"
#include "weir/affinity.h"
#include "weir/proxy_snapshot.h"
#include "weir/result.h"
#include "weir/types.h"

namespace weir {

// Raised whenever the wire form or its meaning changes; another version is refused.
inline constexpr std::uint16_t kSnapshotVersion = 2;

// Entries are kept or go by the protocol of their key (P6.3); 1- and 2-tuple keys have none and
// belong to `other`.
enum class ProtocolClass : std::uint8_t { tcp, udp, other };
inline constexpr std::size_t kProtocolClasses = 3;
constexpr ProtocolClass protocolClass(Protocol protocol) noexcept {
  return protocol == Protocol::tcp   ? ProtocolClass::tcp
         : protocol == Protocol::udp ? ProtocolClass::udp
                                     : ProtocolClass::other;
}

// A backend that may be eligible or hold entries: healthy, unhealthy or draining.
struct SnapshotBackend {
  BackendSlot slot;
  Mark mark;
  // An entry of a class is valid if it was made in this generation or later.
  std::array<Generation, kProtocolClasses> validFrom{};
  std::string group;     // network endpoint group, for display
  std::string endpoint;  // address in canonical text; also the identity that is hashed
  friend bool operator==(const SnapshotBackend&, const SnapshotBackend&) = default;
};

// Who may get new connections, and which rule says so.
struct EligibleSet {
  struct Member {
    BackendSlot slot;
    std::uint32_t weight = 1;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::string rule;             // "P2.1", "P9.3": the rule of the ladder that made the set
  std::string zonalRule;        // "P3.4" when zonal affinity refined or replaced it, else empty
  std::vector<Member> members;  // sorted by identity; empty: new connections are dropped
  friend bool operator==(const EligibleSet&, const EligibleSet&) = default;
};

struct ServiceSnapshot {
  ServiceId id;
  std::string name;
  Generation generation;
  SessionAffinity affinity = SessionAffinity::none;
  TrackingMode tracking = TrackingMode::perConnection;
  std::chrono::seconds idleTimeout{600};
  std::vector<SnapshotBackend> backends;  // in any order, slots unique
  EligibleSet eligible;                   // for clients without a zone of their own below
  std::vector<std::pair<ZoneIndex, EligibleSet>> zonal;  // where zonal affinity differs
  friend bool operator==(const ServiceSnapshot&, const ServiceSnapshot&) = default;
};

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // inclusive
  friend auto operator<=>(const PortRange&, const PortRange&) = default;
};

struct SnapshotRule {
  std::string name;
  Address address;
  Protocol protocol = Protocol::tcp;  // none: L3_DEFAULT, every protocol
  std::vector<PortRange> ports;       // empty: allPorts
  ServiceId service;
  friend bool operator==(const SnapshotRule&, const SnapshotRule&) = default;
};

// N1: packets to a range of destinations go to a rule's service.
struct SnapshotRoute {
  std::string name;
  Prefix destination;
  std::uint16_t priority = 1000;
  std::string rule;  // the forwarding rule it names
  ServiceId service;
  friend bool operator==(const SnapshotRoute&, const SnapshotRoute&) = default;
};

// All rules, routes and client zones of the node; sent when any of them changes.
struct RulesSnapshot {
  Generation generation;
  std::uint64_t hashSeed = 0;  // seed of the selection hash, the same on all nodes
  std::vector<SnapshotRule> rules;
  std::vector<SnapshotRoute> routes;
  std::vector<std::string> zones;                          // ZoneIndex -> name
  std::vector<std::pair<Prefix, ZoneIndex>> clientRanges;  // longest prefix wins
  friend bool operator==(const RulesSnapshot&, const RulesSnapshot&) = default;
};

struct ServiceRemoved {
  ServiceId id;
  friend bool operator==(const ServiceRemoved&, const ServiceRemoved&) = default;
};

// Whether the engine uses the kernel module's cache of known flows: when the module is there,
// never, or it does not run without.
enum class FlowCache : std::uint8_t { automatic, off, require };

// What a data plane must know of the node before it can start; a data plane that already runs
// with other values keeps its own and says so.
struct NodeSnapshot {
  std::uint16_t queueBase = 8100;  // number of the first queue
  std::uint16_t queues = 1;
  std::uint64_t ipv4Entries = 1u << 20;  // room of the tracking table
  std::uint64_t ipv6Entries = 1u << 18;
  std::uint32_t fwmarkMask = 0xffff0000;  // bits of a packet's mark that are weir's
  FlowCache flowCache = FlowCache::automatic;
  friend bool operator==(const NodeSnapshot&, const NodeSnapshot&) = default;
};

// The end of a full synchronisation: services not named since its begin are gone.
struct SyncBegin {
  friend bool operator==(const SyncBegin&, const SyncBegin&) = default;
};
struct SyncEnd {
  friend bool operator==(const SyncEnd&, const SyncEnd&) = default;
};

// A data plane is sent the kinds that are for it, and takes no notice of others.
using SnapshotMessage =
    std::variant<NodeSnapshot, SyncBegin, ServiceSnapshot, ServiceRemoved, RulesSnapshot, SyncEnd,
                 ProxySnapshot, ProxyServiceSnapshot, ProxyServiceRemoved, ProxyLoadReport>;

// One message as bytes, beginning with the version; decode() refuses other versions, trailing
// bytes, counts beyond the message's size and values out of range: what it accepts is consistent
// in itself (slots, zones, names and fronts unique and known, weights at most 1000, prefixes
// without host bits, fractions and capacities in their ranges), and has exactly one form, so that
// encode(decode(bytes)) == bytes. It allocates no more than a small multiple of the message's size.
// Messages handed to encode() must be consistent in the same way.
std::vector<std::uint8_t> encode(const SnapshotMessage&);
Result<SnapshotMessage> decode(std::span<const std::uint8_t>);

}  // namespace weir
