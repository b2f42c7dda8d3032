// SPDX-License-Identifier: GPL-2.0-or-later
//
// The parser of untrusted packets. One rule keeps it safe: every read goes through Reader::has(),
// which compares with the bytes at hand; every length on the wire is first compared with the
// length of the packet around it.
#include "weir/packet.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weir {
bool isIcmpErrorType(Protocol protocol, std::uint8_t type) noexcept {
  if (protocol == Protocol::icmp) return type == 3 || type == 11 || type == 12;
  return protocol == Protocol::icmpv6 && type >= 1 && type <= 4;
}

namespace {

constexpr std::size_t kIpv4HeaderBytes = 20;
constexpr std::size_t kIpv6HeaderBytes = 40;
constexpr std::size_t kTcpHeaderBytes = 20;
constexpr std::size_t kUdpHeaderBytes = 8;
constexpr std::size_t kIcmpHeaderBytes = 8;
constexpr std::size_t kPortBytes = 4;
constexpr std::size_t kMaxLength = 65535;  // of what 16-bit length fields can describe
constexpr int kMaxExtensionHeaders = 16;

// IPv6 next-header values that are walked.
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragmentHeader = 44;
constexpr std::uint8_t kDestinationOptions = 60;

template <class Word>
Word load(const std::uint8_t* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
  }
  return word;
}

// A packet, or what an ICMP error quotes of one.
struct Reader {
  const std::uint8_t* data;
  std::size_t size;    // bytes that may be read
  std::size_t length;  // end of the packet by its own and the surrounding lengths; >= size

  bool has(std::size_t offset, std::size_t count) const noexcept { return offset + count <= size; }
  bool within(std::size_t offset, std::size_t count) const noexcept {
    return offset + count <= length;
  }
  std::uint8_t byte(std::size_t offset) const noexcept { return data[offset]; }
  template <class Word>
  Word word(std::size_t offset) const noexcept {
    return load<Word>(data + offset);
  }
};

Malformed readPorts(const Reader& in, std::size_t offset, Tuple& tuple) noexcept {
  if (!in.has(offset, kPortBytes)) {
    const bool missing = tuple.fragment == Fragment::first && !in.within(offset, kPortBytes);
    return missing ? Malformed::badFragment : Malformed::truncated;
  }
  tuple.sourcePort = in.word<std::uint16_t>(offset);
  tuple.destinationPort = in.word<std::uint16_t>(offset + 2);
  return Malformed::none;
}

// Addresses, protocol and fragment of an IPv4 header; `offset` becomes the transport's. The caller
// has compared the total length with what surrounds it.
Malformed readIpv4(const Reader& in, Tuple& tuple, bool& fragmented, std::size_t& offset) noexcept {
  if (!in.has(0, kIpv4HeaderBytes)) return Malformed::truncated;
  offset = static_cast<std::size_t>(in.byte(0) & 0x0f) * 4;
  if (offset < kIpv4HeaderBytes || offset > in.length) return Malformed::badHeaderLength;
  if (offset > in.size) return Malformed::truncated;
  const auto source = in.word<std::uint32_t>(12);
  if ((source >> 28) == 0xe || source == 0xffffffff) return Malformed::badAddress;
  tuple.source = Address::ipv4(source);
  tuple.destination = Address::ipv4(in.word<std::uint32_t>(16));
  tuple.sourcePort = 0;
  tuple.destinationPort = 0;
  tuple.protocol = static_cast<Protocol>(in.byte(9));
  tuple.fragment = Fragment::none;
  const unsigned field = in.word<std::uint16_t>(6) & 0x3fff;  // more fragments, fragment offset
  fragmented = field != 0;
  if (fragmented) [[unlikely]] {
    const std::size_t position = static_cast<std::size_t>(field & 0x1fff) * 8;
    if (position + in.length > kMaxLength) return Malformed::badFragment;
    tuple.fragment = position == 0 ? Fragment::first : Fragment::later;
  }
  return Malformed::none;
}

