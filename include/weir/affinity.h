// SPDX-License-Identifier: GPL-2.0-or-later
//
// Session affinity and connection tracking: which attributes of a packet count (P4, P5).
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/packet.h"

namespace weir {

enum class SessionAffinity : std::uint8_t {
  none,                   // NONE: as clientIpPortProto
  clientIpPortProto,      // CLIENT_IP_PORT_PROTO: 5-tuple
  clientIpProto,          // CLIENT_IP_PROTO: 3-tuple
  clientIp,               // CLIENT_IP: 2-tuple
  clientIpNoDestination,  // CLIENT_IP_NO_DESTINATION: 1-tuple
};
std::string_view toString(SessionAffinity) noexcept;  // as in the configuration

enum class TrackingMode : std::uint8_t { perConnection, perSession };
std::string_view toString(TrackingMode) noexcept;

enum class TupleKind : std::uint8_t { five, three, two, one };
std::string_view toString(TupleKind) noexcept;  // "5-tuple", ...

// The table of P4: what the selection hash covers for this packet.
TupleKind selectionTuple(SessionAffinity, const Tuple&) noexcept;
// P5: what the tracking key covers for this packet.
TupleKind trackingTuple(TrackingMode, SessionAffinity, const Tuple&) noexcept;
// P1.1: does a SYN start a new connection without a look at the table?
bool synIsAlwaysNew(TrackingMode, SessionAffinity) noexcept;

// A tuple reduced to the attributes that count; the others are zero.
struct FlowKey {
  Address source;
  Address destination;
  std::uint16_t sourcePort = 0;
  std::uint16_t destinationPort = 0;
  Protocol protocol = Protocol::none;
  TupleKind kind = TupleKind::five;
  friend bool operator==(const FlowKey&, const FlowKey&) noexcept = default;
};

FlowKey makeKey(TupleKind, const Tuple&) noexcept;
// N6: the same key for a packet and for its reply. 1-tuple keys are not made symmetric.
FlowKey makeSymmetricKey(TupleKind, const Tuple&) noexcept;

// A stable 64-bit hash of a key: the same value for the same key and seed on every machine and in
// every release (fixed vectors in the tests, the definition in docs/hashing.md). Used with the
// configured seed to select backends, and with a secret one to index the tracking table.
std::uint64_t hashKey(const FlowKey&, std::uint64_t seed) noexcept;

}  // namespace weir
