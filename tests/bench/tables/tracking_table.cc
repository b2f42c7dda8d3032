// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cost of the tracking table's part in a decision. Flows are visited in random order, so that with
// many of them every lookup meets cold memory, as packets of many clients do.
#include "weir/tracking_table.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;

constexpr std::size_t kBatch = 64;

FlowKey flow(std::uint32_t i, Family family) {
  Tuple tuple;
  tuple.source = family == Family::ipv6 ? Address::ipv6(0xfd00000000000000ull, i)
                                        : Address::ipv4(0x0a000000 + (i >> 4));
  tuple.destination =
      family == Family::ipv6 ? Address::ipv6(0xfd01000000000000ull, 1) : Address::ipv4(0x0a090909);
  tuple.sourcePort = static_cast<std::uint16_t>(32768 + (i & 15));
  tuple.destinationPort = 80;
  tuple.protocol = Protocol::tcp;
  return makeKey(TupleKind::five, tuple);
}

Family familyOf(const benchmark::State& state) {
  return state.range(1) == 6 ? Family::ipv6 : Family::ipv4;
}

struct Filled {
  Filled(std::size_t room, std::size_t count, Family family, bool established)
      : table({.ipv4Entries = family == Family::ipv4 ? room : 0,
               .ipv6Entries = family == Family::ipv6 ? room : 0,
               .seed = 99}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      keys.push_back(flow(i, family));
      table.insert(table.tracked(keys.back(), ServiceId(1)), BackendSlot(7), Generation(1),
                   {Time(1s), 600s, true, established});
    }
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(3));
  }
  TrackingTable table;
  std::vector<FlowKey> keys;
};

// The key is hashed too: that is what a packet without luck costs.
void lookupOneByOne(benchmark::State& state) {
  const auto flows = static_cast<std::size_t>(state.range(0));
  Filled filled(std::max<std::size_t>(flows, 1024), flows, familyOf(state), true);
  std::size_t at = 0;
  std::int64_t now = 2000;
  for (auto _ : state) {
    const TrackedKey key = filled.table.tracked(filled.keys[at], ServiceId(1));
    benchmark::DoNotOptimize(filled.table.lookup(key, {Time(now * 1ms), 600s}));
    if (++at == flows) {
      at = 0;
      ++now;
    }
  }
}
BENCHMARK(lookupOneByOne)->ArgNames({"flows", "ip"})->ArgsProduct({{1, 65536, 1 << 20}, {4, 6}});

void lookupInBatches(benchmark::State& state) {
  const auto flows = static_cast<std::size_t>(state.range(0));
  Filled filled(std::max<std::size_t>(flows, 1024), flows, familyOf(state), true);
  std::size_t at = 0;
  TrackedKey batch[kBatch];
  while (state.KeepRunningBatch(kBatch)) {
    for (TrackedKey& key : batch) {
      key = filled.table.tracked(filled.keys[at], ServiceId(1));
      filled.table.prefetch(key);
      at = at + 1 == flows ? 0 : at + 1;
    }
    for (const TrackedKey& key : batch) filled.table.prefetchSlot(key);
    for (const TrackedKey& key : batch) {
      benchmark::DoNotOptimize(filled.table.lookup(key, {Time(2s), 600s}));
    }
  }
}
BENCHMARK(lookupInBatches)->ArgNames({"flows", "ip"})->ArgsProduct({{1, 65536, 1 << 20}, {4, 6}});

// New flows into a table that has room for them; as the engine does it, lookup first (a miss). The
// memory has been used before: a table's first million flows also pay for their pages.
void missAndInsert(benchmark::State& state) {
  const std::uint32_t flows = 1 << 20;
  const Family family = familyOf(state);
  const bool prefetched = state.range(0) != 0;
  Filled filled(flows, flows, family, false);
  Time now(1s);
  std::size_t at = flows;
  TrackedKey batch[kBatch];
  while (state.KeepRunningBatch(kBatch)) {
    if (at == flows) {
      state.PauseTiming();
      now += 1000s;
      while (filled.table.advance(now)) {
      }
      at = 0;
      state.ResumeTiming();
    }
    for (TrackedKey& key : batch) {
      key = filled.table.tracked(filled.keys[at++], ServiceId(1));
      if (prefetched) filled.table.prefetch(key);
    }
    for (const TrackedKey& key : batch) {
      const TrackingTable::Use use{now, 600s, true, false};
      benchmark::DoNotOptimize(filled.table.lookup(key, use));
      filled.table.insert(key, BackendSlot(7), Generation(1), use);
    }
  }
}
BENCHMARK(missAndInsert)->ArgNames({"prefetch", "ip"})->ArgsProduct({{0, 1}, {4, 6}});

