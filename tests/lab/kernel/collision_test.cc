// SPDX-License-Identifier: GPL-2.0-or-later
//
// Numbers that change, and numbers that somebody else has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Prune = KernelState::Prune;

class Collision : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    state_ = openState();
  }
  void TearDown() override {
    state_.reset();
    NamespaceTest::TearDown();
  }
  void apply(const KernelWish& wanted, Prune prune = Prune::removeOld) {
    const Status done = state_->apply(wanted, prune);
    EXPECT_TRUE(done) << done.error().message;
  }
  std::string refusal(const KernelWish& wanted) {
    const Status done = state_->apply(wanted, Prune::removeOld);
    return done ? std::string() : done.error().message;
  }

  std::unique_ptr<NetlinkKernelState> state_;
};

KernelWish twoBackends() {
  return wish({backend(1, "10.2.0.11", "fd02::11"), backend(2, "10.2.0.12", "fd02::12")},
              {"10.9.9.9", "fd09::9"});
}

// With everything that has numbers of weir's.
KernelWish fullWish() {
  KernelWish wanted = twoBackends();
  wanted.announced = {{*Address::parse("10.9.9.9"), true, true, false},
                      {*Address::parse("10.9.9.8"), false, false, true},
                      {*Address::parse("fd09::9"), true, true, false}};
  wanted.interfaces = {"eth0"};
  FallbackWish fallback;
  fallback.services = {{ServiceId(1), {{markOf(1), 1}, {markOf(2), 1}}}};
  fallback.rules = {{*Address::parse("10.9.9.9"), Protocol::tcp, {{80, 80}}, ServiceId(1)},
                    {*Address::parse("fd09::9"), Protocol::none, {}, ServiceId(1)}};
  wanted.fallback = fallback;
  return wanted;
}

// Sorted where the order is that of their making; without what neighbours do.
std::string everything() {
  return run(
      "ip rule; ip -6 rule; ip route show table all | sort; ip -6 route show table all | sort; "
      "ip nexthop; ip addr show lo; ip neigh show proxy; ip -6 neigh show proxy; "
      "ip neigh | sed -E 's/ (NONE|INCOMPLETE|FAILED|PROBE|REACHABLE|STALE|DELAY)//' | sort; "
      "for family in ip ip6 arp; do nft list table $family weir || true; done");
}

TEST_F(Collision, EachNumberMovesEverythingInOneGo) {
  // As a kernel that has only ever had these numbers.
  const auto fresh = [](const KernelWish& wanted) {
    auto state = NetlinkKernelState::open(wanted);
    EXPECT_TRUE((*state)->apply(wanted, Prune::removeOld));
    const std::string view = everything();
    EXPECT_TRUE((*state)->removeAll());
    return view;
  };
  KernelWish wanted = fullWish();
  for (int step = 0; step < 6; ++step) {
    if (step == 1) wanted.routeProtocol = 91;
    if (step == 2) wanted.ruleBase = 12000;
    if (step == 3) wanted.tableBase = 0x10000000;
    if (step == 4) wanted.fwmarkMask = 0x0fff0000;
    if (step == 5) wanted = fullWish();
    const std::string goal = fresh(wanted);
    auto state = NetlinkKernelState::open(fullWish());
    KernelWish before = fullWish();
    before.routeProtocol = step == 5 ? 91 : 87;
    ASSERT_TRUE((*state)->apply(before, Prune::removeOld));
    (void)(*state)->takeChanges();
    ASSERT_TRUE((*state)->apply(wanted, Prune::keepOld));
    ASSERT_TRUE((*state)->apply(wanted, Prune::removeOld));
    EXPECT_EQ(everything(), goal) << step;
    // Asked for, so no news.
    EXPECT_THAT((*state)->takeChanges(), IsEmpty()) << step;
    EXPECT_FALSE((*state)->reconcile().value()) << step;
    ASSERT_TRUE((*state)->removeAll());
  }
}

TEST_F(Collision, KilledBetweenTwoNumbersTheNextStartKnowsBoth) {
  const std::string clean = kernelView();
  apply(twoBackends());
  KernelWish second = twoBackends();
  second.routeProtocol = 91;
  second.tableBase = 0x10000000;
  apply(second, Prune::keepOld);
  KernelWish third = second;
  third.ruleBase = 12000;
  apply(third, Prune::keepOld);
  state_.reset();  // as kill -9 leaves it
  auto successor = NetlinkKernelState::open(third);
  ASSERT_TRUE(successor.ok());
  ASSERT_TRUE((*successor)->apply(third, Prune::removeOld));
  EXPECT_THAT(run("ip rule"), AllOf(Not(HasSubstr("proto 87")), Not(HasSubstr("10000:"))));
  EXPECT_EQ(run("ip route show table all proto 87"), "");
  EXPECT_THAT(run("nft list table ip weir"), Not(HasSubstr("before:")));
  const auto changes = (*successor)->takeChanges();
  EXPECT_THAT(changes, Contains(Field(&KernelChange::what, HasSubstr("2 former numberings"))));
  EXPECT_THAT(changes, Each(Field(&KernelChange::kind, KernelChange::Kind::cleaned)));
  EXPECT_FALSE((*successor)->reconcile().value());
  ASSERT_TRUE((*successor)->removeAll());
  EXPECT_EQ(kernelView(), clean);
}

