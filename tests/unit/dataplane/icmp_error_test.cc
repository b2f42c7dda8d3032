// SPDX-License-Identifier: GPL-2.0-or-later
//
// P8.6: ICMP errors follow the connection that they are about.
#include <gtest/gtest.h>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;
using namespace std::chrono_literals;

class IcmpError : public ::testing::Test {
 protected:
  IcmpError() {
    plane_.hear(service_);
    plane_.hear({makeRule("10.9.9.9", Protocol::tcp, {{80, 80}})});
  }

  // About a packet that a backend sent to the client of `packet`.
  static Packet errorFor(const Packet& packet) { return errorAbout(packet.tuple.reversed()); }

  ServiceSnapshot service_ = makeService(1, 4);
  DataPlane plane_;
  const Packet packet_ = makePacket({});
};

TEST_F(IcmpError, P8_6_GoesToTheBackendOfTheEntry) {
  const Decision first = plane_.decide(packet_);
  std::vector<unsigned> others;
  for (unsigned i = 0; i < 4; ++i) {
    if (slot(i) != first.backend) others.push_back(i);
  }
  setEligible(service_, others);
  service_.generation = generation(2);
  plane_.hear(service_);
  const Decision related = plane_.decide(errorFor(packet_));
  EXPECT_EQ(related.action, Action::forward);
  EXPECT_EQ(related.connection, ConnectionState::related);
  EXPECT_EQ(related.backend, first.backend);
  EXPECT_EQ(related.mark, first.mark);
  EXPECT_EQ(related.set, nullptr);
  EXPECT_EQ(plane_.table().size(), 1u);
}

TEST_F(IcmpError, P8_6_NeverRefreshesAnEntry) {
  plane_.decide(packet_);
  plane_.pass(400s);
  EXPECT_EQ(plane_.decide(errorFor(packet_)).connection, ConnectionState::related);
  plane_.pass(200s);
  EXPECT_EQ(plane_.decide(packet_).connection, ConnectionState::fresh);
}

TEST_F(IcmpError, P8_6_WithoutAnEntryGoesWhereTheConnectionWouldGo) {
  for (std::uint16_t port = 1; port <= 100; ++port) {
    const Packet packet = makePacket({.sourcePort = port});
    const Decision related = plane_.decide(errorFor(packet));
    EXPECT_EQ(related.action, Action::forward);
    EXPECT_EQ(related.connection, ConnectionState::related);
    ASSERT_NE(related.set, nullptr);
    EXPECT_EQ(plane_.table().size(), 0u);
    EXPECT_EQ(related.backend, plane_.foresee(packet).backend);
  }
}

TEST_F(IcmpError, P8_6_DropsWhenNobodyIsEligible) {
  setEligible(service_, {});
  plane_.hear(service_);
  const Decision decision = plane_.decide(errorFor(packet_));
  EXPECT_EQ(decision.action, Action::drop);
  EXPECT_EQ(decision.reason, DropReason::noEligibleBackend);
}

TEST_F(IcmpError, P8_6_AboutSomethingElseIsAnOrdinaryPacket) {
  EXPECT_EQ(plane_.decide(errorFor(makePacket({.destinationPort = 81}))).action, Action::pass);
  EXPECT_EQ(plane_.decide(errorFor(makePacket({.destination = "10.9.9.8"}))).action, Action::pass);
  // About a packet to the virtual address: not a packet of a backend.
  EXPECT_EQ(plane_.decide(errorAbout(packet_.tuple)).action, Action::pass);
  // The error's own destination counts then.
  plane_.hear({makeRule("10.9.9.9", Protocol::none, {})});
  Packet unrelated = errorFor(makePacket({.destination = "10.9.9.8"}));
  unrelated.tuple.destination = address("10.9.9.9");
  const Decision decision = plane_.decide(unrelated);
  EXPECT_EQ(decision.connection, ConnectionState::fresh);
  EXPECT_EQ(plane_.table().size(), 1u);
}

