// SPDX-License-Identifier: GPL-2.0-or-later
//
// Marks to next hops, and what is weir's and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Prune = KernelState::Prune;

class Routing : public NamespaceTest {};

KernelWish threeBackends() {
  return wish({backend(1, "10.2.0.11", "fd02::11"), backend(2, "10.2.0.12", "fd02::12"),
               backend(5, "10.2.0.15", "fd02::15")},
              {"10.9.9.9", "fd09::9", "192.0.2.0/24", "2001:db8::/32"});
}

void expectOk(const Status& status) {
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
}

TEST_F(Routing, MarksLeadToTheirBackendsInBothFamilies) {
  auto state = openState();
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  EXPECT_TRUE(state->unreachable().empty());
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 0x20000), HasSubstr("via 10.2.0.12 dev eth0"));
  EXPECT_THAT(routeGet("10.9.9.9", 0x50000), HasSubstr("via 10.2.0.15 dev eth0"));
  EXPECT_THAT(routeGet("fd09::9", 0x10000), HasSubstr("via fd02::11 dev eth0"));
  EXPECT_THAT(routeGet("fd09::9", 0x50000), HasSubstr("via fd02::15 dev eth0"));
  // Bits outside of the mask do not matter.
  EXPECT_THAT(routeGet("10.9.9.9", 0x50abc), HasSubstr("via 10.2.0.15 dev eth0"));
}

TEST_F(Routing, UnmarkedAndForeignMarksFollowTheMainTable) {
  auto state = openState();
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  for (const std::uint32_t mark : {0u, 0x1u, 0xffffu, 0x30000u, 0x40000u, 0xff000000u}) {
    EXPECT_THAT(routeGet("10.9.9.9", mark), HasSubstr("via 10.1.0.254 dev eth1")) << mark;
    EXPECT_THAT(routeGet("fd09::9", mark), HasSubstr("via fd01::fe dev eth1")) << mark;
  }
}

TEST_F(Routing, OnlyFamiliesInUseHaveRules) {
  auto state = openState();
  const std::string ipv6Before = run("ip -6 rule; ip -6 route show table all");
  expectOk(state->apply(wish({backend(1, "10.2.0.11")}, {"10.9.9.9"}), Prune::removeOld));
  EXPECT_EQ(run("ip -6 rule; ip -6 route show table all"), ipv6Before);
  EXPECT_THAT(run("nft list tables"), Not(HasSubstr("ip6 weir")));
}

TEST_F(Routing, AnUnchangedWishWritesNothing) {
  auto state = openState();
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  const std::uint64_t writes = state->writes();
  EXPECT_GT(writes, 0u);
  expectOk(state->apply(threeBackends(), Prune::keepOld));
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  const auto repaired = state->reconcile();
  ASSERT_TRUE(repaired.ok());
  EXPECT_FALSE(*repaired);
  EXPECT_EQ(state->writes(), writes);
}

TEST_F(Routing, AnotherBackendCostsARouteAndItsPath) {
  auto state = openState();
  KernelWish wanted = wish({}, {});
  for (std::uint32_t i = 1; i <= 200; ++i)
    wanted.backends.push_back({markOf(i), Address::ipv4(0x0a020000 + 10 + i), std::nullopt});
  expectOk(state->apply(wanted, Prune::removeOld));
  const std::uint64_t before = state->writes();
  wanted.backends.push_back({markOf(201), Address::ipv4(0x0a020000 + 500), std::nullopt});
  expectOk(state->apply(wanted, Prune::removeOld));
  EXPECT_LE(state->writes() - before, 1u + 13u);
}

TEST_F(Routing, KeepOldOnlyAddsAndRemoveOldRemoves) {
  auto state = openState();
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  const KernelWish next = wish({backend(2, "10.2.0.22", "fd02::22"), backend(3, "10.2.0.13")},
                               {"10.9.9.10", "fd09::10", "192.0.0.0/16"});
  expectOk(state->apply(next, Prune::keepOld));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 "));
  EXPECT_THAT(routeGet("10.9.9.9", 0x20000), HasSubstr("via 10.2.0.22 "));
  EXPECT_THAT(routeGet("10.9.9.9", 0x30000), HasSubstr("via 10.2.0.13 "));
  EXPECT_THAT(routeGet("fd09::9", 0x50000), HasSubstr("via fd02::15 "));
  std::string ruleset = run("nft list ruleset");
  for (const char* text : {"10.9.9.9", "10.9.9.10", "fd09::9", "fd09::10", "192.0.0.0/16"})
    EXPECT_THAT(ruleset, HasSubstr(text));

  expectOk(state->apply(next, Prune::removeOld));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.1.0.254 "));
  EXPECT_THAT(routeGet("10.9.9.9", 0x20000), HasSubstr("via 10.2.0.22 "));
  EXPECT_THAT(routeGet("fd09::9", 0x50000), HasSubstr("via fd01::fe "));
  ruleset = run("nft list ruleset");
  EXPECT_THAT(ruleset, Not(HasSubstr("10.9.9.9 ")));
  EXPECT_THAT(ruleset, Not(HasSubstr("2001:db8")));
  EXPECT_THAT(run("ip route show table all proto 87"), Not(HasSubstr("10.2.0.11")));
}