TEST_F(Collision, ARouteOfSomebodyElsesInATableOfWeirsIsNamedAndLeftAlone) {
  run("ip route add default via 10.2.0.99 dev eth0 table 2003107841 proto static; ip -6 route add "
      "default via fd02::99 dev eth0 table 2003107842 proto static");
  const std::string before = kernelView();
  EXPECT_THAT(refusal(twoBackends()),
              AllOf(HasSubstr("IPv4 routing table 2003107841 has a default route that weir has not "
                              "made"),
                    HasSubstr("ip route del default table 2003107841")));
  EXPECT_THAT(run("ip route show table 2003107841"), HasSubstr("10.2.0.99"));
  EXPECT_THAT(run("ip -6 route show table 2003107842"), HasSubstr("fd02::99"));
  // Such a backend gets no connections; the others do.
  ASSERT_THAT(state_->unreachable(), SizeIs(2));
  EXPECT_EQ(state_->unreachable()[0].mark, markOf(1));
  EXPECT_EQ(state_->unreachable()[1].mark, markOf(2));
  EXPECT_THAT(routeGet("10.9.9.9", 0x20000), HasSubstr("via 10.2.0.12 dev eth0"));
  EXPECT_FALSE(state_->reconcile().ok());
  EXPECT_THAT(run("ip route show table 2003107841"), HasSubstr("10.2.0.99"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_EQ(kernelView(), before);
  run("ip route del default table 2003107841; ip -6 route del default table 2003107842");
  apply(twoBackends());
  EXPECT_THAT(state_->unreachable(), IsEmpty());
}

TEST_F(Collision, AnAnnouncedRouteDoesNotTakeTheirPlaceEither) {
  run("ip route add 10.9.9.9 via 10.2.0.99 dev eth0 table 87 proto static");
  const std::string before = kernelView();
  KernelWish wanted = twoBackends();
  wanted.announced = {{*Address::parse("10.9.9.9"), false, true, false},
                      {*Address::parse("10.9.9.8"), false, true, false}};
  EXPECT_THAT(refusal(wanted),
              HasSubstr("there is a route to 10.9.9.9/32 in table 87 that weir has not made"));
  EXPECT_THAT(run("ip route show table 87"),
              AllOf(HasSubstr("10.9.9.9 via 10.2.0.99"), HasSubstr("blackhole 10.9.9.8")));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_EQ(kernelView(), before);
}

TEST_F(Collision, ANextHopObjectOfSomebodyElsesIsNamedAndLeftAlone) {
  run("ip nexthop add id 2003107842 via 10.2.0.99 dev eth0 proto static; "
      "ip route add 203.0.113.0/24 nhid 2003107842");
  EXPECT_THAT(refusal(fullWish()), HasSubstr("next hop 2003107842 is one that weir has not made"));
  EXPECT_THAT(run("ip nexthop show id 2003107842"), HasSubstr("via 10.2.0.99"));
  // No group leads to a stranger, and the diversion stays with the queues.
  EXPECT_THAT(run("ip nexthop"), Not(HasSubstr("group 2003107842/")));
  EXPECT_THAT(run("nft list table ip weir"), HasSubstr("to queues"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_THAT(run("ip nexthop; ip route show 203.0.113.0/24"),
              AllOf(HasSubstr("via 10.2.0.99"), HasSubstr("nhid 2003107842")));
  EXPECT_THAT(run("ip nexthop"), Not(HasSubstr("proto 87")));
}

TEST_F(Collision, ANextHopObjectThatWasWeirsIsRestored) {
  apply(fullWish());
  const std::string good = run("ip nexthop");
  run("ip nexthop replace id 2003107842 via 10.2.0.99 dev eth0 onlink proto static");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_EQ(run("ip nexthop"), good);
}

TEST_F(Collision, RulesThatWeirsMakeIneffectiveAreNamed) {
  makeFit();
  run("ip rule add pref 12000 from 10.1.0.0/24 lookup 101; ip rule add pref 30000 from 10.1.0.0/24 "
      "lookup 101; ip -6 rule add pref 9000 from fd01::/64 lookup 101");
  apply(twoBackends());
  ASSERT_THAT(state_->warnings(), SizeIs(1));
  EXPECT_THAT(state_->warnings()[0],
              HasSubstr("IPv4 routing rule 12000 (from 10.1.0.0/24 lookup 101)"));
  run("ip rule del pref 12000");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(), IsEmpty());
}

TEST_F(Collision, AVirtualAddressThatTheHostHoldsIsNamed) {
  makeFit();
  apply(twoBackends());
  EXPECT_THAT(state_->warnings(), IsEmpty());
  run("ip addr add 10.9.9.9/32 dev lo");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(),
              Contains(HasSubstr("the virtual address 10.9.9.9 is an address of this host")));
  run("ip addr del 10.9.9.9/32 dev lo");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(), IsEmpty());
}

TEST_F(Collision, RoutesBeforeWeirsInItsTablesAreNamed) {
  makeFit();
  apply(twoBackends());
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(), IsEmpty());
  // Of several default routes the kernel passes over those whose gateway is silent.
  run("ip neigh add 10.2.0.99 dev eth0 lladdr 02:00:00:00:00:99 nud permanent; "
      "ip route prepend default via 10.2.0.99 dev eth0 table 2003107842");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(),
              Contains(HasSubstr("packets for backend 10.2.0.12 (mark 0x20000) go to 10.2.0.99 on "
                                 "eth0: a route that weir has not made comes before weir's in "
                                 "table 2003107842")));
  run("ip route del default via 10.2.0.99 table 2003107842; "
      "ip -6 route add fd09::9 via fd02::99 dev eth0 table 2003107841");
  EXPECT_TRUE(state_->reconcile().ok());
  EXPECT_THAT(state_->warnings(),
              Contains(HasSubstr("packets for backend fd02::11 (mark 0x10000) go to fd02::99")));
  run("ip -6 route del fd09::9 table 2003107841; ip route add 10.9.9.9 via 10.2.0.98 table 700; "
      "ip rule add pref 50 fwmark 0x10000/0xffff0000 lookup 700");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(), Contains(HasSubstr("are routed by table 700")));
  run("ip rule del pref 50");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(state_->warnings(), IsEmpty());
}

