// SPDX-License-Identifier: GPL-2.0-or-later
//
// What weir knows of a packet, and how it learns it from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/address.h"
#include "weir/types.h"

namespace weir {

// Only TCP and UDP packets carry a kind other than none: a fragment of another protocol is an
// ordinary packet of its 3-tuple (P4).
enum class Fragment : std::uint8_t { none, first, later };

// The attributes that identify a packet's flow. Ports are zero where the packet has none: later
// fragments and every protocol but TCP and UDP. Ports in host order.
struct Tuple {
  Address source;
  Address destination;
  std::uint16_t sourcePort = 0;
  std::uint16_t destinationPort = 0;
  Protocol protocol = Protocol::none;
  Fragment fragment = Fragment::none;

  bool hasPorts() const noexcept {
    return (protocol == Protocol::tcp || protocol == Protocol::udp) && fragment != Fragment::later;
  }
  // Source and destination swapped.
  Tuple reversed() const noexcept {
    return {destination, source, destinationPort, sourcePort, protocol, fragment};
  }
  friend bool operator==(const Tuple&, const Tuple&) noexcept = default;
};

namespace tcp_flag {
inline constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10,
                              urg = 0x20, ece = 0x40, cwr = 0x80;
}

struct Packet {
  Tuple tuple;
  std::uint8_t tcpFlags = 0;  // TCP that is not a fragment only
  bool isIcmpError = false;   // then `quoted` is the flow of the packet complained about
  Tuple quoted;

  // P1.1: SYN set and ACK clear on an unfragmented TCP packet. Other flags do not matter.
  bool isNewBySyn() const noexcept {
    return tuple.protocol == Protocol::tcp && tuple.fragment == Fragment::none &&
           (tcpFlags & (tcp_flag::syn | tcp_flag::ack)) == tcp_flag::syn;
  }
};

// Is this a type of ICMP or ICMPv6 message that quotes the packet it is about (P8.6): unreachable,
// packet too big, time exceeded, parameter problem?
bool isIcmpErrorType(Protocol, std::uint8_t type) noexcept;

// Why bytes are not a packet that weir can forward (P8.7). Each value is a counter's label.
enum class Malformed : std::uint8_t {
  none,
  truncated,        // shorter than a header needs, or than its own length field says
  badVersion,       // neither 4 nor 6
  badHeaderLength,  // IPv4 IHL or TCP data offset below 5, or beyond the packet
  badTotalLength,   // length field smaller than the headers
  badAddress,       // IPv4-mapped IPv6, or source that no packet can have (multicast)
  badExtension,     // IPv6 extension header chain impossible, or longer than 16 headers
  badFragment,      // fragment beyond 65,535 bytes, or a first fragment without its ports
};
inline constexpr std::size_t kMalformedKinds = 8;
std::string_view toString(Malformed) noexcept;

// Parses an IPv4 or IPv6 packet that begins at its IP header. `bytes` may hold only the first part
// of it (NFQUEUE copies a prefix); `trueLength` is the whole length, at least bytes.size(). Headers
// that lie beyond `bytes` but inside `trueLength` are `truncated` too. IPv6 extension headers are
// walked to the transport header, fragment header included. An ICMP error whose quoted packet
// cannot be read is a plain ICMP packet, not malformed. Reads no byte outside `bytes`.
// On anything but Malformed::none, `packet` is unspecified.
Malformed parsePacket(std::span<const std::uint8_t> bytes, std::size_t trueLength,
                      Packet& packet) noexcept;

}  // namespace weir
