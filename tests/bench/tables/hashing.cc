// SPDX-License-Identifier: GPL-2.0-or-later
//
// Cost and quality of selection: one hash, one Maglev build, and as counters how evenly a table is
// filled and how many keys a removal moves that had no reason to.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weir/affinity.h"
#include "weir/maglev.h"

namespace {

using namespace weir;

FlowKey keyNumber(std::uint32_t i, bool ipv6) {
  Tuple tuple;
  tuple.source = ipv6 ? Address::ipv6(0xfd00000000000000ull, i) : Address::ipv4(0x0a000000 + i);
  tuple.destination = ipv6 ? Address::ipv6(0xfd01000000000000ull, 1) : Address::ipv4(0x0a090909);
  tuple.sourcePort = static_cast<std::uint16_t>(i);
  tuple.destinationPort = 80;
  tuple.protocol = Protocol::tcp;
  return makeKey(TupleKind::five, tuple);
}

void hashOneKey(benchmark::State& state) {
  FlowKey key = keyNumber(1, state.range(0) == 6);
  for (auto _ : state) {
    key.sourcePort = static_cast<std::uint16_t>(hashKey(key, 1));
    benchmark::DoNotOptimize(key);
  }
}
BENCHMARK(hashOneKey)->ArgName("ip")->Arg(4)->Arg(6);

enum Weights : std::int64_t { equal, random, oneHeavy };

std::vector<MaglevBackend> someBackends(std::mt19937_64& random, std::size_t count,
                                        std::int64_t weights) {
  const std::uint64_t seed = random();
  std::vector<MaglevBackend> backends;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string identity = "10." + std::to_string(random() % 256) + "." +
                                 std::to_string(i / 256) + "." + std::to_string(i % 256);
    const auto weight =
        static_cast<std::uint32_t>(weights == Weights::equal    ? 1
                                   : weights == Weights::random ? 1 + random() % 1000
                                   : i == 0                     ? 1000
                                                                : 1);
    backends.push_back(maglevBackend(identity, weight, seed));
  }
  return backends;
}

void buildMaglev(benchmark::State& state) {
  std::mt19937_64 random(1);
  const auto backends =
      someBackends(random, static_cast<std::size_t>(state.range(0)), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(MaglevTable(backends));
}
BENCHMARK(buildMaglev)
    ->ArgNames({"backends", "weights"})
    ->ArgsProduct({{10, 100, 1000}, {Weights::equal, Weights::random, Weights::oneHeavy}})
    ->Unit(benchmark::kMillisecond);

// Per iteration: a random set, and the removal of one of its members.
void removeOneBackend(benchmark::State& state) {
  std::mt19937_64 random(2);
  std::vector<double> moved;
  double worstLoad = 0;
  for (auto _ : state) {
    auto backends = someBackends(random, static_cast<std::size_t>(state.range(0)), Weights::equal);
    const MaglevTable before(backends);
    const auto gone = static_cast<std::size_t>(random() % backends.size());
    backends.erase(backends.begin() + static_cast<std::ptrdiff_t>(gone));
    const MaglevTable after(backends);
    std::size_t count = 0;
    std::vector<std::uint32_t> load(backends.size() + 1);
    for (std::size_t i = 0; i < kMaglevSlots; ++i) {
      const std::size_t was = before.slots()[i];
      const std::size_t is = after.slots()[i] + (after.slots()[i] >= gone ? 1u : 0u);
      count += was != gone && was != is;
      ++load[was];
    }
    moved.push_back(100.0 * static_cast<double>(count) / kMaglevSlots);
    const double mean = double{kMaglevSlots} / static_cast<double>(load.size());
    worstLoad = std::max(worstLoad, *std::max_element(load.begin(), load.end()) / mean);
  }
  std::sort(moved.begin(), moved.end());
  double sum = 0;
  for (const double m : moved) sum += m;
  state.counters["moved_percent_mean"] = sum / static_cast<double>(moved.size());
  state.counters["moved_percent_p99"] = moved[moved.size() * 99 / 100];
  state.counters["moved_percent_max"] = moved.back();
  state.counters["load_max_by_mean"] = worstLoad;
}
BENCHMARK(removeOneBackend)
    ->ArgName("backends")
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Iterations(1000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
