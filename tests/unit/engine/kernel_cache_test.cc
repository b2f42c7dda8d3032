// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/kernel_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/boot_time.h"
#include "unit/base/fake_flow_module.h"
#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kWeb;
using test::webRules;
using test::webService;

class KernelCacheTest : public testing::Test {
 protected:
  static TrackingTableOptions room(std::size_t entries) {
    TrackingTableOptions options;
    options.ipv4Entries = entries;
    options.ipv6Entries = 0;
    return options;
  }
  static FlowModule::Key keyOf(std::uint16_t port) {
    FlowModule::Key of;
    of.service = kWeb;
    of.key.kind = TupleKind::five;
    of.key.source = address("10.1.0.7");
    of.key.destination = address("10.9.9.9");
    of.key.protocol = Protocol::tcp;
    of.key.sourcePort = port;
    of.key.destinationPort = 80;
    return of;
  }
  static Address address(std::string_view text) { return test::address(text); }

  void start() {
    ASSERT_TRUE(cache_.start(world_, now_).ok());
    ASSERT_TRUE(cache_.isActive());
  }
  // A connection's packet went through the queue: an entry here, and the module has learned it.
  void connect(std::uint16_t port, seconds idleTimeout = seconds(600)) {
    const FlowModule::Key of = keyOf(port);
    const TrackedKey key = table_.tracked(of.key, of.service);
    ASSERT_TRUE(table_.insert(key, BackendSlot(0), Generation(1), {now_, idleTimeout}));
    fake_.learn({of, BackendSlot(0), Generation(1), milliseconds(0), false});
  }
  bool isTracked(std::uint16_t port) {
    const FlowModule::Key of = keyOf(port);
    return table_
        .lookup(table_.tracked(of.key, of.service), {now_, seconds(600), /*refresh=*/false})
        .has_value();
  }
  // The module's flows, as ports.
  std::vector<std::uint16_t> flows() {
    std::vector<std::uint16_t> ports;
    static_cast<void>(fake_.open().visit(
        [&](const FlowModule::Flow& flow) { ports.push_back(flow.of.key.sourcePort); }));
    std::ranges::sort(ports);
    return ports;
  }
  std::size_t dumps() {
    return fake_.with([](const auto& state) {
      return static_cast<std::size_t>(std::ranges::count(state.commands, WEIR_CMD_FLOW_GET));
    });
  }

