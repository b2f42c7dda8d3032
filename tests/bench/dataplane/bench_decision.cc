// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a packet costs from its bytes to its decision: parse, rule, table or selection, entry. One
// thread, batches of 64 as the engine reads them: all are parsed, then prepared, then decided.
// Items are packets; the time of one item is the figure. The service has 100 backends and a 5-tuple
// key, among 16 virtual addresses.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "support/packet_builder.h"
#include "weir/data_plane.h"

namespace weir {
namespace {

using namespace test;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kPacketBytes = 64;  // room of one packet in a buffer
constexpr unsigned kBackends = 100;
constexpr unsigned kVirtualAddresses = 16;
constexpr std::uint32_t kFirstVip = 0x0a090900;

std::shared_ptr<const World> makeWorld() {
  ServiceSnapshot service;
  service.id = ServiceId(1);
  service.generation = Generation(1);
  for (std::uint16_t i = 0; i < kBackends; ++i) {
    service.backends.push_back({BackendSlot(i),
                                Mark((i + 1u) << 16),
                                {},
                                "group",
                                Address::ipv4(0x0a020000u + i).toString()});
    service.eligible.members.push_back({BackendSlot(i), 1});
  }
  RulesSnapshot rules;
  for (std::uint32_t i = 0; i < kVirtualAddresses; ++i) {
    rules.rules.push_back({"rule",
                           Address::ipv4(kFirstVip + i),
                           Protocol::tcp,
                           {{80, 80}, {443, 443}},
                           ServiceId(1)});
  }
  return World().after(service)->after(rules);
}

// Packets of many flows in one buffer, as if they had just been received. A flow's number is in
// its source address and port.
class Traffic {
 public:
  explicit Traffic(std::uint8_t flags) {
    const Bytes model =
        ipv4({.source = Address::ipv4(0x0a000000), .destination = Address::ipv4(kFirstVip)},
             tcp({.sourcePort = 1, .destinationPort = 443, .flags = flags}));
    for (auto& slot : buffers_) std::copy(model.begin(), model.end(), slot.begin());
    size_ = model.size();
  }
  void set(std::size_t index, std::uint64_t flow) noexcept {
    std::uint8_t* packet = buffers_[index].data();
    const auto host = static_cast<std::uint32_t>(flow >> 12);
    store(packet + 12, __builtin_bswap32(0x0b000000u + host));
    packet[19] = static_cast<std::uint8_t>(flow % kVirtualAddresses);
    store(packet + 20, __builtin_bswap16(static_cast<std::uint16_t>(1024 + (flow & 0xfff))));
  }
  std::span<const std::uint8_t> packet(std::size_t index) const noexcept {
    return {buffers_[index].data(), size_};
  }

 private:
  template <class Word>
  static void store(std::uint8_t* at, Word word) noexcept {
    std::memcpy(at, &word, sizeof word);
  }
  std::array<std::array<std::uint8_t, kPacketBytes>, kBatch> buffers_{};
  std::size_t size_ = 0;
};

// Flow numbers in an order that no cache foresees.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t flows) : flows_(flows) {}
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return ((state_ >> 32) * flows_) >> 32;
  }

 private:
  std::uint64_t flows_;
  std::uint64_t state_ = 88172645463325252ull;
};

class Engine {
 public:
  explicit Engine(std::size_t entries)
      : table_({.ipv4Entries = entries, .ipv6Entries = 1024, .seed = 1}) {}

  void run(const Traffic& traffic) noexcept {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const auto bytes = traffic.packet(i);
      benchmark::DoNotOptimize(parsePacket(bytes, bytes.size(), prepared_[i].packet));
    }
    for (Prepared& prepared : prepared_) prepare(*world_, table_, prepared);
    for (const Prepared& prepared : prepared_) table_.prefetchSlot(prepared.key);
    for (std::size_t i = 0; i < kBatch; ++i) {
      Decision decision = decide(*world_, table_, prepared_[i], now_);
      benchmark::DoNotOptimize(decision);
    }
  }
  void flush() {
    table_.visit([](const TrackingTable::Visited&) { return false; });
  }
  void fill(std::uint64_t flows) {
    Traffic traffic(tcp_flag::ack);
    for (std::uint64_t flow = 0; flow < flows; flow += kBatch) {
      for (std::size_t i = 0; i < kBatch; ++i) traffic.set(i, flow + i);
      run(traffic);
    }
  }

 private:
  std::shared_ptr<const World> world_ = makeWorld();
  TrackingTable table_;
  std::array<Prepared, kBatch> prepared_;
  Time now_{std::chrono::hours(1)};
};

void report(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  state.counters["per_packet"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBatch,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The loop's own cost: packets are written, nothing is decided.
void writingPackets(benchmark::State& state) {
  Traffic traffic(tcp_flag::ack);
  Shuffle shuffle(1u << 20);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBatch; ++i) traffic.set(i, shuffle.next());
    benchmark::ClobberMemory();
  }
  report(state);
}
BENCHMARK(writingPackets);

void known(benchmark::State& state) {
  const auto flows = static_cast<std::uint64_t>(state.range(0));
  Engine engine(2u << 20);
  engine.fill(flows);
  Traffic traffic(tcp_flag::ack);
  Shuffle shuffle(flows);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBatch; ++i) traffic.set(i, shuffle.next());
    engine.run(traffic);
  }
  report(state);
}
BENCHMARK(known)->Arg(1)->Arg(1 << 16)->Arg(1 << 20);

// Connections that were never seen before, into a table with room, whose memory has been used
// before: a page that is touched for the first time costs the kernel's time, once.
void fresh(benchmark::State& state) {
  constexpr std::uint64_t kRoom = 1u << 20;
  Engine engine(2 * kRoom);
  engine.fill(2 * kRoom);
  engine.flush();
  Traffic traffic(tcp_flag::syn);
  std::uint64_t flow = 0;
  for (auto _ : state) {
    if (flow == kRoom) {
      state.PauseTiming();
      engine.flush();
      flow = 0;
      state.ResumeTiming();
    }
    for (std::size_t i = 0; i < kBatch; ++i) traffic.set(i, flow++);
    engine.run(traffic);
  }
  report(state);
}
BENCHMARK(fresh);

// The same into a full table: each new connection takes the place of an old one.
void freshIntoFullTable(benchmark::State& state) {
  constexpr std::uint64_t kEntries = 1u << 20;
  Engine engine(kEntries);
  engine.fill(kEntries + kEntries / 4);
  Traffic traffic(tcp_flag::syn);
  std::uint64_t flow = 2 * kEntries;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBatch; ++i) traffic.set(i, flow++);
    engine.run(traffic);
  }
  report(state);
}
BENCHMARK(freshIntoFullTable);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
