// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/tracking_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/tracking_flows.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::flowNumber;
using Use = TrackingTable::Use;

constexpr TrackingTableOptions kSmall{.ipv4Entries = 8, .ipv6Entries = 8, .seed = 5};

class TrackingTableTest : public ::testing::TestWithParam<Family> {
 protected:
  TrackedKey key(std::uint32_t i) const {
    return table.tracked(flowNumber(i, GetParam()), ServiceId(1));
  }
  bool insert(std::uint32_t i, Time now, bool established = true,
              std::chrono::seconds idle = 600s) {
    return table.insert(key(i), BackendSlot(static_cast<std::uint16_t>(i)), Generation(1),
                        Use{now, idle, true, established});
  }
  std::optional<TrackedEntry> peek(std::uint32_t i, Time now) {
    return table.lookup(key(i), Use{now, 600s, false});
  }

  TrackingTable table{kSmall};
};
INSTANTIATE_TEST_SUITE_P(Families, TrackingTableTest, ::testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& suite) {
                           return suite.param == Family::ipv4 ? "Ipv4" : "Ipv6";
                         });

TEST_P(TrackingTableTest, P1_2_EntrySaysWhatWasRecorded) {
  EXPECT_FALSE(peek(7, Time(1s)));
  ASSERT_TRUE(table.insert(key(7), BackendSlot(65535), Generation(0xfffffffe),
                           Use{Time(1s), 600s, true, false}));
  const auto entry = peek(7, Time(2s));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->backend, BackendSlot(65535));
  EXPECT_EQ(entry->madeIn, Generation(0xfffffffe));
  EXPECT_TRUE(entry->onlySynSeen);
  EXPECT_EQ(entry->lastUsed, Time(1s));
  EXPECT_EQ(table.size(), 1u);
}

TEST_P(TrackingTableTest, P6_1_IdleForTheTimeoutIsAMissToTheMillisecond) {
  insert(1, Time(1s));
  EXPECT_TRUE(peek(1, Time(601s - 1ms)));
  EXPECT_FALSE(peek(1, Time(601s)));
}

TEST_P(TrackingTableTest, P6_1_UseThatSomebodyElseHasSeenMovesTheTimeout) {
  insert(1, Time(100s));
  EXPECT_TRUE(table.touch(key(1), Time(500s), true));
  EXPECT_TRUE(peek(1, Time(1100s - 1ms)));
  EXPECT_FALSE(peek(1, Time(1100s)));
  EXPECT_FALSE(table.touch(key(2), Time(500s), true));
}

TEST_P(TrackingTableTest, P6_1_OldNewsOfUseChangesNothing) {
  insert(1, Time(500s));
  EXPECT_TRUE(table.touch(key(1), Time(100s), true));
  EXPECT_EQ(peek(1, Time(600s))->lastUsed, Time(500s));
}

TEST_P(TrackingTableTest, UseThatSomebodyElseHasSeenEndsTheStateOfOnlySyns) {
  insert(1, Time(1s), false);
  table.touch(key(1), Time(2s), false);
  EXPECT_TRUE(peek(1, Time(3s))->onlySynSeen);
  table.touch(key(1), Time(2s), true);
  EXPECT_FALSE(peek(1, Time(3s))->onlySynSeen);
  // It has left the wheel of those that give way first.
  for (std::uint32_t i = 2; i < 20; ++i) insert(i, Time(10s), false);
  EXPECT_TRUE(peek(1, Time(11s)));
}

TEST_P(TrackingTableTest, P6_1_UseMovesTheTimeout) {
  insert(1, Time(1s));
  EXPECT_TRUE(table.lookup(key(1), Use{Time(600s), 600s}));
  EXPECT_TRUE(peek(1, Time(1200s - 1ms)));
  EXPECT_FALSE(peek(1, Time(1200s)));
}