// Walks the extension headers. A later fragment's chain ends at its fragment header: what follows
// is the middle of something, and its protocol the fragment header's word for it.
Malformed walkExtensions(const Reader& in, std::uint8_t next, Tuple& tuple, bool& fragmented,
                         std::size_t& offset) noexcept {
  for (int walked = 0;; ++walked) {
    if (next != kHopByHop && next != kRouting && next != kDestinationOptions &&
        next != kFragmentHeader) {
      break;
    }
    if (walked == kMaxExtensionHeaders) return Malformed::badExtension;
    if (next == kHopByHop && walked != 0) return Malformed::badExtension;
    // A first fragment must hold the whole chain (RFC 7112).
    const Malformed beyond =
        tuple.fragment == Fragment::first ? Malformed::badFragment : Malformed::truncated;
    if (!in.within(offset, 8)) return beyond;
    if (!in.has(offset, 8)) return Malformed::truncated;
    const std::uint8_t following = in.byte(offset);
    if (next == kFragmentHeader) {
      if (fragmented) return Malformed::badExtension;
      const unsigned field = in.word<std::uint16_t>(offset + 2);
      offset += 8;
      // An atomic fragment, the first and the last one, is an ordinary packet (RFC 6946).
      fragmented = (field & 0xfff9) != 0;
      if (fragmented) {
        const std::size_t position = field & 0xfff8;
        if (position + (in.length - offset) > kMaxLength) return Malformed::badFragment;
        tuple.fragment = position == 0 ? Fragment::first : Fragment::later;
        if (position != 0) {
          next = following;
          break;
        }
      }
    } else {
      offset += (static_cast<std::size_t>(in.byte(offset + 1)) + 1) * 8;
      if (offset > in.length) return beyond;
    }
    next = following;
  }
  tuple.protocol = static_cast<Protocol>(next);
  return Malformed::none;
}

Malformed readIpv6(const Reader& in, Tuple& tuple, bool& fragmented, std::size_t& offset) noexcept {
  if (!in.has(0, kIpv6HeaderBytes)) return Malformed::truncated;
  tuple.source = Address::ipv6(in.word<std::uint64_t>(8), in.word<std::uint64_t>(16));
  tuple.destination = Address::ipv6(in.word<std::uint64_t>(24), in.word<std::uint64_t>(32));
  if (tuple.source.isIpv4() || tuple.destination.isIpv4() || in.byte(8) == 0xff) {
    return Malformed::badAddress;
  }
  tuple.sourcePort = 0;
  tuple.destinationPort = 0;
  tuple.fragment = Fragment::none;
  fragmented = false;
  offset = kIpv6HeaderBytes;
  return walkExtensions(in, in.byte(6), tuple, fragmented, offset);
}

bool hasPortFields(Protocol protocol) noexcept {
  return protocol == Protocol::tcp || protocol == Protocol::udp;
}

// The flow of the packet that an ICMP error quotes. Lengths inside the quotation are not judged:
// it is cut short by nature, and some routers write them in the wrong byte order.
bool readQuoted(const std::uint8_t* data, std::size_t size, Family family, Tuple& tuple) noexcept {
  if (size == 0) return false;
  const Reader in{data, size, size};
  bool fragmented = false;
  std::size_t offset = 0;
  if (family == Family::ipv4) {
    if (in.byte(0) >> 4 != 4) return false;
    if (readIpv4(in, tuple, fragmented, offset) != Malformed::none) return false;
  } else {
    if (in.byte(0) >> 4 != 6) return false;
    if (readIpv6(in, tuple, fragmented, offset) != Malformed::none) return false;
  }
  if (!hasPortFields(tuple.protocol)) {
    tuple.fragment = Fragment::none;
    return true;
  }
  if (tuple.fragment == Fragment::later) return true;
  return readPorts(in, offset, tuple) == Malformed::none;
}

Malformed readTcp(const Reader& in, std::size_t offset, Packet& packet) noexcept {
  if (!in.has(offset, kTcpHeaderBytes)) return Malformed::truncated;
  packet.tuple.sourcePort = in.word<std::uint16_t>(offset);
  packet.tuple.destinationPort = in.word<std::uint16_t>(offset + 2);
  packet.tcpFlags = in.byte(offset + 13);
  const std::size_t headerBytes = static_cast<std::size_t>(in.byte(offset + 12) >> 4) * 4;
  if (headerBytes < kTcpHeaderBytes || !in.within(offset, headerBytes)) {
    return Malformed::badHeaderLength;
  }
  return Malformed::none;
}