// A node that a goto leads to without forking has a `nop`, which becomes a `goto` when it forks.
TEST_F(Routing, ATreeThatGrowsAndShrinksIsNobodyElsesDoing) {
  auto state = openState();
  std::vector<BackendRoute> backends;
  const auto publish = [&] {
    KernelWish wanted = wish({}, {"10.9.9.9"});
    wanted.backends = backends;
    expectOk(state->apply(wanted, Prune::keepOld));
    EXPECT_TRUE(state->reconcile().ok());
    expectOk(state->apply(wanted, Prune::removeOld));
    for (const KernelChange& change : state->takeChanges())
      ADD_FAILURE() << backends.size() << " backends: " << change.what << ' '
                    << toString(change.kind);
  };
  for (std::uint32_t index = 1; index <= 40; index += 3) {
    backends.push_back(backend(index, "10.2.0.11", "fd02::11"));
    publish();
  }
  while (!backends.empty()) {
    backends.erase(backends.begin() + static_cast<std::ptrdiff_t>(backends.size() / 2));
    publish();
  }
}

TEST_F(Routing, WhatAKilledRunLeftIsCleanedAndNotCalledSomebodysDoing) {
  {
    auto killed = openState();
    expectOk(killed->apply(wish({backend(1, "10.2.0.11"), backend(2, "10.2.0.12"),
                                 backend(4, "10.2.0.14"), backend(9, "10.2.0.19")},
                                {"10.9.9.9"}),
                           Prune::removeOld));
  }
  auto state = openState();
  const KernelWish fewer = wish({backend(1, "10.2.0.11"), backend(5, "10.2.0.15")}, {"10.9.9.9"});
  expectOk(state->apply(fewer, Prune::keepOld));
  expectOk(state->apply(fewer, Prune::removeOld));
  const auto changes = state->takeChanges();
  EXPECT_FALSE(changes.empty());
  for (const KernelChange& change : changes)
    EXPECT_EQ(change.kind, KernelChange::Kind::cleaned) << change.what;
}

TEST_F(Routing, LeftoversOfACrashAreTakenOver) {
  const std::string before = kernelView();
  {
    auto crashed = openState();
    expectOk(crashed->apply(threeBackends(), Prune::removeOld));
  }
  const std::string leftover = kernelView();
  {
    auto successor = openState();
    expectOk(successor->apply(threeBackends(), Prune::removeOld));
    EXPECT_EQ(successor->writes(), 0u);
    EXPECT_EQ(kernelView(), leftover);
  }
  {
    auto other = openState();
    expectOk(other->apply(wish({backend(7, "10.2.0.17")}, {"10.9.9.7"}), Prune::removeOld));
    const std::string view = kernelView();
    EXPECT_THAT(view, HasSubstr("10.2.0.17"));
    EXPECT_THAT(view, Not(HasSubstr("10.2.0.11")));
    EXPECT_THAT(view, Not(HasSubstr("10.9.9.9")));
    EXPECT_THAT(view, Not(HasSubstr("fd02::11")));
  }
  auto cleaner = openState();
  expectOk(cleaner->removeAll());
  EXPECT_EQ(kernelView(), before);
}

TEST_F(Routing, N9_RemoveAllLeavesWhatOthersMadeByteForByte) {
  // In the midst of weir's ranges, but of others.
  run("ip rule add pref 10001 fwmark 0x7 lookup 100; ip rule add pref 10500 from 10.3.0.0/16 "
      "lookup 2003107841 proto 99; ip -6 rule add pref 12000 fwmark 0x70000/0xf0000 lookup 100");
  run("ip route add 10.77.0.0/16 via 10.2.0.9 table 2003107841; ip route add 10.78.0.0/16 dev eth0 "
      "proto 87 table 100; ip -6 route add fd77::/64 via fd02::9 table 100");
  run("nft add table ip other; nft add chain ip other c \"{ type filter hook prerouting priority "
      "-450 ; }\"; nft add rule ip other c ip daddr 10.9.9.9 counter");
  const std::string before = kernelView();
  auto state = openState();
  expectOk(state->apply(threeBackends(), Prune::removeOld));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 dev eth0"));
  const auto repaired = state->reconcile();
  ASSERT_TRUE(repaired.ok());
  EXPECT_FALSE(*repaired);
  expectOk(state->removeAll());
  EXPECT_EQ(kernelView(), before);
  const std::uint64_t writes = state->writes();
  expectOk(state->removeAll());
  EXPECT_EQ(state->writes(), writes);
}