TEST_P(TrackingTableTest, P8_6_LookingWithoutRefreshChangesNothing) {
  insert(1, Time(1s), false);
  EXPECT_TRUE(peek(1, Time(500s))->onlySynSeen);
  EXPECT_EQ(peek(1, Time(500s))->lastUsed, Time(1s));
  EXPECT_FALSE(peek(1, Time(601s)));
  // Not even the clock: what was foreseen for later does not age what happens now.
  EXPECT_TRUE(peek(1, Time(500s)));
}

TEST_P(TrackingTableTest, P6_1_ShorterOfBothTimeoutsCounts) {
  insert(1, Time(0s), true, 60s);
  EXPECT_TRUE(peek(1, Time(59s)));
  EXPECT_FALSE(peek(1, Time(60s)));
  insert(2, Time(0s), true, 600s);
  EXPECT_TRUE(table.lookup(key(2), Use{Time(59s), 60s, false}));
  EXPECT_FALSE(table.lookup(key(2), Use{Time(60s), 60s, false}));
}

TEST_P(TrackingTableTest, P6_1_LongestTimeoutIsKept) {
  insert(1, Time(0s), true, kMaxIdleTimeout);
  const Use use{Time(kMaxIdleTimeout - 1ms), kMaxIdleTimeout, false};
  EXPECT_TRUE(table.lookup(key(1), use));
  EXPECT_FALSE(table.lookup(key(1), Use{Time(kMaxIdleTimeout), kMaxIdleTimeout, false}));
}

TEST_P(TrackingTableTest, P6_1_TimeMayWrapInSlots) {
  const Time nearWrap(std::chrono::milliseconds(0xffffffffll - 1000));
  insert(1, nearWrap);
  EXPECT_TRUE(peek(1, nearWrap + 599s));
  EXPECT_FALSE(peek(1, nearWrap + 600s));
  EXPECT_EQ(peek(1, nearWrap + 5s)->lastUsed, nearWrap);
}

TEST_P(TrackingTableTest, P6_1_TimeMayJumpByExactlyTheRangeOfASlot) {
  constexpr auto kRange = std::chrono::milliseconds(0x100000000ll);
  insert(1, Time(1s));
  // 49 days later the lower 32 bits are as if no time had passed.
  EXPECT_FALSE(peek(1, Time(1s) + kRange));
  EXPECT_FALSE(table.lookup(key(1), Use{Time(1s) + kRange, 600s}));
  insert(2, Time(2s) + kRange);
  EXPECT_FALSE(peek(1, Time(2s) + kRange));
  EXPECT_TRUE(peek(2, Time(2s) + kRange));
  EXPECT_EQ(table.size(), 1u);
}

TEST_P(TrackingTableTest, P6_1_GarbageIsCollected) {
  for (std::uint32_t i = 0; i < 8; ++i) insert(i, Time(1s * i), i % 2 == 0, 60s);
  table.lookup(key(3), Use{Time(50s), 60s});
  while (table.advance(Time(96s))) {
  }
  EXPECT_EQ(table.size(), 1u);
  EXPECT_TRUE(peek(3, Time(96s)));
  EXPECT_EQ(table.counters().expired, 7u);
  while (table.advance(Time(130s))) {
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST_P(TrackingTableTest, P1_1_InsertReplacesTheEntryOfItsKey) {
  insert(1, Time(1s));
  table.insert(key(1), BackendSlot(9), Generation(2), Use{Time(2s), 600s, true, false});
  const auto entry = peek(1, Time(3s));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->backend, BackendSlot(9));
  EXPECT_EQ(entry->madeIn, Generation(2));
  EXPECT_TRUE(entry->onlySynSeen);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.counters().replaced, 1u);
  EXPECT_EQ(table.counters().inserted, 1u);
}

TEST_P(TrackingTableTest, P6_1_InsertOverAnIdleEntryIsANewOne) {
  insert(1, Time(1s));
  insert(1, Time(700s));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.counters().inserted, 2u);
  EXPECT_EQ(table.counters().expired, 1u);
  EXPECT_EQ(table.counters().replaced, 0u);
}

