// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/stats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

using Json = nlohmann::json;

TEST(Stats, SumsThreadsAndShowsTheKernelsCounters) {
  ThreadCounters a, b;
  a.packets.add(10);
  a.forwardedNew.add(3);
  a.malformed[static_cast<std::size_t>(Malformed::truncated)].add(2);
  b.packets.add(5);
  b.forwardedNew.add(4);
  b.dropped[static_cast<std::size_t>(DropReason::noEligibleBackend)].add(1);
  const TrackingTable table(test::smallTable());
  const auto world = test::webWorld();
  ServiceLedger ledger;
  StatsInput input;
  input.generation = Generation(42);
  input.threads = {{8100, &a}, {8101, &b}};
  input.kernel[8101] = {.owner = 1, .waiting = 2, .dropped = 3, .userDropped = 4};
  input.table = &table;
  input.world = world.get();
  input.ledger = &ledger;
  const Json stats = Json::parse(statsJson(input));

  EXPECT_EQ(stats["program"], "weir-engine");
  EXPECT_EQ(stats["generation"], 42);
  ASSERT_EQ(stats["threads"].size(), 2u);
  EXPECT_EQ(stats["threads"][0]["queue"], 8100);
  EXPECT_EQ(stats["threads"][0]["packets"], 10);
  EXPECT_EQ(stats["threads"][0]["kernel"]["bound"], false);
  EXPECT_EQ(stats["threads"][1]["kernel"],
            (Json{{"bound", true}, {"waiting", 2}, {"dropped", 3}, {"userDropped", 4}}));
  EXPECT_EQ(stats["totals"]["packets"], 15);
  EXPECT_EQ(stats["totals"]["forwarded"], (Json{{"new", 7}, {"known", 0}, {"related", 0}}));
  EXPECT_EQ(stats["totals"]["malformed"]["truncated"], 2);
  EXPECT_EQ(stats["totals"]["dropped"], (Json{{"no_eligible_backend", 1}, {"unknown_service", 0}}));
  EXPECT_EQ(stats["totals"]["malformed"].size(), kMalformedKinds - 1);
  EXPECT_EQ(stats["table"]["capacity"], table.capacity());
  EXPECT_EQ(stats["services"][0]["service"], "web");
  EXPECT_EQ(
      stats["services"][0]["backends"][1],
      (Json{
          {"group", "web-a"}, {"backend", "10.2.0.12"}, {"new", 0}, {"packets", 0}, {"bytes", 0}}));
}

TEST(Stats, BeforeTheFirstSynchronisation) {
  const Json stats = Json::parse(statsJson({}));
  EXPECT_TRUE(stats["threads"].empty());
  EXPECT_TRUE(stats["services"].empty());
  EXPECT_EQ(stats["table"], nullptr);
  EXPECT_EQ(stats["totals"]["packets"], 0);
}

TEST(ServiceLedger, CountsOverThreads) {
  ThreadCounters a, b;
  ServiceLedger ledger;
  ledger.observe(*test::webWorld(), {&a, &b});
  a.service(test::kWeb).fresh.add(2);
  b.service(test::kWeb).fresh.add(3);
  b.service(test::kWeb).dropped.add(1);
  const auto totals = ledger.of(test::kWeb, {&a, &b});
  EXPECT_EQ(totals.fresh, 5u);
  EXPECT_EQ(totals.dropped, 1u);
}

TEST(ServiceLedger, AnotherServiceOfTheSameIdStartsAtZero) {
  ThreadCounters a;
  ServiceLedger ledger;
  ledger.observe(*test::webWorld(), {&a});
  a.service(test::kWeb).known.add(7);
  ServiceSnapshot other = test::webService(1, 2);
  other.name = "other";
  ledger.observe(*test::worldOf({other}), {&a});
  EXPECT_EQ(ledger.of(test::kWeb, {&a}).known, 0u);
  a.service(test::kWeb).known.add(1);
  ledger.observe(*test::worldOf({other}), {&a});
  EXPECT_EQ(ledger.of(test::kWeb, {&a}).known, 1u);
}

TEST(ServiceLedger, ABackendOfTheSameSlotStartsAtZero) {
  ThreadCounters a, b;
  ServiceLedger ledger;
  const BackendSlot slot(1);
  ledger.observe(*test::webWorld(), {&a, &b});
  EXPECT_EQ(ledger.of(test::kWeb, slot, {&a, &b}).packets, 0u);
  a.backendsOf(a.service(test::kWeb))[1].packets.add(3);
  b.backendsOf(b.service(test::kWeb))[1].packets.add(4);
  b.backendsOf(b.service(test::kWeb))[1].bytes.add(100);
  EXPECT_EQ(ledger.of(test::kWeb, slot, {&a, &b}).packets, 7u);
  EXPECT_EQ(ledger.of(test::kWeb, slot, {&a, &b}).bytes, 100u);

  ServiceSnapshot changed = test::webService(2, 2);
  changed.backends[1].endpoint = "10.2.0.99";
  ledger.observe(*test::worldOf({changed}), {&a, &b});
  EXPECT_EQ(ledger.of(test::kWeb, slot, {&a, &b}).packets, 0u);
  a.backendsOf(a.service(test::kWeb))[1].packets.add(1);
  EXPECT_EQ(ledger.of(test::kWeb, slot, {&a, &b}).packets, 1u);
}

TEST(ThreadCounters, HaveRoomForEverySlot) {
  ThreadCounters counters;
  EXPECT_EQ(counters.backends(test::kWeb), nullptr);
  counters.backendsOf(counters.service(test::kWeb))[0xffff].fresh.add(1);
  EXPECT_EQ(counters.backends(test::kWeb)[0xffff].fresh.value(), 1u);
}

TEST(ThreadCounters, HaveRoomForEveryServiceId) {
  const ThreadCounters counters;
  counters.service(ServiceId(0)).fresh.add(1);
  counters.service(ServiceId(0xffff)).fresh.add(1);
  EXPECT_EQ(counters.service(ServiceId(0xffff)).fresh.value(), 1u);
}

}  // namespace
}  // namespace weir::engine
