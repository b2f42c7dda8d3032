// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "core/tracking_slot.h"
#include "support/tracking_flows.h"
#include "weir/tracking_table.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::flowNumber;
using testing::SlotMemory;
using Use = TrackingTable::Use;

constexpr TrackingTableOptions kOptions{.ipv4Entries = 64, .ipv6Entries = 64, .seed = 5};

void fill(TrackingTable& table, std::uint32_t flows, Time now) {
  for (std::uint32_t i = 0; i < flows; ++i) {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
      table.insert(table.tracked(flowNumber(i, family), ServiceId(3)),
                   BackendSlot(static_cast<std::uint16_t>(i)), Generation(i + 1),
                   Use{now, 600s, true, i % 2 == 0});
    }
  }
}

std::size_t found(TrackingTable& table, std::uint32_t flows, Time now) {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < flows; ++i) {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
      const auto entry =
          table.lookup(table.tracked(flowNumber(i, family), ServiceId(3)), Use{now, 600s, false});
      if (!entry) continue;
      ++count;
      EXPECT_EQ(entry->backend, BackendSlot(static_cast<std::uint16_t>(i)));
      EXPECT_EQ(entry->madeIn, Generation(i + 1));
      EXPECT_EQ(entry->onlySynSeen, i % 2 != 0);
    }
  }
  return count;
}

TEST(TrackingRecovery, SuccessorFindsEveryFlow) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 50, Time(10s));
  }
  TrackingTable successor(kOptions, memory.span(), Time(20s));
  EXPECT_EQ(successor.recovered(), 100u);
  EXPECT_EQ(successor.size(), 100u);
  EXPECT_EQ(found(successor, 50, Time(20s)), 100u);
  // Idle time goes on where it was.
  EXPECT_EQ(found(successor, 50, Time(610s - 1ms)), 100u);
  EXPECT_EQ(found(successor, 50, Time(610s)), 0u);
}

TEST(TrackingRecovery, IdleFlowsAreNotTakenOver) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 50, Time(10s));
  }
  TrackingTable successor(kOptions, memory.span(), Time(610s));
  EXPECT_EQ(successor.recovered(), 0u);
  fill(successor, 64, Time(620s));
  EXPECT_EQ(found(successor, 64, Time(620s)), 128u);
}

TEST(TrackingRecovery, ErasedFlowsStayErased) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 50, Time(10s));
    table.visit([](const TrackingTable::Visited& v) { return v.entry.backend.value() >= 40; });
  }
  TrackingTable successor(kOptions, memory.span(), Time(20s));
  EXPECT_EQ(successor.recovered(), 20u);
  EXPECT_EQ(found(successor, 50, Time(20s)), 20u);
}

TEST(TrackingRecovery, FreedSlotsAreUsedAgain) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 64, Time(10s));
    table.visit([](const TrackingTable::Visited& v) { return v.entry.backend.value() % 2 == 0; });
  }
  TrackingTable successor(kOptions, memory.span(), Time(20s));
  fill(successor, 64, Time(20s));
  EXPECT_EQ(successor.size(), 128u);
  EXPECT_EQ(successor.counters().evictedEstablished + successor.counters().evictedOnlySyn, 0u);
  EXPECT_EQ(found(successor, 64, Time(20s)), 128u);
}

TEST(TrackingRecovery, SlotsOfAnotherSeedAreForeign) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 50, Time(10s));
  }
  TrackingTableOptions other = kOptions;
  other.seed = 6;
  EXPECT_EQ(TrackingTable(other, memory.span(), Time(20s)).recovered(), 0u);
}

TEST(TrackingRecovery, SameFlowTwiceIsKeptOnce) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    table.insert(table.tracked(flowNumber(1), ServiceId(3)), BackendSlot(1), Generation(2),
                 Use{Time(10s), 600s});
  }
  const auto bytes = memory.span();
  std::memcpy(bytes.data() + sizeof(Slot<1>) * 5, bytes.data(), sizeof(Slot<1>));
  TrackingTable successor(kOptions, memory.span(), Time(20s));
  EXPECT_EQ(successor.recovered(), 1u);
  EXPECT_EQ(successor.size(), 1u);
  const TrackedKey key = successor.tracked(flowNumber(1), ServiceId(3));
  EXPECT_TRUE(successor.erase(key));
  EXPECT_FALSE(successor.lookup(key, Use{Time(20s), 600s}));
}

TEST(TrackingRecovery, UseInTheFutureIsNotBelieved) {
  const SlotMemory memory(kOptions);
  {
    TrackingTable table(kOptions, memory.span(), Time(1s));
    fill(table, 50, Time(1000s));
  }
  EXPECT_EQ(TrackingTable(kOptions, memory.span(), Time(20s)).recovered(), 0u);
}

TEST(TrackingRecovery, GarbageIsAnEmptyTable) {
  const SlotMemory memory(kOptions);
  for (int value : {1, 0x55, 0xff}) {
    std::memset(memory.span().data(), value, memory.span().size());
    TrackingTable table(kOptions, memory.span(), Time(20s));
    EXPECT_EQ(table.recovered(), 0u) << value;
    fill(table, 64, Time(20s));
    EXPECT_EQ(found(table, 64, Time(20s)), 128u) << value;
  }
}

// A crash leaves a prefix of the writes done. The words of a slot in the order in which a new
// entry is written: key, target, use; whatever prefix is there, there is no entry but a whole one.
TEST(TrackingRecovery, HalfWrittenEntryIsNone) {
  const SlotMemory whole(kOptions);
  {
    TrackingTable table(kOptions, whole.span(), Time(1s));
    table.insert(table.tracked(flowNumber(1), ServiceId(3)), BackendSlot(1), Generation(2),
                 Use{Time(10s), 600s});
  }
  for (std::size_t words = 0; words <= 4; ++words) {
    const SlotMemory memory(kOptions);
    std::memcpy(memory.span().data(), whole.span().data(), words * 8);
    EXPECT_EQ(TrackingTable(kOptions, memory.span(), Time(20s)).recovered(), words == 4 ? 1u : 0u);
  }
}

TEST(TrackingRecovery, EverySingleDamagedByteIsNoticed) {
  const SlotMemory whole(kOptions);
  {
    TrackingTable table(kOptions, whole.span(), Time(1s));
    fill(table, 1, Time(10s));
  }
  const std::size_t ipv6 = TrackingTable::slotBytes({.ipv4Entries = 64, .ipv6Entries = 0});
  const SlotMemory memory(kOptions);
  // The last word of an IPv6 slot holds nothing.
  for (std::size_t at = 0; at < ipv6 + 56; at = at + 1 == sizeof(Slot<1>) ? ipv6 : at + 1) {
    for (int change = 1; change < 256; ++change) {
      std::copy(whole.span().begin(), whole.span().end(), memory.span().begin());
      memory.span()[at] ^= static_cast<std::byte>(change);
      TrackingTable table(kOptions, memory.span(), Time(20s));
      ASSERT_EQ(table.recovered(), 1u) << "byte " << at << " change " << change;
    }
  }
}

}  // namespace
}  // namespace weir
