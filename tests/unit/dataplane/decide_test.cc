// SPDX-License-Identifier: GPL-2.0-or-later
//
// P1, P2.8, P5, P6: new or known, and when an entry no longer counts.
#include <gtest/gtest.h>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr Attributes kSyn{.flags = tcp_flag::syn};
constexpr Attributes kAck{.flags = tcp_flag::ack};

// A data plane with one service of `backends` behind 10.9.9.9, TCP and UDP, all ports.
DataPlane planeOf(const ServiceSnapshot& service) {
  return DataPlane(
      service, {makeRule("10.9.9.9", Protocol::tcp, {}), makeRule("10.9.9.9", Protocol::udp, {})});
}

// `service` with only `slots` eligible, one generation later.
ServiceSnapshot shrunkTo(ServiceSnapshot service, const std::vector<unsigned>& slots) {
  setEligible(service, slots);
  service.generation = generation(service.generation.value() + 1);
  return service;
}

// Slots of makeService(id, 4) without the one in `decision`.
std::vector<unsigned> othersThan(const Decision& decision) {
  std::vector<unsigned> slots;
  for (unsigned i = 0; i < 4; ++i) {
    if (slot(i) != decision.backend) slots.push_back(i);
  }
  return slots;
}

void expectKnown(const Decision& decision, BackendSlot backend) {
  EXPECT_EQ(decision.action, Action::forward);
  EXPECT_EQ(decision.connection, ConnectionState::known);
  EXPECT_EQ(decision.backend, backend);
  EXPECT_EQ(decision.set, nullptr);
}
void expectNew(const Decision& decision) {
  EXPECT_EQ(decision.action, Action::forward);
  EXPECT_EQ(decision.connection, ConnectionState::fresh);
  ASSERT_NE(decision.set, nullptr);
}

TEST(Decide, PacketsWithoutARulePass) {
  DataPlane plane = planeOf(makeService(1, 4));
  const Decision decision = plane.decide(makePacket({.destination = "10.9.9.8"}));
  EXPECT_EQ(decision.action, Action::pass);
  EXPECT_EQ(decision.connection, ConnectionState::none);
  EXPECT_EQ(plane.table().size(), 0u);
}

TEST(Decide, P1_2_MissThenHit) {
  DataPlane plane = planeOf(makeService(1, 4));
  const Decision first = plane.decide(makePacket(kAck));
  expectNew(first);
  EXPECT_EQ(first.set->rule, "P2.1");
  EXPECT_EQ(first.mark, markOf(first.backend.value()));
  EXPECT_EQ(first.service->snapshot().name, "service-1");
  const Decision second = plane.decide(makePacket(kAck));
  expectKnown(second, first.backend);
  EXPECT_EQ(second.mark, first.mark);
  EXPECT_EQ(plane.table().size(), 1u);
}

TEST(Decide, P1_1_SynIsNewAndReplacesTheEntry) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kSyn));
  expectNew(first);
  plane.hear(shrunkTo(service, othersThan(first)));
  expectKnown(plane.decide(makePacket(kAck)), first.backend);
  const Decision again = plane.decide(makePacket(kSyn));
  expectNew(again);
  EXPECT_NE(again.backend, first.backend);
  expectKnown(plane.decide(makePacket(kAck)), again.backend);
  EXPECT_EQ(plane.table().size(), 1u);
}

TEST(Decide, P1_1_SynAckIsAnOrdinaryPacket) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kSyn));
  plane.hear(shrunkTo(service, othersThan(first)));
  expectKnown(plane.decide(makePacket({.flags = tcp_flag::syn | tcp_flag::ack})), first.backend);
}

TEST(Decide, P1_1_PerSessionLooksUpSynsOfCoarseAffinitiesOnly) {
  for (const auto affinity :
       {SessionAffinity::none, SessionAffinity::clientIpPortProto, SessionAffinity::clientIpProto,
        SessionAffinity::clientIp, SessionAffinity::clientIpNoDestination}) {
    ServiceSnapshot service = makeService(1, 4);
    service.affinity = affinity;
    service.tracking = TrackingMode::perSession;
    DataPlane plane = planeOf(service);
    const Decision first = plane.decide(makePacket(kSyn));
    plane.hear(shrunkTo(service, othersThan(first)));
    const Decision again = plane.decide(makePacket(kSyn));
    const bool fine =
        affinity == SessionAffinity::none || affinity == SessionAffinity::clientIpPortProto;
    EXPECT_EQ(again.connection, fine ? ConnectionState::fresh : ConnectionState::known);
    EXPECT_EQ(again.backend == first.backend, !fine);
  }
}