  test::FakeFlowModule fake_;
  Time now_ = Time(seconds(100'000));
  TrackingTable table_{room(8)};
  std::shared_ptr<const World> world_ = test::worldOf({webService(2), webRules()});
  bool passed_ = true;
  KernelCache cache_{NodeSnapshot{}, table_, [this] { return passed_; },
                     [this]() -> Result<std::optional<FlowModule>> {
                       return std::optional<FlowModule>(fake_.open());
                     }};
};

TEST_F(KernelCacheTest, TheModuleIsToldServicesAndBackends) {
  start();
  fake_.with([](const auto& state) {
    EXPECT_EQ(state.markMask, NodeSnapshot{}.fwmarkMask);
    ASSERT_EQ(state.services.size(), 1u);
    EXPECT_EQ(state.services.at(kWeb.value()).marks.size(), 2u);
    EXPECT_EQ(state.services.at(kWeb.value()).rules, 1u);
  });
}

TEST_F(KernelCacheTest, WhatTheTableEvictsTheModuleForgets) {
  start();
  for (std::uint16_t port = 1; port <= 8; ++port) connect(port);
  now_ += seconds(2);
  cache_.tick(now_);
  EXPECT_EQ(flows().size(), 8u);
  for (std::uint16_t port = 101; port <= 103; ++port) connect(port);
  ASSERT_EQ(table_.counters().evictedEstablished, 3u);
  EXPECT_EQ(flows().size(), 11u);

  now_ += seconds(2);
  cache_.tick(now_);
  std::vector<std::uint16_t> tracked;
  for (std::uint16_t port = 1; port <= 103; ++port)
    if (isTracked(port)) tracked.push_back(port);
  EXPECT_EQ(tracked.size(), 8u);
  EXPECT_EQ(flows(), tracked);
}

TEST_F(KernelCacheTest, WithoutEvictionsTheModulesFlowsAreNotRead) {
  start();
  for (std::uint16_t port = 1; port <= 8; ++port) connect(port);
  const std::size_t before = dumps();
  for (int i = 0; i < 10; ++i) cache_.tick(now_ += seconds(2));
  EXPECT_EQ(dumps(), before);
}

TEST_F(KernelCacheTest, VerdictsUnderWayAreWaitedForBeforeTheComparison) {
  start();
  for (std::uint16_t port = 1; port <= 9; ++port) connect(port);
  passed_ = false;
  now_ += seconds(2);
  cache_.tick(now_);
  EXPECT_EQ(flows().size(), 9u);
  passed_ = true;
  now_ += seconds(2);
  cache_.tick(now_);
  EXPECT_EQ(flows().size(), 8u);
}

TEST_F(KernelCacheTest, AModuleThatRefusesIsLeftAlone) {
  start();
  for (std::uint16_t port = 1; port <= 9; ++port) connect(port);
  fake_.with([](auto& state) { state.refusals[WEIR_CMD_FLOW_DEL] = EPERM; });
  now_ += seconds(2);
  cache_.tick(now_);
  EXPECT_FALSE(cache_.isActive());
  fake_.with([](const auto& state) { EXPECT_EQ(state.markMask, 0u); });
}

TEST_F(KernelCacheTest, AnEntryThatTheModuleHasUsedIsAskedForBeforeItExpires) {
  start();
  connect(1);
  connect(2);
  // The module has answered for the second one's packets; the first was idle all the time.
  fake_.with([](auto& state) { state.flows.at(0).idleMs = 500'000; });
  now_ += seconds(500);
  cache_.tick(now_);
  now_ += seconds(150);
  EXPECT_FALSE(isTracked(1));
  EXPECT_TRUE(isTracked(2));
}

TEST_F(KernelCacheTest, AFlushReachesTheModule) {
  start();
  connect(1);
  connect(2);
  std::vector<TrackingTable::Visited> flushed;
  table_.visit([&](const TrackingTable::Visited& flow) {
    if (flow.key.sourcePort != 1) return true;
    flushed.push_back(flow);
    return false;
  });
  cache_.forget(flushed);
  EXPECT_EQ(flows(), std::vector<std::uint16_t>{2});
}

TEST_F(KernelCacheTest, AnEarlierEnginesFlowsBecomeEntries) {
  ASSERT_TRUE(fake_.open().setNode(NodeSnapshot{}.fwmarkMask, 8).ok());
  FlowModule::Service service;
  service.id = kWeb;
  service.epoch = Generation(1);
  ASSERT_TRUE(fake_.open().setService(service).ok());
  fake_.learn({keyOf(5), BackendSlot(1), Generation(1), milliseconds(100), false});
  start();
  EXPECT_TRUE(isTracked(5));
  EXPECT_EQ(flows(), std::vector<std::uint16_t>{5});
}

TEST_F(KernelCacheTest, TheEpochRisesOnlyWhenNoThreadWorksWithAnOlderWorld) {
  start();
  passed_ = false;
  const auto next = test::worldOf({webService(2, 9), webRules()});
  cache_.beforePublishing(next, now_);
  cache_.afterPublishing();
  const auto epoch = [&] {
    return fake_.with([](const auto& state) { return state.services.at(kWeb.value()).epoch; });
  };
  EXPECT_EQ(epoch(), 1u);
  passed_ = true;
  now_ += seconds(2);
  cache_.tick(now_);
  EXPECT_EQ(epoch(), 9u);
}

}  // namespace
}  // namespace weir::engine