TEST_P(TrackingTableTest, P5_KeysOfTwoServicesNeverMeet) {
  const FlowKey flow = flowNumber(1, GetParam());
  const TrackedKey one = table.tracked(flow, ServiceId(1));
  const TrackedKey two = table.tracked(flow, ServiceId(2));
  table.insert(one, BackendSlot(1), Generation(1), Use{Time(1s), 600s});
  EXPECT_FALSE(table.lookup(two, Use{Time(1s), 600s}));
  table.insert(two, BackendSlot(2), Generation(1), Use{Time(1s), 600s});
  EXPECT_EQ(table.lookup(one, Use{Time(1s), 600s})->backend, BackendSlot(1));
  EXPECT_EQ(table.lookup(two, Use{Time(1s), 600s})->backend, BackendSlot(2));
}

TEST_P(TrackingTableTest, P7_1_EraseRemovesOneEntry) {
  insert(1, Time(1s));
  insert(2, Time(1s));
  EXPECT_TRUE(table.erase(key(1)));
  EXPECT_FALSE(table.erase(key(1)));
  EXPECT_FALSE(peek(1, Time(1s)));
  EXPECT_TRUE(peek(2, Time(1s)));
}

TEST_P(TrackingTableTest, FullTableHoldsWhatWasConfigured) {
  for (std::uint32_t i = 0; i < 8; ++i) insert(i, Time(1s));
  EXPECT_EQ(table.size(), 8u);
  EXPECT_EQ(table.counters().evictedEstablished, 0u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(peek(i, Time(2s))) << i;
}

TEST_P(TrackingTableTest, SynFloodCannotPushOutEstablishedFlows) {
  for (std::uint32_t i = 0; i < 7; ++i) insert(i, Time(1s), true);
  for (std::uint32_t i = 100; i < 1100; ++i) ASSERT_TRUE(insert(i, Time(300s), false));
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_TRUE(peek(i, Time(300s))) << i;
  EXPECT_EQ(table.counters().evictedOnlySyn, 999u);
  EXPECT_EQ(table.counters().evictedEstablished, 0u);
  // The youngest half-open entry is the one that is left.
  EXPECT_TRUE(peek(1099, Time(300s)));
}

TEST_P(TrackingTableTest, AnsweredSynIsAnEstablishedFlow) {
  for (std::uint32_t i = 0; i < 8; ++i) insert(i, Time(1s), false);
  EXPECT_FALSE(table.lookup(key(0), Use{Time(2s), 600s})->onlySynSeen);
  for (std::uint32_t i = 100; i < 107; ++i) insert(i, Time(3s), false);
  EXPECT_TRUE(peek(0, Time(4s)));
  for (std::uint32_t i = 1; i < 8; ++i) EXPECT_FALSE(peek(i, Time(4s))) << i;
}

TEST_P(TrackingTableTest, FlowIdleLongestGivesWay) {
  for (std::uint32_t i = 0; i < 8; ++i) insert(i, Time(1s + 20s * i));
  // Number 0 is the oldest but has just been used.
  table.lookup(key(0), Use{Time(200s), 600s});
  insert(100, Time(201s));
  EXPECT_FALSE(peek(1, Time(201s)));
  insert(101, Time(201s));
  EXPECT_FALSE(peek(2, Time(201s)));
  EXPECT_TRUE(peek(0, Time(201s)));
  EXPECT_EQ(table.counters().evictedEstablished, 2u);
}

TEST_P(TrackingTableTest, GarbageGivesWayBeforeAnyLiveFlow) {
  for (std::uint32_t i = 0; i < 4; ++i) insert(i, Time(1s), true, 60s);
  for (std::uint32_t i = 4; i < 8; ++i) insert(i, Time(100s), false);
  for (std::uint32_t i = 100; i < 104; ++i) insert(i, Time(100s));
  for (std::uint32_t i = 4; i < 8; ++i) EXPECT_TRUE(peek(i, Time(101s))) << i;
  EXPECT_EQ(table.counters().expired, 4u);
  EXPECT_EQ(table.counters().evictedOnlySyn, 0u);
}

TEST_P(TrackingTableTest, VisitorSeesEveryEntryOnceAndMayEraseIt) {
  for (std::uint32_t i = 0; i < 8; ++i) insert(i, Time(1s * i), i % 2 == 0);
  std::set<std::uint16_t> seen;
  table.visit([&](const TrackingTable::Visited& visited) {
    const std::uint16_t number = visited.entry.backend.value();
    EXPECT_TRUE(seen.insert(number).second);
    EXPECT_EQ(visited.key, flowNumber(number, GetParam()));
    EXPECT_EQ(visited.service, ServiceId(1));
    EXPECT_EQ(visited.entry.lastUsed, Time(1s * number));
    EXPECT_EQ(visited.entry.onlySynSeen, number % 2 != 0);
    return number < 3;
  });
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_TRUE(peek(2, Time(8s)));
  EXPECT_FALSE(peek(3, Time(8s)));
}

TEST_P(TrackingTableTest, PrefetchingIsHarmless) {
  insert(1, Time(1s));
  for (std::uint32_t i = 0; i < 100; ++i) {
    table.prefetch(key(i));
    table.prefetchSlot(key(i));
  }
  EXPECT_TRUE(peek(1, Time(1s)));
}

TEST(TrackingTable, FamiliesDoNotShareRoom) {
  TrackingTable table({.ipv4Entries = 4, .ipv6Entries = 0, .seed = 1});
  const Use use{Time(1s), 600s};
  EXPECT_FALSE(table.insert(table.tracked(flowNumber(1, Family::ipv6), ServiceId(1)),
                            BackendSlot(1), Generation(1), use));
  EXPECT_FALSE(table.lookup(table.tracked(flowNumber(1, Family::ipv6), ServiceId(1)), use));
  EXPECT_FALSE(table.erase(table.tracked(flowNumber(1, Family::ipv6), ServiceId(1))));
  EXPECT_TRUE(
      table.insert(table.tracked(flowNumber(1), ServiceId(1)), BackendSlot(1), Generation(1), use));
  EXPECT_EQ(table.capacity(), 4u);
}

TEST(TrackingTable, LargeTableTakesTheConfiguredNumberOfFlowsWithoutEviction) {
  constexpr std::uint32_t kFlows = 1 << 18;
  TrackingTable table({.ipv4Entries = kFlows, .ipv6Entries = 0, .seed = 77});
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    table.insert(table.tracked(flowNumber(i), ServiceId(1)), BackendSlot(1), Generation(1),
                 Use{Time(1s), 600s});
  }
  EXPECT_EQ(table.size(), kFlows);
  EXPECT_EQ(table.counters().evictedEstablished, 0u);
  EXPECT_LT(static_cast<double>(table.capacity()), kFlows * 1.05);
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    ASSERT_TRUE(table.lookup(table.tracked(flowNumber(i), ServiceId(1)), Use{Time(2s), 600s}));
  }
  // And goes on when it is fuller than full.
  for (std::uint32_t i = kFlows; i < 2 * kFlows; ++i) {
    ASSERT_TRUE(table.insert(table.tracked(flowNumber(i), ServiceId(1)), BackendSlot(1),
                             Generation(1), Use{Time(3s), 600s}));
  }
  EXPECT_EQ(table.size(), table.capacity());
}

TEST(TrackingTable, AdvanceIsBoundedAndSaysWhenToComeAgain) {
  constexpr std::uint32_t kFlows = 10000;
  TrackingTable table({.ipv4Entries = kFlows, .ipv6Entries = 0, .seed = 7});
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    table.insert(table.tracked(flowNumber(i), ServiceId(1)), BackendSlot(1), Generation(1),
                 Use{Time(1s), 600s});
  }
  EXPECT_TRUE(table.advance(Time(700s)));
  EXPECT_GE(table.size(), kFlows - 64);
  while (table.advance(Time(700s))) {
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(TrackingTable, BytesPerFlowStayWithinBudget) {
  EXPECT_LE(TrackingTable::bytesPerFlow(Family::ipv4), 56u);
  EXPECT_LE(TrackingTable::bytesPerFlow(Family::ipv6), 88u);
}

}  // namespace
}  // namespace weir
