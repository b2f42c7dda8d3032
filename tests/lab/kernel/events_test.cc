// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is heard of, what is said about it, and whose things are whose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = KernelChange::Kind;
using Prune = KernelState::Prune;

class Events : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    state_ = openState();
    ASSERT_TRUE(state_->apply(
        wish({backend(1, "10.2.0.11"), backend(2, "10.2.0.12")}, {"10.9.9.9", "192.0.2.0/24"}),
        Prune::removeOld));
    (void)state_->takeEvents();
    (void)state_->takeChanges();
  }
  void TearDown() override {
    state_.reset();
    NamespaceTest::TearDown();
  }
  bool isNews(const std::string& command) {
    run(command);
    return state_->takeEvents();
  }

  std::unique_ptr<NetlinkKernelState> state_;
};

TEST_F(Events, WhatTouchesWeirIsNews) {
  for (const char* command :
       {"ip rule del pref 10000", "ip route flush table 2003107841", "nft flush ruleset",
        "nft add table ip weir", "ip neigh flush dev eth0", "ip addr add 10.3.0.1/24 dev eth1",
        "ip route add 10.2.0.11 dev eth1", "ip link set eth0 down", "ip nexthop add id 7 dev eth1"})
    EXPECT_TRUE(isNews(command)) << command;
}

TEST_F(Events, WhatDoesNotIsNone) {
  for (const char* command :
       {"ip route add 198.51.100.0/24 dev eth1", "ip route add 10.2.0.13 dev eth1",
        "nft add table ip other", "nft add set ip other s \"{ type ipv4_addr; }\"",
        "nft add element ip other s \"{ 10.9.9.9 }\"",
        "ip neigh add 10.2.0.77 dev eth0 lladdr 02:00:00:00:00:77 nud stale"})
    EXPECT_FALSE(isNews(command)) << command;
}

TEST_F(Events, OwnChangesAreNone) {
  const KernelWish next = wish({backend(1, "10.2.0.11"), backend(3, "10.2.0.13")}, {"10.9.9.10"});
  ASSERT_TRUE(state_->apply(next, Prune::removeOld));
  EXPECT_FALSE(state_->takeEvents());
  ASSERT_TRUE(state_->removeAll());
  EXPECT_FALSE(state_->takeEvents());
}

TEST_F(Events, LostEventsCallForAComparison) {
  // More than any receive buffer holds.
  run("for i in $(seq 1 250); do echo \"add table ip t$i\"; for j in $(seq 1 200); do echo \"add "
      "chain ip t$i c$j\"; done; done | nft -f -");
  EXPECT_TRUE(state_->takeEvents());
}

TEST_F(Events, RepairsAreToldByKindAndName) {
  run("ip rule del pref 10000; ip route flush table 2003107841; nft delete element ip weir "
      "addresses { 10.9.9.9 }");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(state_->takeChanges(),
              ElementsAre(KernelChange{Kind::restored, "1 IPv4 route (to backend 10.2.0.11)"},
                          KernelChange{Kind::restored, "1 IPv4 routing rule (10000)"},
                          KernelChange{Kind::restored,
                                       "1 diverted address (10.9.9.9 of the nf_tables table ip "
                                       "weir)"}));
  run("ip rule add pref 10007 nop proto 87");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(state_->takeChanges(),
              ElementsAre(KernelChange{Kind::removed, "1 IPv4 routing rule (10007)"}));
  run("nft flush ruleset");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(state_->takeChanges(),
              ElementsAre(KernelChange{Kind::restored, "1 nf_tables table (ip weir)"}));
}

TEST_F(Events, TheHostsOwnChangesAreFollowedNotRepaired) {
  run("ip addr add 10.2.0.1/24 dev eth1; ip link set eth0 down");
  EXPECT_TRUE(state_->reconcile().value());
  for (const KernelChange& change : state_->takeChanges())
    EXPECT_EQ(change.kind, Kind::followed) << change.what;
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("dev eth1"));
}

TEST_F(Events, AnEarlierRunsNumbersAreFoundAndCleaned) {
  state_.reset();
  KernelWish other = wish({backend(1, "10.2.0.11")}, {"10.9.9.9"});
  other.ruleBase = 20000;
  other.tableBase = 500000;
  other.routeProtocol = 91;
  other.fwmarkMask = 0x00000ff0;
  other.backends[0].mark = Mark(0x10);
  {
    // Takes over from the fixture's run and is killed.
    auto crashed = NetlinkKernelState::open(other);
    ASSERT_TRUE(crashed.ok());
    ASSERT_TRUE((*crashed)->apply(other, Prune::removeOld));
  }
  EXPECT_EQ(run("ip route show table all proto 87; ip neigh show proto 87"), "");
  state_ = openState();
  ASSERT_TRUE(state_->apply(wish({backend(1, "10.2.0.11")}, {"10.9.9.9"}), Prune::removeOld));
  EXPECT_EQ(run("ip route show table all proto 91"), "");
  EXPECT_THAT(run("ip rule"), Not(HasSubstr("20000:")));
  EXPECT_THAT(run("ip neigh"), Not(HasSubstr("proto 91")));
  bool told = false;
  for (const KernelChange& change : state_->takeChanges())
    told = told || (change.kind == Kind::cleaned &&
                    change.what.find("ruleBase 20000") != std::string::npos);
  EXPECT_TRUE(told);
}

TEST_F(Events, AForeignTableOfOurNameIsRefusedAndLeftAlone) {
  ASSERT_TRUE(state_->removeAll());
  state_.reset();
  run("nft add table ip6 weir; nft add chain ip6 weir somebodys");
  const auto refused = NetlinkKernelState::open();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("nf_tables table `ip6 weir` that weir has not"));
  EXPECT_THAT(run("nft list ruleset"), HasSubstr("chain somebodys"));
}

}  // namespace
}  // namespace weir::manager::lab
