// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <string>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;

Rules makeRules(std::vector<SnapshotRule> rules, std::vector<SnapshotRoute> routes = {}) {
  RulesSnapshot snapshot;
  snapshot.rules = std::move(rules);
  snapshot.routes = std::move(routes);
  return Rules(std::move(snapshot));
}

// The name of what matches, with "route " before a route's; "-" for none.
std::string matched(const Rules& rules, const Attributes& attributes) {
  const auto match = rules.match(makePacket(attributes).tuple);
  if (!match) return "-";
  return match->byRoute ? "route " + rules.snapshot().routes.at(match->index).name
                        : rules.snapshot().rules.at(match->index).name;
}

TEST(Rules, NothingMatchesWithoutRules) {
  const Rules rules = makeRules({});
  EXPECT_EQ(matched(rules, {}), "-");
  EXPECT_EQ(matched(rules, {.source = "fd00::1", .destination = "fd00::2"}), "-");
  EXPECT_FALSE(rules.isVirtual(address("10.9.9.9")));
  EXPECT_EQ(rules.zoneOf(address("10.9.9.9")), kNoZone);
}

TEST(Rules, P8_2_PortsAndRangesAreInclusive) {
  const Rules rules =
      makeRules({makeRule("10.9.9.9", Protocol::tcp, {{443, 443}, {80, 80}}, 1, "web"),
                 makeRule("10.9.9.9", Protocol::tcp, {{8000, 8999}}, 2, "range"),
                 makeRule("10.9.9.9", Protocol::udp, {{0, 0}, {65535, 65535}}, 3, "ends")});
  const auto tcpPort = [&](std::uint16_t port) {
    return matched(rules, {.destinationPort = port});
  };
  const auto udpPort = [&](std::uint16_t port) {
    return matched(rules, {.destinationPort = port, .protocol = Protocol::udp});
  };
  EXPECT_EQ(tcpPort(80), "web");
  EXPECT_EQ(tcpPort(443), "web");
  EXPECT_EQ(tcpPort(8000), "range");
  EXPECT_EQ(tcpPort(8999), "range");
  for (const unsigned port : {0u, 79u, 81u, 442u, 444u, 7999u, 9000u, 65535u}) {
    EXPECT_EQ(tcpPort(static_cast<std::uint16_t>(port)), "-") << port;
  }
  EXPECT_EQ(udpPort(0), "ends");
  EXPECT_EQ(udpPort(65535), "ends");
  EXPECT_EQ(udpPort(80), "-");
}

TEST(Rules, P8_2_OnlyAllPortsCatchesPacketsWithoutPorts) {
  const Rules ports = makeRules({makeRule("10.9.9.9", Protocol::udp, {{0, 65535}})});
  const Rules all = makeRules({makeRule("10.9.9.9", Protocol::udp, {})});
  const Attributes later{.protocol = Protocol::udp, .fragment = Fragment::later};
  const Attributes first{.protocol = Protocol::udp, .fragment = Fragment::first};
  EXPECT_EQ(matched(ports, first), "rule");
  EXPECT_EQ(matched(ports, later), "-");
  EXPECT_EQ(matched(all, first), "rule");
  EXPECT_EQ(matched(all, later), "rule");
}

TEST(Rules, P8_3_TcpAndUdpWinOverL3Default) {
  const Rules rules = makeRules({makeRule("10.9.9.9", Protocol::none, {}, 1, "l3"),
                                 makeRule("10.9.9.9", Protocol::tcp, {{80, 80}}, 2, "tcp"),
                                 makeRule("10.9.9.9", Protocol::udp, {}, 3, "udp")});
  EXPECT_EQ(matched(rules, {.destinationPort = 80}), "tcp");
  EXPECT_EQ(matched(rules, {.destinationPort = 81}), "l3");
  EXPECT_EQ(matched(rules, {.fragment = Fragment::later}), "l3");
  EXPECT_EQ(matched(rules, {.protocol = Protocol::udp}), "udp");
  for (const Protocol protocol : {Protocol::icmp, Protocol::gre, Protocol::esp, Protocol::ah,
                                  Protocol::sctp, Protocol::icmpv6, Protocol::none}) {
    EXPECT_EQ(matched(rules, {.protocol = protocol}), "l3");
  }
}

TEST(Rules, P8_1_RulesOfOneProtocolDoNotCatchAnother) {
  const Rules rules = makeRules({makeRule("10.9.9.9", Protocol::tcp, {})});
  EXPECT_EQ(matched(rules, {.protocol = Protocol::udp}), "-");
  EXPECT_EQ(matched(rules, {.protocol = Protocol::icmp}), "-");
}

