// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::manager {
namespace {

using Kind = KernelChange::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ChangeLog, SaysManyThingsInOneLineWithTheFirstNames) {
  ChangeLog log;
  for (const char* preference : {"10004", "10001", "10002", "10003"})
    log.note(Kind::restored, "IPv4 routing rule", preference);
  log.note(Kind::followed, "IPv6 route", "to backend fd02::11");
  EXPECT_THAT(
      log.take(),
      ElementsAre(KernelChange{Kind::restored, "4 IPv4 routing rules (10001, 10002, 10003, ...)"},
                  KernelChange{Kind::followed, "1 IPv6 route (to backend fd02::11)"}));
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST(ChangeLog, OneThingNotedTwiceCountsOnce) {
  ChangeLog log;
  for (int pass = 0; pass < 2; ++pass) log.note(Kind::restored, "neighbour", "10.2.0.11");
  EXPECT_THAT(log.take(), ElementsAre(KernelChange{Kind::restored, "1 neighbour (10.2.0.11)"}));
}

TEST(ChangeLog, AKindCanBeForgotten) {
  ChangeLog log;
  log.note(Kind::followed, "IPv4 route", "a");
  log.note(Kind::removed, "IPv4 route", "b");
  log.forget(Kind::followed);
  EXPECT_THAT(log.take(), ElementsAre(KernelChange{Kind::removed, "1 IPv4 route (b)"}));
}

TEST(ChangeLog, EveryKindHasAWord) {
  EXPECT_EQ(toString(Kind::restored), "restored");
  EXPECT_EQ(toString(Kind::removed), "removed");
  EXPECT_EQ(toString(Kind::followed), "followed");
  EXPECT_EQ(toString(Kind::cleaned), "cleaned");
}

}  // namespace
}  // namespace weir::manager
