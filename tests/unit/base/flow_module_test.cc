// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/flow_module.h"

#include <gtest/gtest.h>

#include "support/packet_builder.h"
#include "unit/base/fake_flow_module.h"
#include "unit/engine/scene.h"

namespace weir {
namespace {

using test::address;

FlowModule::Key keyOf(TupleKind kind, std::string_view source, std::string_view destination) {
  FlowModule::Key of;
  of.service = ServiceId(3);
  of.key.kind = kind;
  of.key.source = address(source);
  if (kind != TupleKind::one) of.key.destination = address(destination);
  if (kind == TupleKind::three || kind == TupleKind::five) of.key.protocol = Protocol::tcp;
  if (kind == TupleKind::five) {
    of.key.sourcePort = 40000;
    of.key.destinationPort = 80;
  }
  return of;
}

class FlowModuleTest : public testing::Test {
 protected:
  test::FakeFlowModule fake_;
  FlowModule module_ = fake_.open();
};

TEST_F(FlowModuleTest, TheNodeIsSetReadAndCleared) {
  ASSERT_TRUE(module_.setNode(0xffff0000, 5000).ok());
  const auto node = module_.node();
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->version, "1.2.3");
  EXPECT_EQ(node->markMask, 0xffff0000u);
  EXPECT_EQ(node->maxFlows, 5000u);
  EXPECT_EQ(node->counters.direct, 11u);
  EXPECT_EQ(node->counters.unlearned, 1ull << 40);
  ASSERT_TRUE(module_.clearNode().ok());
  EXPECT_EQ(module_.node()->markMask, 0u);
}

TEST_F(FlowModuleTest, AServiceIsToldWithAnElementForEachRangeOfPorts) {
  FlowModule::Service service;
  service.id = ServiceId(3);
  service.epoch = Generation(7);
  service.affinity = SessionAffinity::clientIp;
  service.tracking = TrackingMode::perSession;
  service.idleTimeout = std::chrono::seconds(90);
  service.rules = {{"a", address("10.9.9.9"), Protocol::tcp, {{80, 80}, {443, 444}}, service.id},
                   {"b", address("fd09::9"), Protocol::udp, {}, service.id}};
  ASSERT_TRUE(module_.setService(service).ok());
  ASSERT_TRUE(module_.setEpoch(service.id, Generation(8)).ok());
  fake_.with([](const auto& state) {
    const auto& told = state.services.at(3);
    EXPECT_EQ(told.epoch, 8u);
    EXPECT_EQ(told.key, WEIR_KEY_TWO);
    EXPECT_EQ(told.idleTimeout, 90u);
    EXPECT_EQ(told.rules, 3u);
  });
  const auto services = module_.services();
  ASSERT_TRUE(services.ok());
  ASSERT_EQ(services->size(), 1u);
  EXPECT_EQ(services->front(), std::pair(ServiceId(3), Generation(8)));
  ASSERT_TRUE(module_.removeService(service.id).ok());
  EXPECT_TRUE(module_.services()->empty());
}

TEST_F(FlowModuleTest, MoreBackendsThanAMessageHoldsAreAllTold) {
  std::vector<SnapshotBackend> backends(1300);
  for (std::size_t i = 0; i < backends.size(); ++i) {
    backends[i].slot = BackendSlot(static_cast<std::uint16_t>(i));
    backends[i].mark = Mark(static_cast<std::uint32_t>(i + 1) << 16);
    backends[i].validFrom = {Generation(1), Generation(2), Generation(3)};
  }
  ASSERT_TRUE(module_.setBackends(ServiceId(3), backends).ok());
  fake_.with([](const auto& state) {
    const auto& told = state.services.at(3);
    ASSERT_EQ(told.marks.size(), 1300u);
    EXPECT_EQ(told.marks.at(1299), 1300u << 16);
    EXPECT_EQ(told.validFrom.at(700), (std::array<std::uint32_t, 3>{1, 2, 3}));
  });
  ASSERT_TRUE(module_.removeBackend(ServiceId(3), BackendSlot(7)).ok());
  const auto uses = module_.backends();
  ASSERT_TRUE(uses.ok());
  EXPECT_EQ(uses->size(), 1299u);
  EXPECT_EQ(uses->back().packets, 100u + 1299);
}

TEST_F(FlowModuleTest, KeysOfEveryKindAndFamilyComeBackAsTheyWere) {
  std::vector<FlowModule::Key> keys;
  for (const TupleKind kind : {TupleKind::five, TupleKind::three, TupleKind::two, TupleKind::one}) {
    keys.push_back(keyOf(kind, "10.1.0.7", "10.9.9.9"));
    keys.push_back(keyOf(kind, "fd01::7", "fd09::9"));
  }
  for (const auto& key : keys)
    fake_.learn({key, BackendSlot(2), Generation(4), std::chrono::milliseconds(1500), true});
  const auto expectAll = [&](const std::vector<FlowModule::Flow>& flows) {
    ASSERT_EQ(flows.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(flows[i].of.key, keys[i].key) << i;
      EXPECT_EQ(flows[i].of.service, keys[i].service);
      EXPECT_EQ(flows[i].backend, BackendSlot(2));
      EXPECT_EQ(flows[i].epoch, Generation(4));
      EXPECT_EQ(flows[i].idle, std::chrono::milliseconds(1500));
      EXPECT_TRUE(flows[i].onlySynSeen);
    }
  };
  const auto found = module_.find(keys);
  ASSERT_TRUE(found.ok());
  expectAll(*found);
  std::vector<FlowModule::Flow> visited;
  ASSERT_TRUE(module_.visit([&](const FlowModule::Flow& flow) { visited.push_back(flow); }).ok());
  expectAll(visited);
}

TEST_F(FlowModuleTest, MoreFlowsThanAMessageHoldsAreAllForgotten) {
  std::vector<FlowModule::Key> keys;
  for (std::uint16_t i = 0; i < 600; ++i) {
    keys.push_back(keyOf(TupleKind::five, "10.1.0.7", "10.9.9.9"));
    keys.back().key.sourcePort = i;
    fake_.learn({keys.back(), BackendSlot(1), Generation(1), {}, false});
  }
  const auto kept = keyOf(TupleKind::two, "10.1.0.8", "10.9.9.9");
  fake_.learn({kept, BackendSlot(1), Generation(1), {}, false});
  EXPECT_EQ(module_.find(keys)->size(), 600u);
  ASSERT_TRUE(module_.forget(keys).ok());
  fake_.with([](const auto& state) { EXPECT_EQ(state.flows.size(), 1u); });
}

TEST_F(FlowModuleTest, ARefusalIsAnErrorThatNamesTheReason) {
  fake_.with([](auto& state) { state.refusals[WEIR_CMD_NODE_SET] = EBUSY; });
  const Status refused = module_.setNode(0xff000000, 5000);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("Device or resource busy"), std::string::npos);
}

}  // namespace
}  // namespace weir
