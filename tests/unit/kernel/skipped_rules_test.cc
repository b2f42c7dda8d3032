// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/skipped_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr RoutingOwnership kOwn{10000, 0x77650000, 87};
constexpr std::uint8_t kStatic = 4;

class SkippedRules : public testing::Test {
 protected:
  void add(std::uint32_t preference, std::uint8_t protocol) {
    addNewRule(dump_, Family::ipv4, {preference, RoutingRule::Action::lookup, 0x7, 0xff, 100},
               protocol);
  }
  std::vector<std::string> skipped(std::vector<RoutingOwnership> former = {}) const {
    return skippedRules(dump_, Family::ipv4, kOwn, former);
  }
  Messages dump_;
};

TEST_F(SkippedRules, OthersBetweenTheFirstAndTheLastAreNamed) {
  add(12000, kStatic);
  EXPECT_THAT(
      skipped(),
      ElementsAre(AllOf(HasSubstr("IPv4 routing rule 12000 (from all fwmark 0x7/0xff lookup "
                                  "100)"),
                        HasSubstr("(10000 to 26384)"), HasSubstr("below 9996 or from 26385"))));
}

TEST_F(SkippedRules, OthersOutsideAreNoneOfWeirsBusiness) {
  for (const std::uint32_t preference : {0u, 220u, 9995u, 9999u, 26384u, 26385u, 32766u})
    add(preference, kStatic);
  EXPECT_THAT(skipped(), IsEmpty());
  add(10000, kStatic);
  add(26383, kStatic);
  EXPECT_EQ(skipped().size(), 2u);
}

TEST_F(SkippedRules, WeirsOwnAreNotMeantNorThoseOfFormerNumbers) {
  add(10001, 87);
  add(10002, 91);
  EXPECT_EQ(skipped().size(), 1u);
  EXPECT_THAT(skipped({{2000, 1, 91}}), IsEmpty());
}

TEST_F(SkippedRules, SelectorsAreTold) {
  dump_.add("rule", RTM_NEWRULE, 0, 192, [](nlmsghdr* m) {
    fib_rule_hdr* header =
        putRule(m, Family::ipv4, {11000, RoutingRule::Action::lookup, 0, 0, 101}, kStatic);
    header->src_len = 24;
    header->dst_len = 16;
    putAddress(m, FRA_SRC, *Address::parse("10.1.0.0"));
    putAddress(m, FRA_DST, *Address::parse("172.20.0.0"));
    mnl_attr_put_strz(m, FRA_IIFNAME, "eth0");
  });
  EXPECT_THAT(
      skipped(),
      ElementsAre(HasSubstr("11000 (from 10.1.0.0/24 to 172.20.0.0/16 iif eth0 lookup 101)")));
}

}  // namespace
}  // namespace weir::manager