TEST(Rules, ManyAddressesAreKeptApart) {
  std::vector<SnapshotRule> list;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    list.push_back({"r" + std::to_string(i),
                    Address::ipv4(0x0a090000 + i),
                    Protocol::tcp,
                    {{80, 80}},
                    serviceId(i)});
    list.push_back({"s" + std::to_string(i),
                    Address::ipv6(0xfd00ull << 48, i << 16),
                    Protocol::tcp,
                    {{80, 80}},
                    serviceId(i)});
  }
  const Rules rules = makeRules(list);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Tuple tuple{{}, Address::ipv4(0x0a090000 + i), 1, 80, Protocol::tcp, Fragment::none};
    ASSERT_TRUE(rules.match(tuple));
    EXPECT_EQ(rules.match(tuple)->service, serviceId(i));
    EXPECT_EQ(rules.match(tuple)->index, 2 * i);
    tuple.destination = Address::ipv6(0xfd00ull << 48, i << 16);
    ASSERT_TRUE(rules.match(tuple));
    EXPECT_EQ(rules.match(tuple)->index, 2 * i + 1);
    EXPECT_TRUE(rules.isVirtual(tuple.destination));
  }
  EXPECT_FALSE(rules.isVirtual(Address::ipv4(0x0a090000 + 1000)));
}

TEST(Rules, N1_LongestPrefixThenLowestPriorityThenName) {
  const Rules rules = makeRules(
      {},
      {makeRoute("0.0.0.0/0", 1, "any", 0), makeRoute("203.0.113.0/24", 1, "low", 2000),
       makeRoute("203.0.113.0/24", 1, "high", 100), makeRoute("203.0.113.64/26", 1, "zz", 1000),
       makeRoute("203.0.113.64/26", 1, "aa", 1000), makeRoute("203.0.113.65", 1, "host", 65535)});
  const auto to = [&](std::string_view destination) {
    return matched(rules, {.destination = destination});
  };
  EXPECT_EQ(to("198.51.100.1"), "route any");
  EXPECT_EQ(to("203.0.113.1"), "route high");
  EXPECT_EQ(to("203.0.113.64"), "route aa");
  EXPECT_EQ(to("203.0.113.65"), "route host");
  EXPECT_EQ(to("203.0.114.1"), "route any");
}

TEST(Rules, N2_RoutesTakeEveryProtocolAndPort) {
  const Rules rules = makeRules({}, {makeRoute("0.0.0.0/0")});
  for (unsigned protocol = 0; protocol < 256; ++protocol) {
    EXPECT_EQ(matched(rules, {.protocol = static_cast<Protocol>(protocol)}), "route route");
  }
  EXPECT_EQ(matched(rules, {.fragment = Fragment::later}), "route route");
}

TEST(Rules, N5_FamiliesOfRoutesNeverMeet) {
  const Rules v4 = makeRules({}, {makeRoute("0.0.0.0/0")});
  const Rules v6 = makeRules({}, {makeRoute("::/0")});
  EXPECT_EQ(matched(v4, {.source = "fd00::1", .destination = "fd00::2"}), "-");
  EXPECT_EQ(matched(v6, {.source = "fd00::1", .destination = "fd00::2"}), "route route");
  EXPECT_EQ(matched(v6, {}), "-");
}

TEST(Rules, RulesComeBeforeRoutes) {
  const Rules rules = makeRules({makeRule("10.9.9.9", Protocol::tcp, {{80, 80}})},
                                {makeRoute("10.9.9.9"), makeRoute("0.0.0.0/0", 1, "any")});
  EXPECT_EQ(matched(rules, {.destinationPort = 80}), "rule");
  EXPECT_EQ(matched(rules, {.destinationPort = 81}), "route route");
  EXPECT_EQ(matched(rules, {.destination = "10.9.9.8"}), "route any");
  EXPECT_EQ(rules.findRoute(address("10.9.9.9"))->index, 0u);
}

TEST(Rules, P3_LongestClientRangeGivesTheZone) {
  RulesSnapshot snapshot;
  snapshot.zones = {"a", "b", "c"};
  snapshot.clientRanges = {{*Prefix::parse("10.0.0.0/8"), zoneIndex(0)},
                           {*Prefix::parse("10.1.0.0/16"), zoneIndex(1)},
                           {*Prefix::parse("fd00::/8"), zoneIndex(2)},
                           {*Prefix::parse("fd00::1"), zoneIndex(0)}};
  const Rules rules(snapshot);
  EXPECT_EQ(rules.zoneOf(address("10.2.0.1")), zoneIndex(0));
  EXPECT_EQ(rules.zoneOf(address("10.1.255.255")), zoneIndex(1));
  EXPECT_EQ(rules.zoneOf(address("11.0.0.1")), kNoZone);
  EXPECT_EQ(rules.zoneOf(address("fdff::1")), zoneIndex(2));
  EXPECT_EQ(rules.zoneOf(address("fd00::1")), zoneIndex(0));
  EXPECT_EQ(rules.zoneOf(address("fe80::1")), kNoZone);
}

}  // namespace
}  // namespace weir
