// SPDX-License-Identifier: GPL-2.0-or-later
//
// All operations at once from several threads, on a table that is too small for its flows. Run with
// -DSANITIZE=thread this finds data races; without, lost or mixed-up entries.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "support/tracking_flows.h"
#include "weir/tracking_table.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::flowNumber;
using Use = TrackingTable::Use;

TEST(TrackingConcurrency, P1_3_AllOperationsAtOnce) {
  constexpr std::uint32_t kFlows = 3000;
  TrackingTable table({.ipv4Entries = 1000, .ipv6Entries = 40000, .seed = 3});
  std::atomic<std::int64_t> clock{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};

  const auto work = [&](unsigned threadNumber) {
    std::mt19937 random(threadNumber);
    for (int step = 0; step < 40000; ++step) {
      const auto i = static_cast<std::uint32_t>(random() % kFlows);
      const Family family = random() % 2 == 0 ? Family::ipv4 : Family::ipv6;
      const TrackedKey key = table.tracked(flowNumber(i, family), ServiceId(1));
      const Time now(clock.fetch_add(random() % 50 == 0 ? 1000 : 1) * 1ms);
      table.prefetch(key);
      table.prefetchSlot(key);
      const auto entry = table.lookup(key, Use{now, 60s, true, random() % 2 == 0});
      if (entry && entry->backend.value() != i) ++wrong;
      if (!entry) {
        table.insert(key, BackendSlot(static_cast<std::uint16_t>(i)), Generation(i),
                     Use{now, 60s, true, false});
      }
      if (random() % 64 == 0) table.erase(key);
    }
  };
  std::thread keeper([&] {
    while (!stop) {
      while (table.advance(Time(clock.load() * 1ms)) && !stop) {
      }
      table.visit([&](const TrackingTable::Visited& visited) {
        if (visited.entry.madeIn.value() != visited.entry.backend.value()) ++wrong;
        return visited.entry.backend.value() % 97 != 0;
      });
      if (table.size() > table.capacity()) ++wrong;
    }
  });
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < 3; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
  stop = true;
  keeper.join();

  EXPECT_EQ(wrong, 0u);
  std::size_t visited = 0;
  table.visit([&](const TrackingTable::Visited&) {
    ++visited;
    return true;
  });
  EXPECT_EQ(visited, table.size());
}

}  // namespace
}  // namespace weir
