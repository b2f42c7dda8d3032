// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace weir::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Schedule, H2_ProbesAreSpreadOverTheInterval) {
  std::array<int, 10> tenths{};
  for (int i = 0; i < 1000; ++i) {
    const auto phase = phaseOf("group/10.0.0." + std::to_string(i), seconds(5));
    ASSERT_GE(phase.count(), 0);
    ASSERT_LT(phase, Clock::duration(seconds(5)));
    ++tenths[static_cast<std::size_t>(phase.count() / 500)];
  }
  for (const int count : tenths) {
    EXPECT_GT(count, 60);
    EXPECT_LT(count, 140);
  }
}

TEST(Schedule, H12_AFewStartAtATimeAndNeverManyOfThem) {
  std::array<int, 50> turns{};
  for (int i = 0; i < 1000; ++i) {
    const auto phase = phaseOf("group/10.0.0." + std::to_string(i), seconds(1));
    ASSERT_EQ(phase % kTurnOfStarts, Clock::duration(0));
    ++turns[static_cast<std::size_t>(phase / kTurnOfStarts)];
  }
  for (const int count : turns) {
    EXPECT_GT(count, 0);
    EXPECT_LT(count, 50);
  }
}

TEST(Schedule, H2_IntervalsGoFromStartToStart) {
  Time start = firstStart(Time(seconds(1000)), "a", seconds(5));
  for (int round = 0; round < 100; ++round) {
    const Time next = nextStart(start, start + milliseconds(round), "a", seconds(5));
    EXPECT_EQ(next - start, Clock::duration(seconds(5)));
    start = next;
  }
}

TEST(Schedule, H2_ALongIntervalDoesNotLeaveANewTargetUnknown) {
  const Time now(seconds(123456));
  for (const char* name : {"a", "b", "c", "d"}) {
    const Time first = firstStart(now, name, seconds(300));
    EXPECT_GE(first, now);
    EXPECT_LE(first, now + kFirstProbeWithin);
    const Time second = nextStart(first, first, name, seconds(300));
    EXPECT_GT(second, first);
    EXPECT_LE(second - first, Clock::duration(seconds(300)));
  }
}

TEST(Schedule, H2_AProbeThatTimesOutAfterAllOfTheIntervalDelaysTheNextByNoMoreThanItMust) {
  Time start = nextStart(Time(seconds(10)), Time(seconds(10)), "a", seconds(1));
  const Time first = start;
  int starts = 0;
  for (; start - first < Clock::duration(seconds(100)); ++starts)
    start = nextStart(start, start + milliseconds(1003), "a", seconds(1));
  EXPECT_GE(starts, 98);
}

TEST(Schedule, StartsThatWereMissedAreNotMadeUpFor) {
  const Time start = nextStart(Time(seconds(10)), Time(seconds(10)), "a", seconds(1));
  const Time late = start + seconds(100) + milliseconds(1);
  const Time next = nextStart(start, late, "a", seconds(1));
  EXPECT_GE(next, late);
  EXPECT_LE(next - late, Clock::duration(seconds(1)));
  // One, once: the start after it is at its time again.
  EXPECT_EQ(nextStart(next, next, "a", seconds(1)), start + seconds(101));
}

}  // namespace
}  // namespace weir::manager