TEST(Decide, P1_1_PerConnectionSynIsNewWhateverTheAffinity) {
  ServiceSnapshot service = makeService(1, 4);
  service.affinity = SessionAffinity::clientIp;
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kSyn));
  const Decision again = plane.decide(makePacket(kSyn));
  expectNew(again);
  EXPECT_EQ(again.backend, first.backend);  // the same client, the same set
}

TEST(Decide, P5_PerSessionEntriesServeTheWholeSession) {
  ServiceSnapshot service = makeService(1, 4);
  service.affinity = SessionAffinity::clientIp;
  service.tracking = TrackingMode::perSession;
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket({.protocol = Protocol::udp}));
  plane.hear(shrunkTo(service, othersThan(first)));
  expectKnown(plane.decide(makePacket({.sourcePort = 1, .flags = tcp_flag::syn})), first.backend);
  expectKnown(plane.decide(makePacket({.protocol = Protocol::udp, .fragment = Fragment::later})),
              first.backend);
  expectNew(plane.decide(makePacket({.source = "10.1.0.8"})));
}

TEST(Decide, P5_KeysOfDifferentServicesNeverMeet) {
  DataPlane plane;
  ServiceSnapshot one = makeService(1, 4);
  one.affinity = SessionAffinity::clientIpNoDestination;
  one.tracking = TrackingMode::perSession;
  ServiceSnapshot two = one;
  two.id = serviceId(2);
  plane.hear(one);
  plane.hear(two);
  plane.hear(
      {makeRule("10.9.9.9", Protocol::tcp, {}, 1), makeRule("10.9.9.8", Protocol::tcp, {}, 2)});
  expectNew(plane.decide(makePacket(kAck)));
  expectNew(plane.decide(makePacket({.destination = "10.9.9.8"})));
  EXPECT_EQ(plane.table().size(), 2u);
}

TEST(Decide, P6_1_IdleEntriesAreGone) {
  DataPlane plane = planeOf(makeService(1, 4));
  expectNew(plane.decide(makePacket(kAck)));
  plane.pass(599s);
  EXPECT_EQ(plane.decide(makePacket(kAck)).connection, ConnectionState::known);
  plane.pass(599s);  // that packet refreshed it
  EXPECT_EQ(plane.decide(makePacket(kAck)).connection, ConnectionState::known);
  plane.pass(600s);
  expectNew(plane.decide(makePacket(kAck)));
}

TEST(Decide, P6_2_FinAndRstKeepTheEntry) {
  DataPlane plane = planeOf(makeService(1, 4));
  const Decision first = plane.decide(makePacket(kSyn));
  for (const std::uint8_t flags : {tcp_flag::fin, tcp_flag::rst}) {
    expectKnown(plane.decide(makePacket({.flags = flags})), first.backend);
    expectKnown(plane.decide(makePacket(kAck)), first.backend);
  }
}

TEST(Decide, P6_3_EntriesGoByProtocolClass) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Packet tcpPacket = makePacket(kAck);
  const Packet udpPacket = makePacket({.protocol = Protocol::udp});
  const Decision tcpFirst = plane.decide(tcpPacket);
  const Decision udpFirst = plane.decide(udpPacket);
  ServiceSnapshot next = service;
  next.generation = generation(2);
  for (auto& backend : next.backends) {
    backend.validFrom[static_cast<std::size_t>(ProtocolClass::udp)] = generation(2);
  }
  plane.hear(next);
  expectKnown(plane.decide(tcpPacket), tcpFirst.backend);
  const Decision udpAgain = plane.decide(udpPacket);
  expectNew(udpAgain);
  EXPECT_EQ(udpAgain.backend, udpFirst.backend);  // the set did not change
  // P6.4: the replacement, made in this generation, is an entry like any other.
  expectKnown(plane.decide(udpPacket), udpAgain.backend);
}

