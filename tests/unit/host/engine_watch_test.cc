// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/engine_watch.h"

#include <gtest/gtest.h>

namespace weir::manager {
namespace {

using namespace std::chrono_literals;
constexpr FallbackSwitch::Engine kServing{true, true};
constexpr FallbackSwitch::Engine kAway{false, false};
Time at(std::chrono::milliseconds time) { return Time(time); }

TEST(FallbackSwitch, OpensOnlyWhenTheQueuesAreUnboundForTheWholeGrace) {
  FallbackSwitch fallback;
  EXPECT_FALSE(fallback.step(at(0s), kServing, 10s));
  EXPECT_FALSE(fallback.step(at(1s), kAway, 10s));
  EXPECT_FALSE(fallback.step(at(10'999ms), kAway, 10s));
  EXPECT_FALSE(fallback.openedAt());
  EXPECT_EQ(fallback.awaySince(), at(1s));
  EXPECT_TRUE(fallback.step(at(11s), kAway, 10s));
  EXPECT_EQ(fallback.openedAt(), at(11s));
  EXPECT_FALSE(fallback.awaySince());
  EXPECT_FALSE(fallback.step(at(12s), kAway, 10s)) << "once";
}

TEST(FallbackSwitch, ARestartWithinTheGraceBeginsItAnew) {
  FallbackSwitch fallback;
  fallback.step(at(1s), kAway, 10s);
  fallback.step(at(9s), kServing, 10s);
  EXPECT_FALSE(fallback.step(at(12s), kAway, 10s));
  EXPECT_FALSE(fallback.step(at(21s), kAway, 10s));
  EXPECT_TRUE(fallback.step(at(22s), kAway, 10s));
}

TEST(FallbackSwitch, ALostConnectionAloneIsNoAbsence) {
  FallbackSwitch fallback;
  for (auto time = 0s; time < 60s; ++time)
    EXPECT_FALSE(fallback.step(at(time), {.bound = true, .current = false}, 10s));
}

TEST(FallbackSwitch, ClosesOnlyWhenTheEngineHasAppliedWhatIsInForce) {
  FallbackSwitch fallback(at(5s));
  EXPECT_FALSE(fallback.step(at(6s), {.bound = true, .current = false}, 10s));
  EXPECT_FALSE(fallback.step(at(7s), {.bound = false, .current = true}, 10s));
  EXPECT_EQ(fallback.openedAt(), at(5s));
  EXPECT_TRUE(fallback.step(at(8s), kServing, 10s));
  EXPECT_FALSE(fallback.openedAt());
}

TEST(FallbackSwitch, WithoutAGraceItOpensAtOnce) {
  FallbackSwitch fallback;
  EXPECT_TRUE(fallback.step(at(1s), kAway, 0s));
}

TEST(QueuesBound, EveryQueueMustHaveAListener) {
  constexpr char kTable[] =
      " 8100   1234     0 2   128     0     0        0  1\n"
      " 8101   1234     0 2   128     0     0        0  1\n"
      "   77      9     0 2   128     0     0        0  1\n";
  EXPECT_TRUE(queuesBound(kTable, 8100, 2));
  EXPECT_FALSE(queuesBound(kTable, 8100, 3));
  EXPECT_FALSE(queuesBound(kTable, 810, 1)) << "a number, not its beginning";
  EXPECT_FALSE(queuesBound("", 8100, 1));
  EXPECT_TRUE(queuesBound("", 8100, 0)) << "nothing is diverted";
}

}  // namespace
}  // namespace weir::manager
