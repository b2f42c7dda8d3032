// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/threshold.h"

#include <gtest/gtest.h>

namespace weir::manager {
namespace {

using Kind = Outcome::Kind;

TEST(Threshold, H2_NeverProbedTurnsHealthyAtItsFirstSuccess) {
  ThresholdCounter counter(Health::unknown);
  EXPECT_EQ(counter.record(Kind::success, {5, 5}), Health::healthy);
}

TEST(Threshold, H2_NeverProbedStaysUnknownUntilFailuresAreEnough) {
  ThresholdCounter counter(Health::unknown);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 3}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 3}), std::nullopt);
  EXPECT_EQ(counter.state(), Health::unknown);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 3}), Health::unhealthy);
}

TEST(Threshold, H2_OnlyConsecutiveFailuresCount) {
  ThresholdCounter counter(Health::healthy);
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(counter.record(Kind::noAnswer, {2, 2}), std::nullopt);
    EXPECT_EQ(counter.record(Kind::success, {2, 2}), std::nullopt);
  }
  EXPECT_EQ(counter.state(), Health::healthy);
}

TEST(Threshold, H2_OnlyConsecutiveSuccessesCount) {
  ThresholdCounter counter(Health::unhealthy);
  EXPECT_EQ(counter.record(Kind::success, {3, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::success, {3, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {3, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::success, {3, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::success, {3, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::success, {3, 2}), Health::healthy);
}

TEST(Threshold, H10_TheLastFailureNamesTheState) {
  ThresholdCounter counter(Health::healthy);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::noAnswer, {2, 2}), Health::timeout);
}

TEST(Threshold, H10_AnotherKindOfFailureNeedsTheThresholdToo) {
  ThresholdCounter counter(Health::timeout);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::noAnswer, {2, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 2}), std::nullopt);
  EXPECT_EQ(counter.record(Kind::wrongAnswer, {2, 2}), Health::unhealthy);
}

TEST(Threshold, H2_AKnownStateGoesOnAfterARestart) {
  ThresholdCounter healthy(Health::healthy);
  EXPECT_EQ(healthy.record(Kind::noAnswer, {2, 2}), std::nullopt);
  ThresholdCounter unhealthy(Health::unhealthy);
  EXPECT_EQ(unhealthy.record(Kind::success, {2, 2}), std::nullopt);
  EXPECT_EQ(ThresholdCounter(Health::draining).state(), Health::unknown);
}

}  // namespace
}  // namespace weir::manager