TEST(Decide, P6_4_TheFirstBackendsRecoveryKeepsTheReplacement) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  ServiceSnapshot sick = shrunkTo(service, othersThan(first));
  sick.backends[first.backend.value()].validFrom.fill(generation(2));
  plane.hear(sick);
  const Decision replacement = plane.decide(makePacket(kAck));
  expectNew(replacement);
  ServiceSnapshot recovered = sick;
  recovered.generation = generation(3);
  recovered.eligible = service.eligible;
  plane.hear(recovered);
  expectKnown(plane.decide(makePacket(kAck)), replacement.backend);
}

TEST(Decide, P6_6_KnownConnectionsOfAnIneligibleBackendGoOn) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  plane.hear(shrunkTo(service, othersThan(first)));
  for (int i = 0; i < 3; ++i) {
    plane.pass(500s);
    expectKnown(plane.decide(makePacket(kAck)), first.backend);
  }
}

TEST(Decide, P7_1_EntriesOfARemovedBackendAreGone) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  ServiceSnapshot without = shrunkTo(service, othersThan(first));
  std::erase_if(without.backends, [&](const auto& b) { return b.slot == first.backend; });
  plane.hear(without);
  const Decision moved = plane.decide(makePacket(kAck));
  expectNew(moved);
  EXPECT_NE(moved.backend, first.backend);
}

TEST(Decide, ASlotThatIsUsedAgainDoesNotInheritEntries) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  ServiceSnapshot reused = service;
  reused.generation = generation(5);
  SnapshotBackend& newcomer = reused.backends[first.backend.value()];
  newcomer.endpoint = "10.2.9.9";
  newcomer.validFrom.fill(generation(5));
  plane.hear(reused);
  expectNew(plane.decide(makePacket(kAck)));
}

TEST(Decide, P2_8_EmptySetDropsNewConnectionsOnly) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  ServiceSnapshot none = shrunkTo(service, {});
  none.eligible.rule = "P2.8";
  plane.hear(none);
  expectKnown(plane.decide(makePacket(kAck)), first.backend);
  for (const Attributes& fresh : {Attributes{.sourcePort = 2}, kSyn}) {
    const Decision dropped = plane.decide(makePacket(fresh));
    EXPECT_EQ(dropped.action, Action::drop);
    EXPECT_EQ(dropped.reason, DropReason::noEligibleBackend);
    EXPECT_EQ(dropped.set->rule, "P2.8");
  }
  EXPECT_EQ(plane.table().size(), 1u);
}

TEST(Decide, ARuleWithoutItsServiceDrops) {
  DataPlane plane;
  plane.hear({makeRule("10.9.9.9", Protocol::tcp, {}, 3)});
  const Decision decision = plane.decide(makePacket(kAck));
  EXPECT_EQ(decision.action, Action::drop);
  EXPECT_EQ(decision.reason, DropReason::unknownService);
  EXPECT_EQ(decision.match.service, serviceId(3));
}

TEST(Decide, P3_TheClientsZoneChoosesTheSet) {
  DataPlane plane;
  ServiceSnapshot service = makeService(1, 4);
  service.zonal = {{zoneIndex(0), EligibleSet{"P2.1", "P3.4", {{slot(3), 1}}}}};
  plane.hear(service);
  RulesSnapshot rules;
  rules.rules = {makeRule("10.9.9.9", Protocol::tcp, {})};
  rules.zones = {"zone-a"};
  rules.clientRanges = {{*Prefix::parse("10.1.0.0/24"), zoneIndex(0)}};
  plane.hear(rules);
  std::vector<bool> seen(4);
  for (std::uint16_t port = 1; port <= 100; ++port) {
    const Decision near = plane.decide(makePacket({.source = "10.1.0.7", .sourcePort = port}));
    EXPECT_EQ(near.backend, slot(3));
    EXPECT_EQ(near.set->zonalRule, "P3.4");
    seen[plane.decide(makePacket({.source = "10.1.1.7", .sourcePort = port})).backend.value()] =
        true;
  }
  EXPECT_EQ(seen, std::vector<bool>(4, true));
}