TEST_F(Routing, OtherNumbersMoveEverything) {
  auto state = openState();
  const std::string before = kernelView();
  KernelWish wanted = threeBackends();
  expectOk(state->apply(wanted, Prune::removeOld));
  wanted.ruleBase = 2000;
  wanted.tableBase = 500000;
  wanted.routeProtocol = 88;
  wanted.queueBase = 900;
  wanted.queues = 3;
  expectOk(state->apply(wanted, Prune::keepOld));
  EXPECT_THAT(run("ip rule"), HasSubstr("10000:"));
  expectOk(state->apply(wanted, Prune::removeOld));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 dev eth0 table 500001"));
  EXPECT_THAT(run("ip rule"), Not(HasSubstr("proto 87")));
  EXPECT_EQ(run("ip route show table all proto 87"), "");
  EXPECT_THAT(run("nft list table ip weir"), HasSubstr("to queues 900-902"));
  expectOk(state->removeAll());
  EXPECT_EQ(kernelView(), before);
}

TEST_F(Routing, AnotherMaskReplacesRules) {
  auto state = openState();
  expectOk(state->apply(wish({backend(1, "10.2.0.11")}, {"10.9.9.9"}), Prune::removeOld));
  KernelWish wanted = wish({}, {"10.9.9.9"});
  wanted.fwmarkMask = 0x00000ff0;
  wanted.backends = {{Mark(0x30), Address::parse("10.2.0.13"), std::nullopt}};
  expectOk(state->apply(wanted, Prune::removeOld));
  EXPECT_THAT(routeGet("10.9.9.9", 0x30), HasSubstr("via 10.2.0.13 "));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.1.0.254 "));
  EXPECT_THAT(run("nft list table ip weir"), HasSubstr("mask 0x00000ff0"));
}

TEST_F(Routing, MarksThatCannotBeAreRefused) {
  auto state = openState();
  KernelWish wanted = wish({}, {});
  for (const std::uint32_t mark : {0u, 0x1u, 0x10001u}) {
    wanted.backends = {{Mark(mark), Address::parse("10.2.0.11"), std::nullopt}};
    const Status status = state->apply(wanted, Prune::removeOld);
    ASSERT_FALSE(status) << mark;
    EXPECT_THAT(status.error().message, HasSubstr("is not one of the 65535 marks"));
  }
  EXPECT_EQ(state->writes(), 0u);
}

TEST_F(Routing, UnreachableBackendsNeverFollowTheMainTable) {
  auto state = openState();
  expectOk(state->apply(
      wish({backend(1, "10.2.0.11"), backend(2, "10.5.0.7", "fd05::7"), backend(3, "10.2.0.1"),
            backend(4, "127.0.0.1"), backend(5, "10.2.15.255", "fd02::1")},
           {"10.9.9.9"}),
      Prune::removeOld));
  const auto unreachable = state->unreachable();
  ASSERT_EQ(unreachable.size(), 6u);
  EXPECT_EQ(unreachable[0].mark, markOf(2));
  EXPECT_EQ(unreachable[0].family, Family::ipv4);
  EXPECT_EQ(unreachable[0].reason,
            "10.5.0.7 is not on a directly connected network: reached via gateway 10.1.0.254; a "
            "passthrough backend must be a neighbour");
  EXPECT_EQ(unreachable[1].family, Family::ipv6);
  EXPECT_THAT(unreachable[1].reason, HasSubstr("reached via gateway fd01::fe"));
  EXPECT_THAT(unreachable[2].reason, HasSubstr("10.2.0.1 is an address of this host"));
  EXPECT_THAT(unreachable[3].reason, HasSubstr("127.0.0.1 is an address of this host"));
  EXPECT_THAT(unreachable[4].reason, HasSubstr("10.2.15.255 is not the address of one machine"));
  EXPECT_THAT(unreachable[5].reason, HasSubstr("fd02::1 is an address of this host"));
  for (const std::uint32_t index : {2u, 3u, 4u, 5u})
    EXPECT_THAT(routeGet("10.9.9.9", index << 16), HasSubstr("No route to host")) << index;
  for (const std::uint32_t index : {2u, 5u})
    EXPECT_THAT(routeGet("fd09::9", index << 16), HasSubstr("No route to host")) << index;
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 "));
  const std::uint64_t writes = state->writes();
  ASSERT_FALSE(state->reconcile().value());
  EXPECT_EQ(state->writes(), writes);
}

TEST_F(Routing, UnreachableBackendsComeBackByReconcile) {
  auto state = openState();
  run("ip route del default; ip -6 route del default");
  expectOk(state->apply(wish({backend(1, "10.6.0.11", "fd06::11")}, {}), Prune::removeOld));
  ASSERT_EQ(state->unreachable().size(), 2u);
  EXPECT_THAT(state->unreachable()[0].reason, HasSubstr("no route to 10.6.0.11"));
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("No route to host"));
  // A host route to the link is as good as a subnet.
  run("ip route add 10.6.0.11 dev eth0; ip addr add fd06::1/64 dev eth1 nodad");
  EXPECT_TRUE(state->reconcile().value());
  EXPECT_TRUE(state->unreachable().empty());
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.6.0.11 dev eth0"));
  EXPECT_THAT(routeGet("fd09::9", 0x10000), HasSubstr("via fd06::11 dev eth1"));
  EXPECT_FALSE(state->reconcile().value());
}

}  // namespace
}  // namespace weir::manager::lab
