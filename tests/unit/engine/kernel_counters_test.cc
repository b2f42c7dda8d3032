// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/kernel_counters.h"

#include <gtest/gtest.h>

namespace weir::engine {
namespace {

TEST(KernelCounters, ReadsTheKernelsColumns) {
  const auto counters = parseKernelCounters(
      " 8100  13724     7 2   192    11    12      900  1\n"
      " 8101 4294967295     0 2   192     0     0        0  1\n");
  ASSERT_EQ(counters.size(), 2u);
  const KernelCounters& first = counters.at(8100);
  EXPECT_EQ(first.owner, 13724u);
  EXPECT_EQ(first.waiting, 7u);
  EXPECT_EQ(first.dropped, 11u);
  EXPECT_EQ(first.userDropped, 12u);
  EXPECT_EQ(counters.at(8101).owner, 4294967295u);
}

TEST(KernelCounters, LeavesOutWhatItDoesNotKnow) {
  EXPECT_TRUE(parseKernelCounters("").empty());
  EXPECT_TRUE(parseKernelCounters("no numbers here\n8100 1 2\n70000 1 0 2 192 0 0 0 1\n").empty());
}

}  // namespace
}  // namespace weir::engine
