// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/affinity.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Tuple packet(Protocol protocol, Fragment fragment = Fragment::none) {
  Tuple tuple;
  tuple.source = Address::ipv4(0x0a010007);
  tuple.destination = Address::ipv4(0x0a090909);
  tuple.protocol = protocol;
  tuple.fragment = fragment;
  if (tuple.hasPorts()) {
    tuple.sourcePort = 40000;
    tuple.destinationPort = 80;
  }
  return tuple;
}

constexpr SessionAffinity kAll[] = {SessionAffinity::none, SessionAffinity::clientIpPortProto,
                                    SessionAffinity::clientIpProto, SessionAffinity::clientIp,
                                    SessionAffinity::clientIpNoDestination};

TEST(Affinity, P4_PacketsWithPortsHashByTheAffinitysTuple) {
  constexpr TupleKind kExpected[] = {TupleKind::five, TupleKind::five, TupleKind::three,
                                     TupleKind::two, TupleKind::one};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(selectionTuple(kAll[i], packet(Protocol::tcp)), kExpected[i]) << i;
    EXPECT_EQ(selectionTuple(kAll[i], packet(Protocol::udp)), kExpected[i]) << i;
  }
}

TEST(Affinity, P4_FragmentsAndOtherProtocolsHaveAtMostThreeAttributes) {
  constexpr TupleKind kExpected[] = {TupleKind::three, TupleKind::three, TupleKind::three,
                                     TupleKind::two, TupleKind::one};
  for (std::size_t i = 0; i < 5; ++i) {
    for (const Tuple& tuple :
         {packet(Protocol::udp, Fragment::first), packet(Protocol::udp, Fragment::later),
          packet(Protocol::tcp, Fragment::first), packet(Protocol::tcp, Fragment::later),
          packet(Protocol::icmp), packet(Protocol::sctp), packet(Protocol::esp)}) {
      EXPECT_EQ(selectionTuple(kAll[i], tuple), kExpected[i]) << i;
    }
  }
}

TEST(Affinity, P5_PerConnectionTracksFiveTuplesWhateverTheAffinity) {
  for (const SessionAffinity affinity : kAll) {
    EXPECT_EQ(trackingTuple(TrackingMode::perConnection, affinity, packet(Protocol::tcp)),
              TupleKind::five);
    EXPECT_EQ(trackingTuple(TrackingMode::perConnection, affinity,
                            packet(Protocol::udp, Fragment::later)),
              TupleKind::three);
    EXPECT_EQ(trackingTuple(TrackingMode::perConnection, affinity, packet(Protocol::gre)),
              TupleKind::three);
  }
}

TEST(Affinity, P5_PerSessionTracksWhatSelectionHashes) {
  for (const SessionAffinity affinity : kAll) {
    for (const Tuple& tuple :
         {packet(Protocol::tcp), packet(Protocol::udp, Fragment::first), packet(Protocol::icmp)}) {
      EXPECT_EQ(trackingTuple(TrackingMode::perSession, affinity, tuple),
                selectionTuple(affinity, tuple));
    }
  }
}

TEST(Affinity, P1_1_SynIsAlwaysNewUnlessASessionIsCoarserThanAConnection) {
  for (const SessionAffinity affinity : kAll) {
    EXPECT_TRUE(synIsAlwaysNew(TrackingMode::perConnection, affinity));
  }
  constexpr bool kExpected[] = {true, true, false, false, false};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(synIsAlwaysNew(TrackingMode::perSession, kAll[i]), kExpected[i]) << i;
  }
}

TEST(Affinity, P4_KeyKeepsOnlyWhatCounts) {
  const Tuple tuple = packet(Protocol::tcp);
  const FlowKey five = makeKey(TupleKind::five, tuple);
  EXPECT_EQ(five.sourcePort, 40000);
  EXPECT_EQ(five.destinationPort, 80);
  EXPECT_EQ(five.protocol, Protocol::tcp);

  const FlowKey three = makeKey(TupleKind::three, tuple);
  EXPECT_EQ(three.sourcePort, 0);
  EXPECT_EQ(three.protocol, Protocol::tcp);
  EXPECT_EQ(three.destination, tuple.destination);

  const FlowKey two = makeKey(TupleKind::two, tuple);
  EXPECT_EQ(two.protocol, Protocol::none);
  EXPECT_EQ(two.destination, tuple.destination);

  const FlowKey one = makeKey(TupleKind::one, tuple);
  EXPECT_EQ(one.destination, Address());
  EXPECT_EQ(one.source, tuple.source);
}

TEST(Affinity, P4_FirstAndLaterFragmentShareTheirKey) {
  const Tuple first = packet(Protocol::udp, Fragment::first);
  const Tuple later = packet(Protocol::udp, Fragment::later);
  ASSERT_NE(first.sourcePort, later.sourcePort);
  for (const SessionAffinity affinity : kAll) {
    EXPECT_EQ(makeKey(selectionTuple(affinity, first), first),
              makeKey(selectionTuple(affinity, later), later));
  }
}

TEST(Affinity, N6_OneTupleKeysAreNotMadeSymmetric) {
  const Tuple tuple = packet(Protocol::tcp);
  EXPECT_NE(makeSymmetricKey(TupleKind::one, tuple),
            makeSymmetricKey(TupleKind::one, tuple.reversed()));
}

TEST(Affinity, C1_NamesAreThoseOfTheConfiguration) {
  EXPECT_EQ(toString(SessionAffinity::none), "NONE");
  EXPECT_EQ(toString(SessionAffinity::clientIpPortProto), "CLIENT_IP_PORT_PROTO");
  EXPECT_EQ(toString(SessionAffinity::clientIpProto), "CLIENT_IP_PROTO");
  EXPECT_EQ(toString(SessionAffinity::clientIp), "CLIENT_IP");
  EXPECT_EQ(toString(SessionAffinity::clientIpNoDestination), "CLIENT_IP_NO_DESTINATION");
  EXPECT_EQ(toString(TrackingMode::perConnection), "PER_CONNECTION");
  EXPECT_EQ(toString(TrackingMode::perSession), "PER_SESSION");
  EXPECT_EQ(toString(TupleKind::three), "3-tuple");
}

}  // namespace
}  // namespace weir
