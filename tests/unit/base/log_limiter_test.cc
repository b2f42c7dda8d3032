// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log_limiter.h"

#include <gtest/gtest.h>

namespace weir::log {
namespace {

constexpr LogLimiter::Clock::time_point kStart{};

unsigned admitted(LogLimiter& limiter, std::string_view kind, unsigned lines,
                  LogLimiter::Clock::time_point now) {
  unsigned count = 0;
  for (unsigned i = 0; i < lines; ++i) count += limiter.admit(kind, now).write;
  return count;
}

TEST(LogLimiter, WritesTheFirstFewOfAWindowAndTellsWhatWasLeftOut) {
  LogLimiter limiter;
  EXPECT_EQ(admitted(limiter, "a", LogLimiter::kBurst + 5, kStart), LogLimiter::kBurst);
  const auto next = limiter.admit("a", kStart + LogLimiter::kWindow);
  EXPECT_TRUE(next.write);
  EXPECT_EQ(next.suppressed, 5u);
  EXPECT_EQ(limiter.admit("a", kStart + LogLimiter::kWindow).suppressed, 0u);
}

TEST(LogLimiter, SaysWhichLineIsTheLastOfAWindow) {
  LogLimiter limiter;
  EXPECT_EQ(admitted(limiter, "a", LogLimiter::kBurst - 2, kStart), LogLimiter::kBurst - 2);
  EXPECT_FALSE(limiter.admit("a", kStart).last);
  EXPECT_TRUE(limiter.admit("a", kStart).last);
  EXPECT_FALSE(limiter.admit("a", kStart).write);
}

TEST(LogLimiter, KindsDoNotLimitEachOther) {
  LogLimiter limiter;
  EXPECT_EQ(admitted(limiter, "a", 100, kStart), LogLimiter::kBurst);
  EXPECT_EQ(admitted(limiter, "b", 1, kStart), 1u);
}

TEST(LogLimiter, MoreKindsThanItRemembersAreWritten) {
  LogLimiter limiter;
  for (std::size_t i = 0; i < LogLimiter::kMaxKinds; ++i)
    EXPECT_EQ(admitted(limiter, std::to_string(i), 1, kStart), 1u);
  EXPECT_EQ(admitted(limiter, "one more", 2 * LogLimiter::kBurst, kStart), 2 * LogLimiter::kBurst);
  // Once the old ones are over, there is room again.
  EXPECT_EQ(admitted(limiter, "later", 2 * LogLimiter::kBurst, kStart + LogLimiter::kWindow),
            LogLimiter::kBurst);
}

}  // namespace
}  // namespace weir::log
