// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/affinity.h"

#include <bit>
#include <tuple>
#include <utility>

#include "hash.h"

namespace weir {

std::string_view toString(SessionAffinity affinity) noexcept {
  switch (affinity) {
    case SessionAffinity::none:
      return "NONE";
    case SessionAffinity::clientIpPortProto:
      return "CLIENT_IP_PORT_PROTO";
    case SessionAffinity::clientIpProto:
      return "CLIENT_IP_PROTO";
    case SessionAffinity::clientIp:
      return "CLIENT_IP";
    case SessionAffinity::clientIpNoDestination:
      return "CLIENT_IP_NO_DESTINATION";
  }
  return "?";
}

std::string_view toString(TrackingMode mode) noexcept {
  switch (mode) {
    case TrackingMode::perConnection:
      return "PER_CONNECTION";
    case TrackingMode::perSession:
      return "PER_SESSION";
  }
  return "?";
}

std::string_view toString(TupleKind kind) noexcept {
  switch (kind) {
    case TupleKind::five:
      return "5-tuple";
    case TupleKind::three:
      return "3-tuple";
    case TupleKind::two:
      return "2-tuple";
    case TupleKind::one:
      return "1-tuple";
  }
  return "?";
}

namespace {

// The 5-tuple where a packet reliably has one. A first fragment has ports too, but the later ones
// of its datagram do not, and must not be told apart from it.
TupleKind finest(const Tuple& tuple) noexcept {
  const bool portsCount = (tuple.protocol == Protocol::tcp || tuple.protocol == Protocol::udp) &&
                          tuple.fragment == Fragment::none;
  return portsCount ? TupleKind::five : TupleKind::three;
}

bool isFiveTuple(SessionAffinity affinity) noexcept {
  return affinity == SessionAffinity::none || affinity == SessionAffinity::clientIpPortProto;
}

}  // namespace

TupleKind selectionTuple(SessionAffinity affinity, const Tuple& tuple) noexcept {
  switch (affinity) {
    case SessionAffinity::none:
    case SessionAffinity::clientIpPortProto:
      return finest(tuple);
    case SessionAffinity::clientIpProto:
      return TupleKind::three;
    case SessionAffinity::clientIp:
      return TupleKind::two;
    case SessionAffinity::clientIpNoDestination:
      return TupleKind::one;
  }
  return TupleKind::five;
}

TupleKind trackingTuple(TrackingMode mode, SessionAffinity affinity, const Tuple& tuple) noexcept {
  return mode == TrackingMode::perConnection ? finest(tuple) : selectionTuple(affinity, tuple);
}

bool synIsAlwaysNew(TrackingMode mode, SessionAffinity affinity) noexcept {
  return mode == TrackingMode::perConnection || isFiveTuple(affinity);
}

FlowKey makeKey(TupleKind kind, const Tuple& tuple) noexcept {
  FlowKey key;
  key.kind = kind;
  key.source = tuple.source;
  switch (kind) {
    case TupleKind::five:
      key.sourcePort = tuple.sourcePort;
      key.destinationPort = tuple.destinationPort;
      [[fallthrough]];
    case TupleKind::three:
      key.protocol = tuple.protocol;
      [[fallthrough]];
    case TupleKind::two:
      key.destination = tuple.destination;
      break;
    case TupleKind::one:
      break;
  }
  return key;
}

FlowKey makeSymmetricKey(TupleKind kind, const Tuple& tuple) noexcept {
  FlowKey key = makeKey(kind, tuple);
  if (kind != TupleKind::one &&
      std::tie(key.destination, key.destinationPort) < std::tie(key.source, key.sourcePort)) {
    std::swap(key.source, key.destination);
    std::swap(key.sourcePort, key.destinationPort);
  }
  return key;
}

std::uint64_t hashKey(const FlowKey& key, std::uint64_t seed) noexcept {
  // The seed reaches both factors of every product: without it nobody can choose a key that makes
  // a factor zero and so hides the other one.
  const std::uint64_t seed0 = seed ^ kPi0;
  const std::uint64_t seed1 = std::rotl(seed, 32) ^ kPi1;
  const std::uint64_t seed2 = std::rotl(seed, 16) ^ kPi2;
  const std::uint64_t seed3 = (std::rotl(seed, 48) ^ kPi3) | 1;
  const bool ipv4 = key.source.isIpv4();
  const std::uint64_t rest = static_cast<std::uint64_t>(key.sourcePort) << 48 |
                             static_cast<std::uint64_t>(key.destinationPort) << 32 |
                             static_cast<std::uint64_t>(key.protocol) << 16 |
                             static_cast<std::uint64_t>(key.kind) << 8 | (ipv4 ? 4u : 6u);
  std::uint64_t addresses;
  if (ipv4) {
    addresses =
        static_cast<std::uint64_t>(key.source.ipv4Bits()) << 32 | key.destination.ipv4Bits();
  } else {
    addresses = foldMultiply(key.source.hi() ^ seed0, key.source.lo() ^ seed1);
    addresses = foldMultiply(addresses ^ key.destination.hi(), key.destination.lo() ^ seed2);
  }
  return foldMultiply(foldMultiply(addresses ^ seed0, rest ^ seed1) ^ seed2, seed3);
}

}  // namespace weir
