// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/snapshot_intake.h"

#include <gtest/gtest.h>

#include "unit/engine/scene.h"
#include "weir/data_plane.h"

namespace weir::engine {
namespace {

using test::webRules;
using test::webService;

class SnapshotIntakeTest : public testing::Test {
 protected:
  using Intake = SnapshotIntake<World>;
  Intake::Taken take(const std::vector<SnapshotMessage>& messages,
                     const std::vector<std::size_t>& damaged = {}) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const auto& message : messages) bytes.push_back(encode(message));
    for (const std::size_t i : damaged) bytes.at(i)[0] ^= 0x40;  // another version
    std::vector<std::span<const std::uint8_t>> payloads(bytes.begin(), bytes.end());
    built_ = 0;
    return intake_.take(payloads, [this] { ++built_; });
  }

  static ServiceSnapshot other(std::uint32_t generation) {
    ServiceSnapshot service = webService(1, generation);
    service.id = ServiceId(9);
    service.name = "other";
    return service;
  }

  Intake intake_;
  unsigned built_ = 0;
};

TEST_F(SnapshotIntakeTest, FirstSynchronisationMakesItComplete) {
  EXPECT_FALSE(intake_.isComplete());
  const auto taken = take({NodeSnapshot{}, SyncBegin{}, webService(2, 5), webRules(6), SyncEnd{}});
  EXPECT_TRUE(intake_.isComplete());
  ASSERT_NE(taken.world, nullptr);
  EXPECT_EQ(taken.generation, Generation(6));
  EXPECT_NE(taken.world->service(test::kWeb), nullptr);
}

TEST_F(SnapshotIntakeTest, NothingIsSeenOfASynchronisationBeforeItsEnd) {
  EXPECT_EQ(take({NodeSnapshot{}, SyncBegin{}, webRules()}).world, nullptr);
  EXPECT_EQ(take({webService(2)}).world, nullptr);
  EXPECT_FALSE(intake_.isComplete());
  const auto taken = take({SyncEnd{}});
  ASSERT_NE(taken.world, nullptr);
  EXPECT_NE(taken.world->service(test::kWeb), nullptr);
}

TEST_F(SnapshotIntakeTest, OfSeveralSnapshotsOfOneServiceOnlyTheNewestIsBuilt) {
  take({NodeSnapshot{}, SyncBegin{}, webService(1), webRules(), SyncEnd{}});
  const auto taken = take({webService(2, 2), webService(3, 3), other(4), webService(4, 5)});
  EXPECT_EQ(built_, 2u);
  ASSERT_NE(taken.world, nullptr);
  EXPECT_EQ(taken.world->service(test::kWeb)->snapshot().backends.size(), 4u);
  EXPECT_EQ(taken.generation, Generation(5));
}

TEST_F(SnapshotIntakeTest, RemovalAfterASnapshotRemoves) {
  take({NodeSnapshot{}, SyncBegin{}, webRules(), SyncEnd{}});
  const auto taken = take({webService(2, 2), ServiceRemoved{test::kWeb}});
  EXPECT_EQ(taken.world->service(test::kWeb), nullptr);
}

TEST_F(SnapshotIntakeTest, SnapshotAfterARemovalIsBack) {
  take({NodeSnapshot{}, SyncBegin{}, webRules(), SyncEnd{}});
  const auto taken = take({webService(2, 2), ServiceRemoved{test::kWeb}, webService(1, 3)});
  ASSERT_NE(taken.world->service(test::kWeb), nullptr);
  EXPECT_EQ(taken.world->service(test::kWeb)->snapshot().backends.size(), 1u);
}

TEST_F(SnapshotIntakeTest, AnotherVersionIsRefusedAndTheOldKept) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2), webRules(), SyncEnd{}});
  const auto taken = take({webService(5, 2)}, {0});
  EXPECT_EQ(taken.world, nullptr);
  ASSERT_EQ(taken.refused.size(), 1u);
  const auto later = take({other(3)});
  EXPECT_EQ(later.world->service(test::kWeb)->snapshot().backends.size(), 2u);
}