Malformed readUdp(const Reader& in, std::size_t offset, Tuple& tuple) noexcept {
  if (!in.has(offset, kUdpHeaderBytes)) return Malformed::truncated;
  tuple.sourcePort = in.word<std::uint16_t>(offset);
  tuple.destinationPort = in.word<std::uint16_t>(offset + 2);
  const std::size_t declared = in.word<std::uint16_t>(offset + 4);
  const std::size_t actual = in.length - offset;
  if (declared > actual) return Malformed::truncated;
  // Zero is how a datagram beyond 65,535 bytes says its length (RFC 2675).
  if (declared < kUdpHeaderBytes && !(declared == 0 && actual > kMaxLength)) {
    return Malformed::badTotalLength;
  }
  return Malformed::none;
}

Malformed readIcmp(const Reader& in, std::size_t offset, Packet& packet) noexcept {
  if (!in.has(offset, kIcmpHeaderBytes)) return Malformed::truncated;
  if (!isIcmpErrorType(packet.tuple.protocol, in.byte(offset))) return Malformed::none;
  const std::size_t quotation = offset + kIcmpHeaderBytes;
  packet.isIcmpError = readQuoted(in.data + quotation, in.size - quotation,
                                  packet.tuple.source.family(), packet.quoted);
  return Malformed::none;
}

Malformed readTransport(const Reader& in, std::size_t offset, bool fragmented,
                        Packet& packet) noexcept {
  Tuple& tuple = packet.tuple;
  if (fragmented) [[unlikely]] {
    if (!hasPortFields(tuple.protocol)) {
      tuple.fragment = Fragment::none;
      return Malformed::none;
    }
    return tuple.fragment == Fragment::later ? Malformed::none : readPorts(in, offset, tuple);
  }
  if (tuple.protocol == Protocol::tcp) return readTcp(in, offset, packet);
  if (tuple.protocol == Protocol::udp) return readUdp(in, offset, tuple);
  const Protocol icmp = tuple.source.isIpv4() ? Protocol::icmp : Protocol::icmpv6;
  return tuple.protocol == icmp ? readIcmp(in, offset, packet) : Malformed::none;
}

}  // namespace

std::string_view toString(Malformed kind) noexcept {
  switch (kind) {
    case Malformed::none:
      return "none";
    case Malformed::truncated:
      return "truncated";
    case Malformed::badVersion:
      return "bad_version";
    case Malformed::badHeaderLength:
      return "bad_header_length";
    case Malformed::badTotalLength:
      return "bad_total_length";
    case Malformed::badAddress:
      return "bad_address";
    case Malformed::badExtension:
      return "bad_extension";
    case Malformed::badFragment:
      return "bad_fragment";
  }
  return "none";
}

Malformed parsePacket(std::span<const std::uint8_t> bytes, std::size_t trueLength,
                      Packet& packet) noexcept {
  if (bytes.empty()) return Malformed::truncated;
  packet.tcpFlags = 0;
  packet.isIcmpError = false;

  const unsigned version = bytes[0] >> 4;
  std::size_t headerBytes = 0;
  std::size_t declared = 0;
  if (version == 4) {
    headerBytes = kIpv4HeaderBytes;
    if (bytes.size() < headerBytes) return Malformed::truncated;
    declared = load<std::uint16_t>(bytes.data() + 2);
  } else if (version == 6) {
    headerBytes = kIpv6HeaderBytes;
    if (bytes.size() < headerBytes) return Malformed::truncated;
    declared = headerBytes + load<std::uint16_t>(bytes.data() + 4);
  } else {
    return Malformed::badVersion;
  }
  // Segments joined by the kernel beyond 65,535 bytes have a length field of zero. What lies
  // behind a packet's own length is padding of a lower layer.
  const std::size_t zeroField = version == 4 ? 0 : headerBytes;
  const std::size_t length =
      declared == zeroField && trueLength > kMaxLength ? trueLength : declared;
  if (length < headerBytes) return Malformed::badTotalLength;
  if (length > trueLength) return Malformed::truncated;

  const Reader in{bytes.data(), std::min(bytes.size(), length), length};
  bool fragmented = false;
  std::size_t offset = 0;
  const Malformed header = version == 4 ? readIpv4(in, packet.tuple, fragmented, offset)
                                        : readIpv6(in, packet.tuple, fragmented, offset);
  if (header != Malformed::none) return header;
  return readTransport(in, offset, fragmented, packet);
}

}  // namespace weir
