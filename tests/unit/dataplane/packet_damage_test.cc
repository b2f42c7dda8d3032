// SPDX-License-Identifier: GPL-2.0-or-later
//
// P8.7: every prefix of every kind of packet, and every byte of it changed to every value. Each
// input lies in a heap block of exactly its size, so that the address sanitizer sees a byte too
// many; without it the results must still make sense.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "support/packet_builder.h"
#include "weir/packet.h"

namespace weir {
namespace {

using namespace test;

std::vector<std::pair<std::string, Bytes>> allKinds() {
  const Address a = address("10.1.0.7");
  const Address b = address("10.9.9.9");
  const Address a6 = address("2001:db8:1::7");
  const Address b6 = address("2001:db8:9::9");
  const Bytes inner = ipv4({.source = b, .destination = a, .options = Bytes(4, 1)},
                           tcp({.sourcePort = 80, .destinationPort = 40000}));
  const Bytes inner6 =
      ipv6({.source = b6, .destination = a6, .extensions = {hopByHop(), fragmentHeader(0, true)}},
           udp({.sourcePort = 53, .destinationPort = 7, .payload = Bytes(8)}));
  const Segment segment = tcp({.sourcePort = 1, .destinationPort = 2, .options = Bytes(8, 1)});
  const Segment datagram = udp({.sourcePort = 1, .destinationPort = 2, .payload = Bytes(32)});
  return {
      {"IPv4 TCP", ipv4({.source = a, .destination = b}, segment)},
      {"IPv4 options UDP", ipv4({.source = a, .destination = b, .options = Bytes(8, 1)}, datagram)},
      {"IPv4 first fragment", fragments(ipv4({.source = a, .destination = b}, datagram), 16)[0]},
      {"IPv4 later fragment", fragments(ipv4({.source = a, .destination = b}, datagram), 16)[1]},
      {"IPv4 GRE", ipv4({.source = a, .destination = b}, raw(Protocol::gre, Bytes(8)))},
      {"IPv4 ICMP error",
       ipv4({.source = a, .destination = b}, icmp({.type = 3, .code = 4, .payload = inner}))},
      {"IPv6 TCP", ipv6({.source = a6, .destination = b6}, segment)},
      {"IPv6 chain",
       ipv6({.source = a6,
             .destination = b6,
             .extensions = {hopByHop(), destinationOptions(), routing(), fragmentHeader(0, false)}},
            datagram)},
      {"IPv6 later fragment", fragments(ipv6({.source = a6, .destination = b6}, datagram), 16)[1]},
      {"IPv6 ICMPv6 error",
       ipv6({.source = a6, .destination = b6}, icmpv6({.type = 2, .payload = inner6}))},
  };
}

// Parses a copy that ends where the bytes end, and checks what must hold for any input.
Malformed parseExactly(const Bytes& bytes, std::size_t trueLength, Packet& packet) {
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const Malformed result = parsePacket({copy.get(), bytes.size()}, trueLength, packet);
  EXPECT_LT(static_cast<std::size_t>(result), kMalformedKinds);
  if (result != Malformed::none) return result;
  const auto consistent = [](const Tuple& tuple) {
    const bool hasPortFields = tuple.protocol == Protocol::tcp || tuple.protocol == Protocol::udp;
    EXPECT_TRUE(tuple.fragment == Fragment::none || hasPortFields);
    EXPECT_TRUE(tuple.hasPorts() || (tuple.sourcePort == 0 && tuple.destinationPort == 0));
    EXPECT_EQ(tuple.source.family(), tuple.destination.family());
  };
  consistent(packet.tuple);
  if (packet.isIcmpError) consistent(packet.quoted);
  return result;
}

TEST(PacketDamage, P8_7_EveryPrefix) {
  for (const auto& [name, whole] : allKinds()) {
    Packet packet;
    ASSERT_EQ(parseExactly(whole, whole.size(), packet), Malformed::none) << name;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      // Cut on the wire: the length field promises more than there is.
      EXPECT_EQ(parseExactly(prefix, size, packet), Malformed::truncated) << name << ' ' << size;
      // Cut by copying: never misread, at worst called truncated.
      Packet reference;
      parseExactly(whole, whole.size(), reference);
      const Malformed copied = parseExactly(prefix, whole.size(), packet);
      if (copied == Malformed::none) {
        EXPECT_EQ(packet.tuple, reference.tuple) << name << ' ' << size;
      } else {
        EXPECT_EQ(copied, Malformed::truncated) << name << ' ' << size;
      }
    }
  }
}

TEST(PacketDamage, P8_7_EveryByteChangedToEveryValue) {
  for (const auto& [name, whole] : allKinds()) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Bytes damaged = whole;
      for (unsigned value = 0; value < 256; ++value) {
        damaged[at] = static_cast<std::uint8_t>(value);
        Packet packet;
        parseExactly(damaged, damaged.size(), packet);
        parseExactly(damaged, 100000, packet);
      }
    }
  }
}

}  // namespace
}  // namespace weir