TEST_F(SnapshotIntakeTest, RefusalWithinASynchronisationForgetsNoService) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2), webRules(), SyncEnd{}});
  const auto taken = take({SyncBegin{}, webService(5, 2), other(3), webRules(4), SyncEnd{}}, {1});
  ASSERT_NE(taken.world, nullptr);
  ASSERT_NE(taken.world->service(test::kWeb), nullptr);
  EXPECT_EQ(taken.world->service(test::kWeb)->snapshot().backends.size(), 2u);
  EXPECT_NE(taken.world->service(ServiceId(9)), nullptr);
  // The next whole synchronisation forgets again what it does not name.
  const auto next = take({SyncBegin{}, other(5), webRules(6), SyncEnd{}});
  EXPECT_EQ(next.world->service(test::kWeb), nullptr);
}

TEST_F(SnapshotIntakeTest, SynchronisationForgetsServicesItDoesNotName) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2), other(2), webRules(3), SyncEnd{}});
  const auto taken = take({SyncBegin{}, other(4), webRules(5), SyncEnd{}});
  EXPECT_EQ(taken.world->service(test::kWeb), nullptr);
  EXPECT_NE(taken.world->service(ServiceId(9)), nullptr);
}

TEST_F(SnapshotIntakeTest, UnfinishedSynchronisationIsForgottenWithItsConnection) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2), other(2), webRules(3), SyncEnd{}});
  take({SyncBegin{}, webService(7, 4)});
  intake_.interrupt();
  const auto taken = take({other(5)});
  ASSERT_NE(taken.world, nullptr);
  EXPECT_EQ(taken.world->service(test::kWeb)->snapshot().backends.size(), 2u);
}

TEST_F(SnapshotIntakeTest, TheGenerationIsThatOfAManagerThatLostItsState) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2, 900), webRules(901), SyncEnd{}});
  const auto taken = take({SyncBegin{}, webService(3, 4), webRules(5), SyncEnd{}});
  EXPECT_EQ(taken.generation, Generation(5));
}

TEST_F(SnapshotIntakeTest, AnUnfinishedSynchronisationDoesNotTakeBackTheGeneration) {
  take({NodeSnapshot{}, SyncBegin{}, webService(2, 7), webRules(8), SyncEnd{}});
  take({SyncBegin{}, webService(3, 2)});
  intake_.interrupt();
  EXPECT_EQ(take({webService(3, 6)}).generation, Generation(8));
}

TEST_F(SnapshotIntakeTest, RunningValuesOfTheNodeStay) {
  take({NodeSnapshot{}, SyncBegin{}, webRules(), SyncEnd{}});
  EXPECT_FALSE(intake_.nodeDiffers());
  NodeSnapshot other;
  other.queues = 4;
  take({other});
  EXPECT_TRUE(intake_.nodeDiffers());
  EXPECT_EQ(intake_.node()->queues, 1);
  EXPECT_EQ(intake_.newestNode()->queues, 4);
  take({NodeSnapshot{}});
  EXPECT_FALSE(intake_.nodeDiffers());
  take({other});
  intake_.adoptNode();
  EXPECT_FALSE(intake_.nodeDiffers());
  EXPECT_EQ(intake_.node()->queues, 4);
}

TEST_F(SnapshotIntakeTest, TheKindsThatWereHeardAreKnown) {
  EXPECT_FALSE(intake_.hasHeard<RulesSnapshot>());
  take({SyncBegin{}, webRules()}, {1});
  EXPECT_FALSE(intake_.hasHeard<RulesSnapshot>());
  take({webRules()});
  EXPECT_TRUE(intake_.hasHeard<RulesSnapshot>());
  EXPECT_FALSE(intake_.hasHeard<NodeSnapshot>());
}

TEST_F(SnapshotIntakeTest, WhatTheWorldIsMadeOfIsNamed) {
  const auto whole = take({NodeSnapshot{}, SyncBegin{}, webService(1), webRules(), SyncEnd{}});
  EXPECT_EQ(whole.accepted.size(), 5u);
  EXPECT_TRUE(whole.synchronised);
  // Neither what was refused nor what a newer one has overtaken.
  const auto some = take({webService(2, 2), other(3), webService(3, 4)}, {1});
  EXPECT_EQ(some.accepted.size(), 1u);
  EXPECT_FALSE(some.synchronised);
}

TEST_F(SnapshotIntakeTest, GarbageIsRefused) {
  const std::vector<std::uint8_t> garbage{1, 2, 3};
  const std::span<const std::uint8_t> payload(garbage);
  EXPECT_EQ(intake_.take({&payload, 1}).refused.size(), 1u);
  const std::span<const std::uint8_t> nothing;
  EXPECT_EQ(intake_.take({&nothing, 1}).refused.size(), 1u);
}

}  // namespace
}  // namespace weir::engine
