// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;

TEST(World, AMessageLeavesTheOldWorldAsItWas) {
  DataPlane plane;
  plane.hear(makeService(1, 2));
  const auto before = plane.shared();
  const Service* service = before->service(serviceId(1));
  plane.hear(makeService(1, 3, 2));
  plane.hear({makeRule("10.9.9.9", Protocol::tcp, {})});
  EXPECT_EQ(before->service(serviceId(1)), service);
  EXPECT_EQ(service->snapshot().backends.size(), 2u);
  EXPECT_FALSE(before->rules().isVirtual(address("10.9.9.9")));
  EXPECT_EQ(plane.world().service(serviceId(1))->snapshot().backends.size(), 3u);
  EXPECT_TRUE(plane.world().rules().isVirtual(address("10.9.9.9")));
}

TEST(World, UnchangedPartsAreShared) {
  DataPlane plane;
  plane.hear(makeService(1, 2));
  plane.hear(makeService(2, 2));
  plane.hear({makeRule("10.9.9.9", Protocol::tcp, {})});
  const auto before = plane.shared();
  plane.hear(makeService(2, 3, 2));
  EXPECT_EQ(plane.world().service(serviceId(1)), before->service(serviceId(1)));
  EXPECT_EQ(&plane.world().rules(), &before->rules());
  plane.hear({makeRule("10.9.9.8", Protocol::tcp, {})});
  EXPECT_EQ(plane.world().service(serviceId(1)), before->service(serviceId(1)));
}

TEST(World, UnknownServicesAreNull) {
  DataPlane plane;
  plane.hear(makeService(5, 1));
  EXPECT_EQ(plane.world().service(serviceId(0)), nullptr);
  EXPECT_EQ(plane.world().service(serviceId(65535)), nullptr);
  plane.hear(ServiceRemoved{serviceId(65535)});
  plane.hear(ServiceRemoved{serviceId(2)});
  EXPECT_NE(plane.world().service(serviceId(5)), nullptr);
  plane.hear(ServiceRemoved{serviceId(5)});
  EXPECT_EQ(plane.world().service(serviceId(5)), nullptr);
}

TEST(World, AFullSyncForgetsWhatItDoesNotName) {
  DataPlane plane;
  for (const unsigned id : {1u, 2u, 3u, 9u}) plane.hear(makeService(id, 1));
  plane.hear(SyncBegin{});
  plane.hear(makeService(2, 2, 2));
  plane.hear(makeService(3, 2, 2));
  plane.hear(ServiceRemoved{serviceId(3)});
  // Until its end everything that was there goes on.
  EXPECT_NE(plane.world().service(serviceId(1)), nullptr);
  plane.hear(SyncEnd{});
  EXPECT_EQ(plane.world().service(serviceId(1)), nullptr);
  EXPECT_NE(plane.world().service(serviceId(2)), nullptr);
  EXPECT_EQ(plane.world().service(serviceId(3)), nullptr);
  EXPECT_EQ(plane.world().service(serviceId(9)), nullptr);
}

TEST(World, AnInterruptedSyncStartsOver) {
  DataPlane plane;
  plane.hear(makeService(1, 1));
  plane.hear(SyncBegin{});
  plane.hear(makeService(1, 1));
  plane.hear(SyncBegin{});
  plane.hear(makeService(2, 1));
  plane.hear(SyncEnd{});
  EXPECT_EQ(plane.world().service(serviceId(1)), nullptr);
  EXPECT_NE(plane.world().service(serviceId(2)), nullptr);
}

TEST(World, AnEndWithoutABeginHasNoEffect) {
  DataPlane plane;
  plane.hear(makeService(1, 1));
  plane.hear(SyncEnd{});
  plane.hear(NodeSnapshot{});
  EXPECT_NE(plane.world().service(serviceId(1)), nullptr);
}

TEST(World, P4_1_ASeedThatComesAfterTheServicesCounts) {
  RulesSnapshot rules;
  rules.hashSeed = 99;
  DataPlane before;
  before.hear(rules);
  before.hear(makeService(1, 10));
  DataPlane after;
  after.hear(makeService(1, 10));
  after.hear(rules);
  const auto table = [](const DataPlane& plane) {
    return plane.world().service(serviceId(1))->choiceFor(kNoZone).table.slots();
  };
  EXPECT_TRUE(std::ranges::equal(table(before), table(after)));
}

}  // namespace
}  // namespace weir