TEST_F(IcmpError, P8_6_PlainIcmpIsNotRelated) {
  plane_.decide(packet_);
  Packet echo = errorFor(packet_);
  echo.isIcmpError = false;
  EXPECT_EQ(plane_.decide(echo).action, Action::pass);
}

TEST_F(IcmpError, P8_6_ZoneIsTheClientsNotTheRouters) {
  service_.zonal = {{zoneIndex(0), EligibleSet{"P2.1", "P3.4", {{slot(2), 1}}}}};
  plane_.hear(service_);
  RulesSnapshot rules;
  rules.rules = {makeRule("10.9.9.9", Protocol::tcp, {{80, 80}})};
  rules.zones = {"zone-a"};
  rules.clientRanges = {{*Prefix::parse("10.1.0.0/16"), zoneIndex(0)}};
  plane_.hear(rules);
  EXPECT_EQ(plane_.decide(errorFor(packet_)).backend, slot(2));
}

TEST_F(IcmpError, P8_6_AboutAFragmentFollowsTheFragmentsEntry) {
  plane_.hear({makeRule("10.9.9.9", Protocol::udp, {})});
  const Packet first = makePacket({.protocol = Protocol::udp, .fragment = Fragment::first});
  const Packet later = makePacket({.protocol = Protocol::udp, .fragment = Fragment::later});
  const Decision decision = plane_.decide(first);
  EXPECT_EQ(plane_.decide(errorFor(first)).backend, decision.backend);
  const Decision related = plane_.decide(errorFor(later));
  EXPECT_EQ(related.backend, decision.backend);
  EXPECT_EQ(related.set, nullptr);
}

TEST_F(IcmpError, P8_6_UnderARouteEitherDirectionIsFound) {
  plane_.hear({}, {makeRoute("203.0.113.0/24")});
  const Packet out = makePacket({.destination = "203.0.113.5"});
  const Decision first = plane_.decide(out);
  // About the packet that the route carried: the error goes back to its source.
  const Decision aboutOut = plane_.decide(errorAbout(out.tuple));
  EXPECT_EQ(aboutOut.connection, ConnectionState::related);
  EXPECT_EQ(aboutOut.backend, first.backend);
  EXPECT_EQ(aboutOut.set, nullptr);
  // About a reply: the error goes to where the route leads.
  const Decision aboutReply = plane_.decide(errorAbout(out.tuple.reversed()));
  EXPECT_EQ(aboutReply.connection, ConnectionState::related);
  EXPECT_EQ(aboutReply.backend, first.backend);
  EXPECT_EQ(aboutReply.set, nullptr);
  EXPECT_EQ(plane_.table().size(), 1u);
}

TEST_F(IcmpError, P8_6_UnderARouteWithoutAnEntryGoesWhereTheConnectionWouldGo) {
  plane_.hear({}, {makeRoute("203.0.113.0/24")});
  for (std::uint16_t port = 1; port <= 100; ++port) {
    const Packet out = makePacket({.destination = "203.0.113.5", .sourcePort = port});
    const BackendSlot expected = plane_.foresee(out).backend;
    EXPECT_EQ(plane_.decide(errorAbout(out.tuple)).backend, expected);
    EXPECT_EQ(plane_.decide(errorAbout(out.tuple.reversed())).backend, expected);
  }
  EXPECT_EQ(plane_.table().size(), 0u);
}

TEST_F(IcmpError, P8_6_FromBytesToDecision) {
  const Decision first = plane_.decide(packet_);
  const Bytes sent =
      ipv4({.source = packet_.tuple.destination, .destination = packet_.tuple.source},
           tcp({.sourcePort = 80, .destinationPort = 40000}));
  const Bytes error = ipv4({.source = address("192.0.2.1"), .destination = address("10.9.9.9")},
                           icmp({.type = 3, .code = 4, .payload = quote(sent, 28)}));
  Packet parsed;
  ASSERT_EQ(parsePacket(error, error.size(), parsed), Malformed::none);
  const Decision related = plane_.decide(parsed);
  EXPECT_EQ(related.connection, ConnectionState::related);
  EXPECT_EQ(related.backend, first.backend);
}

}  // namespace
}  // namespace weir
