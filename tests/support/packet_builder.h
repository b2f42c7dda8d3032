// SPDX-License-Identifier: GPL-2.0-or-later
//
// Test packets, from the inside out: a segment (TCP, UDP, ICMP, ...) is wrapped in IPv4 or IPv6,
// and the whole may be cut into fragments. Lengths and checksums are filled in; what a test wants
// to be wrong it overwrites in the resulting bytes.
//
//   auto syn = ipv4({.source = client, .destination = vip},
//                   tcp({.sourcePort = 40000, .destinationPort = 80, .flags = tcp_flag::syn}));
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/packet.h"

namespace weir::test {

using Bytes = std::vector<std::uint8_t>;

inline Address address(std::string_view text) { return Address::parse(text).value(); }

inline void put16(Bytes& bytes, std::size_t value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
inline void put32(Bytes& bytes, std::size_t value) {
  put16(bytes, value >> 16);
  put16(bytes, value);
}
inline void set16(Bytes& bytes, std::size_t at, std::size_t value) {
  bytes.at(at) = static_cast<std::uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<std::uint8_t>(value);
}
inline std::size_t get16(const Bytes& bytes, std::size_t at) {
  return static_cast<std::size_t>(bytes.at(at)) << 8 | bytes.at(at + 1);
}
inline void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// RFC 1071.
inline std::uint16_t internetChecksum(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// What an IP packet carries.
struct Segment {
  Protocol protocol = Protocol::none;
  Bytes bytes;
  std::optional<std::size_t> checksumAt;  // filled in when the addresses are known
  bool pseudoHeader = false;              // the checksum covers the addresses too
};

struct TcpFields {
  std::uint16_t sourcePort = 0, destinationPort = 0;
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = tcp_flag::ack;
  std::uint16_t window = 65535;
  Bytes options = {};  // padded to a multiple of four
  Bytes payload = {};
};
inline Segment tcp(const TcpFields& fields) {
  Bytes options = fields.options;
  options.resize((options.size() + 3) / 4 * 4);
  Segment segment{Protocol::tcp, {}, 16, true};
  put16(segment.bytes, fields.sourcePort);
  put16(segment.bytes, fields.destinationPort);
  put32(segment.bytes, fields.sequence);
  put32(segment.bytes, fields.acknowledgment);
  segment.bytes.push_back(static_cast<std::uint8_t>((5 + options.size() / 4) << 4));
  segment.bytes.push_back(fields.flags);
  put16(segment.bytes, fields.window);
  put32(segment.bytes, 0);  // checksum, urgent pointer
  append(segment.bytes, options);
  append(segment.bytes, fields.payload);
  return segment;
}

struct UdpFields {
  std::uint16_t sourcePort = 0, destinationPort = 0;
  Bytes payload = {};
};
inline Segment udp(const UdpFields& fields) {
  Segment segment{Protocol::udp, {}, 6, true};
  put16(segment.bytes, fields.sourcePort);
  put16(segment.bytes, fields.destinationPort);
  put16(segment.bytes, 8 + fields.payload.size());
  put16(segment.bytes, 0);
  append(segment.bytes, fields.payload);
  return segment;
}

struct IcmpFields {
  std::uint8_t type = 8, code = 0;
  std::uint32_t rest = 0;  // identifier and sequence, next-hop MTU, pointer, ...
  Bytes payload = {};      // an error's quotation
};
inline Segment icmp(const IcmpFields& fields) {
  Segment segment{Protocol::icmp, {fields.type, fields.code, 0, 0}, 2, false};
  put32(segment.bytes, fields.rest);
  append(segment.bytes, fields.payload);
  return segment;
}
inline Segment icmpv6(const IcmpFields& fields) {
  Segment segment = icmp(fields);
  segment.protocol = Protocol::icmpv6;
  segment.pseudoHeader = true;
  return segment;
}

// Any other protocol, as bytes.
inline Segment raw(Protocol protocol, Bytes bytes) {
  return {protocol, std::move(bytes), {}, false};
}

// The first bytes of a packet, as an ICMP error quotes them.
inline Bytes quote(Bytes packet, std::size_t size) {
  packet.resize(std::min(packet.size(), size));
  return packet;
}

// The pseudo-header and the segment; RFC 8200 gives every next header the transport's number.
inline void fillChecksum(Segment& segment, Address source, Address destination) {
  if (!segment.checksumAt) return;
  Bytes covered;
  if (segment.pseudoHeader) {
    const std::size_t skip = source.isIpv4() ? 12 : 0;
    for (const Address end : {source, destination}) {
      const auto bytes = end.bytes();
      covered.insert(covered.end(), bytes.begin() + static_cast<std::ptrdiff_t>(skip), bytes.end());
    }
    put32(covered, segment.bytes.size());
    put32(covered, static_cast<std::uint8_t>(segment.protocol));
  }
  append(covered, segment.bytes);
  std::uint16_t sum = internetChecksum(covered);
  if (segment.protocol == Protocol::udp && sum == 0) sum = 0xffff;
  set16(segment.bytes, *segment.checksumAt, sum);
}

struct Ipv4Fields {
  Address source, destination;
  std::uint8_t ttl = 64, typeOfService = 0;
  std::uint16_t id = 1;
  bool dontFragment = false;
  Bytes options = {};  // padded to a multiple of four
};
inline Bytes ipv4(const Ipv4Fields& fields, Segment segment) {
  fillChecksum(segment, fields.source, fields.destination);
  Bytes options = fields.options;
  options.resize((options.size() + 3) / 4 * 4);
  Bytes packet{static_cast<std::uint8_t>(0x45 + options.size() / 4), fields.typeOfService};
  put16(packet, 20 + options.size() + segment.bytes.size());
  put16(packet, fields.id);
  put16(packet, fields.dontFragment ? 0x4000 : 0);
  packet.push_back(fields.ttl);
  packet.push_back(static_cast<std::uint8_t>(segment.protocol));
  put16(packet, 0);
  put32(packet, fields.source.ipv4Bits());
  put32(packet, fields.destination.ipv4Bits());
  append(packet, options);
  set16(packet, 10, internetChecksum(packet));
  append(packet, segment.bytes);
  return packet;
}

// An IPv6 extension header: its own number, and its bytes from the third on (the first two, next
// header and length, are filled in). Padded with zeros to a multiple of eight.
struct Extension {
  std::uint8_t type = 0;
  Bytes body;
};
// An option area that is all padding, `bytes` long in all (a multiple of eight).
inline Bytes padding(std::size_t bytes = 8) {
  Bytes body{1, static_cast<std::uint8_t>(bytes - 4)};  // PadN
  body.resize(bytes - 2);
  return body;
}
inline Extension hopByHop(Bytes body = padding()) { return {0, std::move(body)}; }
inline Extension routing(Bytes body = Bytes(6)) { return {43, std::move(body)}; }
inline Extension destinationOptions(Bytes body = padding()) { return {60, std::move(body)}; }
// Offset in bytes, a multiple of eight.
inline Extension fragmentHeader(std::size_t offset, bool more, std::uint32_t id = 1) {
  Bytes body;
  put16(body, offset | (more ? 1u : 0u));
  put32(body, id);
  return {44, std::move(body)};
}

struct Ipv6Fields {
  Address source, destination;
  std::uint8_t hopLimit = 64, trafficClass = 0;
  std::vector<Extension> extensions = {};
};
inline Bytes ipv6(const Ipv6Fields& fields, Segment segment) {
  fillChecksum(segment, fields.source, fields.destination);
  Bytes chain;
  for (std::size_t i = 0; i < fields.extensions.size(); ++i) {
    const Extension& extension = fields.extensions[i];
    const bool last = i + 1 == fields.extensions.size();
    const std::size_t size = (extension.body.size() + 2 + 7) / 8 * 8;
    const std::size_t end = chain.size() + size;
    chain.push_back(last ? static_cast<std::uint8_t>(segment.protocol)
                         : fields.extensions[i + 1].type);
    // In a fragment header the length's place is reserved.
    chain.push_back(static_cast<std::uint8_t>(extension.type == 44 ? 0 : size / 8 - 1));
    append(chain, extension.body);
    chain.resize(end);
  }
  Bytes packet;
  put32(packet, 0x60000000u | static_cast<std::uint32_t>(fields.trafficClass) << 20);
  put16(packet, chain.size() + segment.bytes.size());
  packet.push_back(fields.extensions.empty() ? static_cast<std::uint8_t>(segment.protocol)
                                             : fields.extensions[0].type);
  packet.push_back(fields.hopLimit);
  for (const Address end : {fields.source, fields.destination}) {
    for (const std::uint8_t byte : end.bytes()) packet.push_back(byte);
  }
  append(packet, chain);
  append(packet, segment.bytes);
  return packet;
}

// Cuts an IPv4 packet, or an IPv6 packet without extension headers, into fragments with at most
// `size` bytes of payload each (a multiple of eight).
inline std::vector<Bytes> fragments(const Bytes& packet, std::size_t size, std::uint32_t id = 1) {
  const bool isIpv4 = packet.at(0) >> 4 == 4;
  const std::size_t headerBytes = isIpv4 ? (packet[0] & 0xfu) * 4u : 40u;
  std::vector<Bytes> result;
  for (std::size_t offset = 0; headerBytes + offset < packet.size(); offset += size) {
    const std::size_t begin = headerBytes + offset;
    const std::size_t end = std::min(begin + size, packet.size());
    const bool more = end < packet.size();
    Bytes piece(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(headerBytes));
    if (isIpv4) {
      set16(piece, 2, headerBytes + end - begin);
      set16(piece, 6, offset / 8 | (more ? 0x2000u : 0u));
      set16(piece, 10, 0);
      set16(piece, 10, internetChecksum(piece));
    } else {
      set16(piece, 4, 8 + end - begin);
      piece[6] = 44;
      piece.push_back(packet[6]);
      piece.push_back(0);
      append(piece, fragmentHeader(offset, more, id).body);
    }
    piece.insert(piece.end(), packet.begin() + static_cast<std::ptrdiff_t>(begin),
                 packet.begin() + static_cast<std::ptrdiff_t>(end));
    result.push_back(std::move(piece));
  }
  return result;
}

}  // namespace weir::test
