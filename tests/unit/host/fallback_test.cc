// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/fallback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

using testing::ElementsAre;
constexpr std::uint32_t kMask = 0xffff0000;
Address address(const char* text) { return *Address::parse(text); }
Mark mark(std::uint32_t index) { return Mark(index << 16); }

class PlanFallback : public testing::Test {
 protected:
  PlanFallback() {
    for (std::uint32_t i = 1; i <= 3; ++i) {
      const Address ipv4 = Address::ipv4(0x0a020000 + i), ipv6 = Address::ipv6(0xfd02ull << 48, i);
      wish_.backends.push_back({mark(i), ipv4, ipv6});
      nextHops_[ipv4] = nextHops_[ipv6] = {7, {}, true};
    }
    wish_.fallback.emplace();
    wish_.fallback->services = {{ServiceId(4), {{mark(1), 1}, {mark(2), 3}}}};
  }
  FallbackPlan plan() const { return planFallback(wish_, nextHops_); }
  KernelWish wish_;
  NextHops nextHops_;
};

TEST_F(PlanFallback, NothingWithoutTheWish) {
  wish_.fallback.reset();
  const FallbackPlan none = plan();
  EXPECT_TRUE(none.objects.empty() && none.groups.empty() && none.routing.routes.empty() &&
              none.routing.rules.empty());
}

TEST_F(PlanFallback, ARuleLeadsToItsServicesGroupWithTheWeights) {
  wish_.fallback->rules = {
      {address("10.9.9.9"), Protocol::tcp, {{80, 80}, {443, 444}}, ServiceId(4)}};
  const FallbackPlan fallback = plan();
  ASSERT_EQ(fallback.groups.size(), 1u);
  const NextHopGroup& group = *fallback.groups.begin();
  ASSERT_EQ(group.members.size(), 2u);
  EXPECT_EQ(group.members[0].weight, 1u);
  EXPECT_EQ(group.members[1].weight, 3u);
  ASSERT_EQ(fallback.objects.size(), 2u);
  EXPECT_EQ(fallback.objects.begin()->gateway, address("10.2.0.1"));
  ASSERT_EQ(fallback.routing.routes.size(), 1u);
  const OwnRoute& route = *fallback.routing.routes.begin();
  EXPECT_EQ(route.nextHop, group.id);
  ASSERT_EQ(fallback.routing.rules.size(), 3u) << "a guard and one for each range of ports";
  std::vector<PortRange> ports;
  for (const OwnRule& rule : fallback.routing.rules) {
    EXPECT_EQ(rule.rule.mask, kMask);
    EXPECT_EQ(rule.rule.mark, fallbackMark(kMask).value());
    if (rule.inverted) {
      EXPECT_EQ(rule.rule.target, wish_.ruleBase);
      continue;
    }
    ports.push_back(rule.ports);
    EXPECT_EQ(rule.destination, address("10.9.9.9"));
    EXPECT_EQ(rule.protocol, 6);
    EXPECT_EQ(rule.rule.target, route.table);
  }
  EXPECT_THAT(ports, ElementsAre(PortRange{80, 80}, PortRange{443, 444}));
}

TEST_F(PlanFallback, L3DefaultComesBehindTheRulesOfAProtocol) {
  wish_.fallback->rules = {{address("10.9.9.9"), Protocol::none, {}, ServiceId(4)},
                           {address("10.9.9.9"), Protocol::udp, {}, ServiceId(4)}};
  std::uint32_t udp = 0, rest = 0;
  for (const OwnRule& rule : plan().routing.rules)
    if (!rule.inverted) (rule.protocol == 17 ? udp : rest) = rule.rule.preference;
  EXPECT_LT(udp, rest);
  EXPECT_LT(rest, wish_.ruleBase);
  EXPECT_NE(udp, 0u);
}

TEST_F(PlanFallback, P2_8_AnEmptySetDropsAndUnreachableBackendsAreLeftOut) {
  wish_.fallback->rules = {{address("fd09::9"), Protocol::tcp, {}, ServiceId(4)}};
  nextHops_[address("fd02::1")].interface = 0;
  EXPECT_EQ(plan().groups.begin()->members.size(), 1u);
  wish_.fallback->services[0].members.clear();
  const FallbackPlan empty = plan();
  EXPECT_TRUE(empty.groups.empty());
  EXPECT_EQ(empty.routing.routes.begin()->type, RTN_BLACKHOLE);
}

TEST_F(PlanFallback, N6_BothDirectionsOfARangeHaveOneGroup) {
  wish_.fallback->ranges = {{*Prefix::parse("10.5.0.0/16"), ServiceId(4)},
                            {*Prefix::parse("0.0.0.0/0"), ServiceId(4)}};
  const FallbackPlan fallback = plan();
  EXPECT_EQ(fallback.groups.size(), 1u);
  ASSERT_EQ(fallback.routing.routes.size(), 2u);
  for (const OwnRoute& route : fallback.routing.routes)
    EXPECT_EQ(route.nextHop, fallback.groups.begin()->id);
  EXPECT_EQ(fallback.routing.rules.size(), 2u) << "a guard and one for all ranges";
}

TEST(KernelWeights, KeepTheirRelationsInTheKernelsRange) {
  EXPECT_THAT(kernelWeights({1, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(kernelWeights({1000, 500, 1, 0}), ElementsAre(256, 128, 1, 0));
  EXPECT_THAT(kernelWeights({}), testing::IsEmpty());
}

TEST(OwnNumbers, MeetNeitherEachOtherNorTheTreesOnes) {
  const RoutingOwnership own = routingOwnership(KernelWish{});
  EXPECT_NE(fallbackMark(kMask), neighbourMark(kMask));
  EXPECT_EQ(neighbourMark(kMask).value() & ~kMask, 0u);
  // The last two that backends get, and only where a wish has no use for them (host_parts.cc).
  EXPECT_EQ(indexOfMark(neighbourMark(kMask), kMask), kMarkIndices - 2);
  EXPECT_EQ(indexOfMark(fallbackMark(kMask), kMask), kMarkIndices - 1);
  EXPECT_LT(nextHopId(own, kMarkIndices - 1, Family::ipv6),
            groupId(own, ServiceId(0), Family::ipv4));
  EXPECT_LT(fallbackRangesTable(own), fallbackServiceTable(own, ServiceId(0)));
  EXPECT_GE(neighbourTable(own), own.tableBase + kMarkIndices);
}

}  // namespace
}  // namespace weir::manager