TEST_F(Collision, ABackendWithoutAPlaceDoesNotKeepTheOthersOut) {
  KernelWish wanted = twoBackends();
  wanted.backends.push_back({Mark(0x10001), Address::parse("10.2.0.13"), std::nullopt});
  EXPECT_THAT(refusal(wanted), HasSubstr("mark 0x10001 is not one of the 65535 marks"));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 dev eth0"));
  EXPECT_THAT(run("nft list table ip weir"), HasSubstr("10.9.9.9"));
  ASSERT_THAT(state_->unreachable(), SizeIs(1));
  EXPECT_EQ(state_->unreachable()[0].mark, Mark(0x10001));
  apply(twoBackends());
  EXPECT_THAT(state_->unreachable(), IsEmpty());
}

TEST_F(Collision, TheHighestMarksHaveAPlace) {
  apply(wish({backend(8191, "10.2.0.11"), backend(8192, "10.2.0.12"), backend(65533, "10.2.0.13"),
              backend(1, "10.2.0.14")},
             {"10.9.9.9"}));
  EXPECT_THAT(routeGet("10.9.9.9", 8191u << 16), HasSubstr("via 10.2.0.11 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 8192u << 16), HasSubstr("via 10.2.0.12 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 65533u << 16), HasSubstr("via 10.2.0.13 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 1u << 16), HasSubstr("via 10.2.0.14 dev eth0"));
}

TEST_F(Collision, N5_ASubnetIsConnectedByARouteOrAPeerToo) {
  run("ip route add 10.7.0.0/24 dev eth0; ip -6 route add fd07::/64 dev eth0; "
      "ip addr add 10.8.0.1 peer 10.8.1.0/24 dev eth0; "
      "ip link add tunnel type dummy; ip link set tunnel arp off up; "
      "ip route add 10.6.0.0/16 dev tunnel; ip route replace default dev eth1");
  const auto conflict = [&](const char* destination) {
    const std::vector<DivertedRoute> routes{{"r", *Prefix::parse(destination)}};
    const Status fits = state_->checkRoutes(routes);
    return fits ? std::string() : fits.error().message;
  };
  EXPECT_THAT(conflict("10.7.0.0/24"), HasSubstr("is the subnet 10.7.0.0/24"));
  EXPECT_THAT(conflict("10.7.0.128/25"), HasSubstr("lies within the subnet 10.7.0.0/24"));
  EXPECT_THAT(conflict("fd07::/80"), HasSubstr("lies within the subnet fd07::/64"));
  EXPECT_THAT(conflict("10.8.0.1/32"), HasSubstr("10.8.0.1/32"));
  EXPECT_THAT(conflict("10.8.1.0/25"), HasSubstr("10.8.1.0/24"));
  // Wider, over a tunnel, by a default route, through a gateway, nowhere.
  for (const char* destination :
       {"10.7.0.0/23", "10.6.0.0/16", "172.16.0.0/12", "0.0.0.0/0", "::/0", "2001:db8::/32"})
    EXPECT_EQ(conflict(destination), "") << destination;
}

}  // namespace
}  // namespace weir::manager::lab
