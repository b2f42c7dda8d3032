// SPDX-License-Identifier: GPL-2.0-or-later
//
// Next hop: both directions of a connection choose and find the same backend (N2, N6).
#include <gtest/gtest.h>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;

constexpr SessionAffinity kSymmetric[] = {SessionAffinity::none, SessionAffinity::clientIpPortProto,
                                          SessionAffinity::clientIpProto,
                                          SessionAffinity::clientIp};

DataPlane planeOf(SessionAffinity affinity, TrackingMode tracking) {
  ServiceSnapshot service = makeService(1, 8);
  service.affinity = affinity;
  service.tracking = tracking;
  return DataPlane(service, {}, {makeRoute("0.0.0.0/0"), makeRoute("::/0")});
}

TEST(Route, N6_TheReplyFindsTheEntry) {
  for (const auto tracking : {TrackingMode::perConnection, TrackingMode::perSession}) {
    for (const SessionAffinity affinity : kSymmetric) {
      DataPlane plane = planeOf(affinity, tracking);
      const Packet syn = makePacket({.destination = "203.0.113.5", .flags = tcp_flag::syn});
      Packet synAck = reply(syn);
      synAck.tcpFlags = tcp_flag::syn | tcp_flag::ack;
      const Decision first = plane.decide(syn);
      const Decision second = plane.decide(synAck);
      EXPECT_EQ(first.connection, ConnectionState::fresh);
      EXPECT_EQ(second.connection, ConnectionState::known);
      EXPECT_EQ(second.backend, first.backend);
      EXPECT_TRUE(first.match.byRoute);
    }
  }
}

TEST(Route, N6_TheReplyChoosesTheSameBackendWithoutAnEntry) {
  for (const SessionAffinity affinity : kSymmetric) {
    for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::gre, Protocol::icmp}) {
      // Each direction enters by a node of its own.
      DataPlane there = planeOf(affinity, TrackingMode::perConnection);
      DataPlane back = planeOf(affinity, TrackingMode::perConnection);
      for (std::uint16_t i = 1; i <= 50; ++i) {
        const std::string source = "10.1.0." + std::to_string(i);
        const Packet out = makePacket({.source = source,
                                       .destination = "203.0.113.5",
                                       .sourcePort = i,
                                       .protocol = protocol});
        EXPECT_EQ(there.decide(out).backend, back.decide(reply(out)).backend);
      }
    }
  }
}

TEST(Route, N6_Ipv6) {
  DataPlane plane = planeOf(SessionAffinity::clientIpProto, TrackingMode::perSession);
  const Packet out = makePacket({.source = "2001:db8::1", .destination = "2001:db8:5::5"});
  const Decision first = plane.decide(out);
  const Decision second = plane.decide(reply(out));
  EXPECT_EQ(second.connection, ConnectionState::known);
  EXPECT_EQ(second.backend, first.backend);
}

TEST(Route, N6_ClientIpNoDestinationIsNotSymmetric) {
  DataPlane plane = planeOf(SessionAffinity::clientIpNoDestination, TrackingMode::perSession);
  const Packet out = makePacket({.destination = "203.0.113.5"});
  plane.decide(out);
  EXPECT_EQ(plane.decide(reply(out)).connection, ConnectionState::fresh);
  EXPECT_EQ(plane.table().size(), 2u);
}

TEST(Route, PacketsToARuleAreNotSymmetric) {
  DataPlane plane;
  plane.hear(makeService(1, 8));
  plane.hear({makeRule("10.9.9.9", Protocol::tcp, {}), makeRule("10.1.0.7", Protocol::tcp, {})});
  const Packet out = makePacket({});
  EXPECT_EQ(plane.decide(out).connection, ConnectionState::fresh);
  EXPECT_EQ(plane.decide(reply(out)).connection, ConnectionState::fresh);
}

TEST(Route, N2_EveryProtocolIsForwarded) {
  DataPlane plane = planeOf(SessionAffinity::none, TrackingMode::perConnection);
  for (unsigned protocol = 0; protocol < 256; ++protocol) {
    const Packet packet =
        makePacket({.destination = "203.0.113.5", .protocol = static_cast<Protocol>(protocol)});
    EXPECT_EQ(plane.decide(packet).action, Action::forward);
    EXPECT_EQ(plane.decide(packet).connection, ConnectionState::known);
  }
}

}  // namespace
}  // namespace weir
