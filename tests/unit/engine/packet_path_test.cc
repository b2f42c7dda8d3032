// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/packet_path.h"

#include <gtest/gtest.h>

#include "unit/engine/scene.h"
#include "unit/engine/verdict_messages.h"

namespace weir::engine {
namespace {

using test::Bytes;
using test::carryOut;
using test::Fate;
using test::kNow;
using test::webPacket;

class PacketPathTest : public testing::Test {
 protected:
  std::map<std::uint32_t, Fate> run(const World& world, const std::vector<Bytes>& packets,
                                    std::uint32_t oldMark = 0) {
    std::vector<QueuedPacket> queued;
    std::set<std::uint32_t> waiting;
    for (const Bytes& packet : packets) {
      queued.push_back({++id_, oldMark, packet.size(), packet});
      waiting.insert(id_);
    }
    verdicts_.clear();
    path_.decide(world, queued, kNow, verdicts_);
    return carryOut(waiting, test::readVerdicts(verdicts_.finish()));
  }

  TrackingTable table_{test::smallTable()};
  ThreadCounters counters_;
  PacketPath path_{table_, 0xffff0000, counters_};
  VerdictWriter verdicts_{8100, Queue::kBatch};
  std::uint32_t id_ = 0;
};

TEST_F(PacketPathTest, ForwardedPacketGetsTheMarkOfItsBackend) {
  const auto world = test::webWorld(1);
  const auto fates = run(*world, {webPacket(1, tcp_flag::syn), webPacket(1)});
  EXPECT_EQ(fates.at(1), (Fate{NF_ACCEPT, 0x10000u}));
  EXPECT_EQ(fates.at(2), (Fate{NF_ACCEPT, 0x10000u}));
  EXPECT_EQ(counters_.forwardedNew.value(), 1u);
  EXPECT_EQ(counters_.forwardedKnown.value(), 1u);
  EXPECT_EQ(counters_.service(test::kWeb).fresh.value(), 1u);
  EXPECT_EQ(counters_.service(test::kWeb).known.value(), 1u);
  EXPECT_EQ(counters_.service(test::kWeb).bytes.value(), 2 * webPacket(1).size());
  const BackendCounters* backends = counters_.backends(test::kWeb);
  ASSERT_NE(backends, nullptr);
  EXPECT_EQ(backends[0].fresh.value(), 1u);
  EXPECT_EQ(backends[0].packets.value(), 2u);
  EXPECT_EQ(backends[0].bytes.value(), 2 * webPacket(1).size());
  EXPECT_EQ(counters_.packets.value(), 2u);
  EXPECT_EQ(counters_.bytes.value(), 2 * webPacket(1).size());
}

TEST_F(PacketPathTest, ForeignBitsOfTheMarkAreKept) {
  const auto fates = run(*test::webWorld(1), {webPacket(1)}, 0x77770042);
  EXPECT_EQ(fates.at(1), (Fate{NF_ACCEPT, 0x00010042u}));
}

TEST_F(PacketPathTest, PassedPacketKeepsItsMark) {
  const Bytes other =
      test::ipv4({.source = test::address("10.1.0.7"), .destination = test::address("10.9.9.8")},
                 test::tcp({.sourcePort = 1, .destinationPort = 80}));
  const auto fates = run(*test::webWorld(1), {other}, 0x42);
  EXPECT_EQ(fates.at(1), (Fate{NF_ACCEPT, std::nullopt}));
  EXPECT_EQ(counters_.passed.value(), 1u);
}

TEST_F(PacketPathTest, P2_8_EmptySetDropsAndIsCounted) {
  const auto fates = run(*test::webWorld(0), {webPacket(1)});
  EXPECT_EQ(fates.at(1), (Fate{NF_DROP, std::nullopt}));
  EXPECT_EQ(counters_.dropped[static_cast<std::size_t>(DropReason::noEligibleBackend)].value(), 1u);
  EXPECT_EQ(counters_.service(test::kWeb).dropped.value(), 1u);
}

TEST_F(PacketPathTest, RuleWithoutItsServiceDropsAndIsCounted) {
  const auto fates = run(*test::worldOf({test::webRules()}), {webPacket(1)});
  EXPECT_EQ(fates.at(1), (Fate{NF_DROP, std::nullopt}));
  EXPECT_EQ(counters_.dropped[static_cast<std::size_t>(DropReason::unknownService)].value(), 1u);
}

TEST_F(PacketPathTest, P8_7_MalformedPacketIsDroppedAmongGoodOnes) {
  Bytes bad = webPacket(2);
  bad[0] = 0x95;  // version 9
  const auto fates = run(*test::webWorld(1), {webPacket(1), bad, webPacket(3)});
  EXPECT_EQ(fates.at(1), (Fate{NF_ACCEPT, 0x10000u}));
  EXPECT_EQ(fates.at(2), (Fate{NF_DROP, std::nullopt}));
  EXPECT_EQ(fates.at(3), (Fate{NF_ACCEPT, 0x10000u}));
  EXPECT_EQ(counters_.malformed[static_cast<std::size_t>(Malformed::badVersion)].value(), 1u);
}

TEST_F(PacketPathTest, FullBatchOfManyFlowsMatchesTheCore) {
  const auto world = test::webWorld(7);
  std::vector<Bytes> packets;
  for (std::uint16_t port = 1; port <= Queue::kBatch; ++port) packets.push_back(webPacket(port));
  const auto fates = run(*world, packets);
  TrackingTable other{test::smallTable()};
  ASSERT_EQ(fates.size(), Queue::kBatch);
  for (std::uint32_t id = 1; id <= Queue::kBatch; ++id)
    EXPECT_EQ(fates.at(id).mark, test::pass(*world, other, packets[id - 1]).mark.value());
}

// The second packet of a flow follows the first even within one batch.
TEST_F(PacketPathTest, P1_2_LaterPacketOfABatchFindsTheEntryOfAnEarlierOne) {
  run(*test::webWorld(5), {webPacket(9), webPacket(9), webPacket(9)});
  EXPECT_EQ(counters_.forwardedNew.value(), 1u);
  EXPECT_EQ(counters_.forwardedKnown.value(), 2u);
}

TEST_F(PacketPathTest, P8_6_IcmpErrorIsRelated) {
  const auto world = test::webWorld(3);
  const Bytes answer =
      test::ipv4({.source = test::address("10.9.9.9"), .destination = test::address("10.1.0.7")},
                 test::tcp({.sourcePort = 80, .destinationPort = 5}));
  const Bytes error =
      test::ipv4({.source = test::address("10.1.0.1"), .destination = test::address("10.9.9.9")},
                 test::icmp({.type = 3, .code = 4, .payload = test::quote(answer, 28)}));
  const auto fates = run(*world, {webPacket(5), error});
  EXPECT_EQ(fates.at(1), fates.at(2));
  EXPECT_EQ(counters_.forwardedRelated.value(), 1u);
  EXPECT_EQ(counters_.service(test::kWeb).related.value(), 1u);
}

}  // namespace
}  // namespace weir::engine