TEST(Decide, P4_1_TwoNodesChooseAlike) {
  DataPlane one = planeOf(makeService(1, 10));
  DataPlane other = planeOf(makeService(7, 10, 33));
  other.hear({makeRule("10.9.9.9", Protocol::tcp, {}, 7)});
  for (std::uint16_t port = 1; port <= 500; ++port) {
    const Packet packet = makePacket({.sourcePort = port});
    EXPECT_EQ(one.decide(packet).backend, other.decide(packet).backend);
  }
}

TEST(Decide, ForeseeChangesNothing) {
  DataPlane plane = planeOf(makeService(1, 4));
  const Decision foreseen = plane.foresee(makePacket(kSyn));
  expectNew(foreseen);
  EXPECT_EQ(plane.table().size(), 0u);
  EXPECT_EQ(plane.decide(makePacket(kSyn)).backend, foreseen.backend);
  plane.pass(400s);
  EXPECT_EQ(plane.foresee(makePacket(kAck)).connection, ConnectionState::known);
  plane.pass(200s);  // the look did not refresh it
  EXPECT_EQ(plane.foresee(makePacket(kAck)).connection, ConnectionState::fresh);
  EXPECT_EQ(plane.table().counters().inserted, 1u);
}

TEST(Decide, OnlySynSeenUntilAnotherPacketCame) {
  DataPlane plane = planeOf(makeService(1, 4));
  const auto onlySyn = [&] {
    bool result = false;
    plane.table().visit([&](const TrackingTable::Visited& visited) {
      result = visited.entry.onlySynSeen;
      return true;
    });
    return result;
  };
  plane.decide(makePacket(kSyn));
  EXPECT_TRUE(onlySyn());
  plane.decide(makePacket(kAck));
  EXPECT_FALSE(onlySyn());
}

TEST(Decide, LiveEntriesAreThoseThatWouldBeKnown) {
  const ServiceSnapshot service = makeService(1, 4);
  DataPlane plane = planeOf(service);
  const Decision first = plane.decide(makePacket(kAck));
  const auto live = [&] {
    std::size_t count = 0;
    plane.table().visit([&](const TrackingTable::Visited& visited) {
      count += isLive(plane.world(), visited, plane.now());
      return true;
    });
    return count;
  };
  EXPECT_EQ(live(), 1u);
  plane.pass(600s);
  EXPECT_EQ(live(), 0u);
  plane.decide(makePacket(kAck));
  EXPECT_EQ(live(), 1u);
  ServiceSnapshot sick = service;
  sick.backends[first.backend.value()].validFrom.fill(generation(2));
  plane.hear(sick);
  EXPECT_EQ(live(), 0u);
  plane.hear(service);
  EXPECT_EQ(live(), 1u);
  plane.hear(ServiceRemoved{serviceId(1)});
  EXPECT_EQ(live(), 0u);
}

TEST(Decide, ATableWithoutRoomStillForwards) {
  DataPlane plane(0);
  plane.hear(makeService(1, 4));
  plane.hear({makeRule("10.9.9.9", Protocol::tcp, {})});
  const Decision first = plane.decide(makePacket(kAck));
  expectNew(first);
  EXPECT_EQ(plane.decide(makePacket(kAck)).backend, first.backend);
}

TEST(Decide, LabelsAreThoseOfTheInterfaces) {
  EXPECT_EQ(toString(Action::forward), "forward");
  EXPECT_EQ(toString(Action::drop), "drop");
  EXPECT_EQ(toString(Action::pass), "pass");
  EXPECT_EQ(toString(ConnectionState::fresh), "new");
  EXPECT_EQ(toString(ConnectionState::known), "known");
  EXPECT_EQ(toString(ConnectionState::related), "related");
  EXPECT_EQ(toString(DropReason::noEligibleBackend), "no_eligible_backend");
  EXPECT_EQ(toString(DropReason::unknownService), "unknown_service");
}

}  // namespace
}  // namespace weir