// Every insert needs another entry to give way. `refreshed`: flows that have all been used since
// they were linked, so that eviction has to look for the right one.
void insertIntoFull(benchmark::State& state) {
  const std::uint32_t flows = 1 << 20;
  const bool established = state.range(0) != 0;
  const bool refreshed = state.range(2) != 0;
  const Family family = familyOf(state);
  Filled filled(flows, flows + flows / 8, family, established);
  if (refreshed) {
    for (const FlowKey& key : filled.keys) {
      filled.table.lookup(filled.table.tracked(key, ServiceId(1)),
                          {Time(100s), 600s, true, established});
    }
  }
  std::uint32_t next = 2 * flows;
  std::int64_t now = 101000;
  for (auto _ : state) {
    const TrackedKey key = filled.table.tracked(flow(++next, family), ServiceId(1));
    filled.table.insert(key, BackendSlot(7), Generation(1),
                        {Time(now * 1ms), 600s, true, established});
    if (next % 1000 == 0) ++now;
  }
}
BENCHMARK(insertIntoFull)
    ->ArgNames({"established", "ip", "refreshed"})
    ->ArgsProduct({{0, 1}, {4, 6}, {0, 1}});

// The first packet after the SYN moves an entry from one wheel to the other, once.
void establish(benchmark::State& state) {
  const std::uint32_t flows = 1 << 20;
  std::unique_ptr<Filled> filled;
  std::size_t at = flows;
  for (auto _ : state) {
    if (at == flows) {
      state.PauseTiming();
      filled = std::make_unique<Filled>(flows, flows, Family::ipv4, false);
      at = 0;
      state.ResumeTiming();
    }
    const TrackedKey key = filled->table.tracked(filled->keys[at++], ServiceId(1));
    benchmark::DoNotOptimize(filled->table.lookup(key, {Time(2s), 600s}));
  }
}
BENCHMARK(establish)->Iterations(1 << 20);

void advanceWhenNothingIsDue(benchmark::State& state) {
  Filled filled(1 << 20, 1 << 20, Family::ipv4, true);
  while (filled.table.advance(Time(2s))) {
  }
  for (auto _ : state) benchmark::DoNotOptimize(filled.table.advance(Time(3s)));
}
BENCHMARK(advanceWhenNothingIsDue);

// Per entry: all of them expire at once.
void advanceWhenAllIsDue(benchmark::State& state) {
  const std::uint32_t flows = 1 << 20;
  double calls = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto filled = std::make_unique<Filled>(flows, flows, Family::ipv4, true);
    state.ResumeTiming();
    while (filled->table.advance(Time(700s))) ++calls;
    state.PauseTiming();
    filled.reset();
    state.ResumeTiming();
  }
  state.counters["calls"] = calls / static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations() * flows);
}
BENCHMARK(advanceWhenAllIsDue)->Iterations(3)->Unit(benchmark::kMillisecond);

void recover(benchmark::State& state) {
  const TrackingTableOptions options{.ipv4Entries = 1 << 20, .ipv6Entries = 0, .seed = 99};
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::byte> memory(TrackingTable::slotBytes(options) + 64);
  void* start = memory.data();
  std::size_t space = memory.size();
  std::align(64, TrackingTable::slotBytes(options), start, space);
  const std::span<std::byte> slots(static_cast<std::byte*>(start),
                                   TrackingTable::slotBytes(options));
  {
    TrackingTable table(options, slots, Time(1s));
    for (std::uint32_t i = 0; i < flows; ++i) {
      table.insert(table.tracked(flow(i, Family::ipv4), ServiceId(1)), BackendSlot(7),
                   Generation(1), {Time(1s), 600s});
    }
  }
  for (auto _ : state) {
    TrackingTable table(options, slots, Time(2s));
    if (table.recovered() != flows) state.SkipWithError("flows were lost");
  }
}
BENCHMARK(recover)->ArgName("flows")->Arg(0)->Arg(1 << 20)->Unit(benchmark::kMillisecond);

}  // namespace
