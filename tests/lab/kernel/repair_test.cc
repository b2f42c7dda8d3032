// SPDX-License-Identifier: GPL-2.0-or-later
//
// What others remove or change is restored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using Prune = KernelState::Prune;

class Repair : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    state_ = openState();
    ASSERT_TRUE(state_->apply(
        wish({backend(1, "10.2.0.11", "fd02::11"), backend(2, "10.2.0.12", "fd02::12"),
              backend(3, "10.2.0.13", "fd02::13")},
             {"10.9.9.9", "fd09::9", "192.0.2.0/24"}),
        Prune::removeOld));
    good_ = kernelView();
  }
  void TearDown() override {
    state_.reset();
    NamespaceTest::TearDown();
  }

  // Disturbs the kernel by a command and expects it to be as before after one reconcile().
  void expectRepairAfter(const std::string& command) {
    run(command);
    EXPECT_NE(kernelView(), good_) << command;
    const auto repaired = state_->reconcile();
    ASSERT_TRUE(repaired.ok()) << command << ": " << repaired.error().message;
    EXPECT_TRUE(*repaired) << command;
    EXPECT_EQ(kernelView(), good_) << command;
    EXPECT_FALSE(state_->reconcile().value()) << command;
  }

  std::unique_ptr<NetlinkKernelState> state_;
  std::string good_;
};

TEST_F(Repair, Rules) {
  // iproute2 spares the rule of the local table.
  expectRepairAfter(
      "ip rule flush; ip rule add pref 32766 lookup main proto kernel; "
      "ip rule add pref 32767 lookup default proto kernel");
  expectRepairAfter("ip -6 rule flush; ip -6 rule add pref 32766 lookup main proto kernel");
  expectRepairAfter("ip rule del pref 10000");
  expectRepairAfter("ip rule add pref 10007 nop proto 87");
}

TEST_F(Repair, AGotoThatLeadsElsewhere) {
  expectRepairAfter(
      "ip rule del pref 10000; ip rule add pref 10000 fwmark 0/0xffff0000 goto 32766 proto 87");
}

TEST_F(Repair, Routes) {
  expectRepairAfter("ip route flush table all proto 87");
  expectRepairAfter("ip -6 route flush table all proto 87");
  expectRepairAfter("ip route replace unreachable default table 2003107841 proto 87");
  expectRepairAfter("ip route replace default via 10.2.0.99 dev eth0 table 2003107842 proto 87");
  expectRepairAfter("ip route replace default via 10.2.0.99 dev eth0 table 2003107842");
  expectRepairAfter(
      "ip -6 route del default table 2003107842; ip -6 route add default via "
      "fd02::99 dev eth0 table 2003107842 proto 87");
  expectRepairAfter(
      "ip -6 route del default table 2003107842; ip -6 route add unreachable default "
      "table 2003107842 proto 87");
  expectRepairAfter("ip route add 10.44.0.0/16 dev eth0 table 2003107841 proto 87");
  expectRepairAfter(
      "ip route add default via 10.2.0.11 dev eth0 metric 7 table 2003107841 proto 87");
  expectRepairAfter("ip -6 route add fd44::/64 dev eth0 table 2003107841 proto 87");
  expectRepairAfter(
      "ip -6 route add default via fd02::11 dev eth0 metric 7 table 2003107841 proto 87");
}

TEST_F(Repair, NfTables) {
  expectRepairAfter("nft flush ruleset");
  expectRepairAfter("nft flush chain ip weir prerouting");
  expectRepairAfter("nft delete table ip6 weir");
  expectRepairAfter("nft flush set ip weir addresses");
  expectRepairAfter("nft add element ip weir addresses { 10.9.9.200 }");
  expectRepairAfter("nft add element ip weir ranges { 10.0.0.0/8 }");
  expectRepairAfter("nft delete element ip weir ranges { 192.0.2.0/24 }");
  expectRepairAfter("nft insert rule ip weir prerouting ip daddr 10.9.9.9 accept");
  expectRepairAfter("nft chain ip weir prerouting \"{ policy drop; }\"");
  expectRepairAfter(
      "nft delete table ip weir; nft add table ip weir; nft add set ip weir addresses "
      "\"{ type ipv4_addr; flags interval; }\"");
}

TEST_F(Repair, NfTablesThatOnlyLookAsBefore) {
  // Without hooks.
  expectRepairAfter("nft \"add table ip weir { flags dormant; }\"");
  // The same expressions and comment, another value.
  const std::string handle =
      run("nft -a list chain ip weir prerouting 2>/dev/null | sed -n 's/.*decided, mask.*# handle "
          "//p'");
  ASSERT_FALSE(handle.empty());
  expectRepairAfter("nft replace rule ip weir prerouting handle " +
                    handle.substr(0, handle.find('\n')) +
                    " meta mark and 0x0 != 0 accept comment \'\"decided, mask 0xffff0000\"\'");
  // Nothing in it, but a policy.
  expectRepairAfter(
      "nft add chain ip weir more \"{ type filter hook prerouting priority -500; policy drop; }\"");
  expectRepairAfter("nft add set ip6 weir more \"{ type ipv6_addr; }\"");
}

TEST_F(Repair, TheOrderOfAdditionDoesNotMatterToTheView) {
  expectRepairAfter("ip rule del pref 10000; ip route flush table 2003107841; nft flush ruleset");
}

TEST_F(Repair, TheMarkingOfArpRequests) {
  KernelWish wanted = wish({backend(1, "10.2.0.11")}, {"10.9.9.9"});
  wanted.announced = {{*Address::parse("10.9.9.9"), true, false, false}};
  wanted.interfaces = {"eth0"};
  ASSERT_TRUE(state_->apply(wanted, Prune::removeOld));
  const auto table = [] { return runMayFail("nft list table arp weir"); };
  const std::string good = table();
  ASSERT_THAT(good, HasSubstr("10.9.9.9: mark"));
  const std::string handle = run(
      "nft -a list chain arp weir input 2>/dev/null | sed -n 's/.*10.9.9.9: mark.*# handle //p'");
  for (const std::string& command :
       {std::string("nft delete table arp weir"),
        std::string("nft \"add table arp weir { flags dormant; }\""),
        std::string("nft chain arp weir input \"{ policy drop; }\""),
        std::string("nft add chain arp weir more \"{ type filter hook input priority 7; policy "
                    "drop; }\""),
        "nft replace rule arp weir input handle " + handle.substr(0, handle.find('\n')) +
            " meta mark set 0x1 comment \'\"10.9.9.9: mark 0xfffe0000/0xffff0000\"\'"}) {
    run(command);
    EXPECT_NE(table(), good) << command;
    EXPECT_TRUE(state_->reconcile().value()) << command;
    EXPECT_EQ(table(), good) << command;
    EXPECT_FALSE(state_->reconcile().value()) << command;
  }
  ASSERT_TRUE(state_->removeAll());
  EXPECT_THAT(run("nft list tables"), ::testing::Not(HasSubstr("weir")));
}

TEST_F(Repair, AnInterfaceThatGoesAndComes) {
  // Without the kernel's own routes, whose order depends on when an interface came up.
  const auto ownView = [] {
    return run(
        "ip rule; ip -6 rule; ip route show table all proto 87; "
        "ip -6 route show table all proto 87");
  };
  const std::string before = ownView();
  run("ip link set eth0 down");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_EQ(state_->unreachable().size(), 6u);
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("No route to host"));
  EXPECT_THAT(routeGet("fd09::9", 0x10000), HasSubstr("No route to host"));
  EXPECT_FALSE(state_->reconcile().value());
  // IPv6 addresses go with the link, as for every program.
  run("ip link set eth0 up; ip addr add fd02::1/64 dev eth0 nodad");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_TRUE(state_->unreachable().empty());
  EXPECT_EQ(ownView(), before);
}

TEST_F(Repair, AnInterfaceThatIsMadeAnew) {
  run("ip link del eth0");
  addInterface("eth0");
  run("ip addr add 10.2.0.1/20 dev eth0; ip addr add fd02::1/64 dev eth0 nodad");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_TRUE(state_->unreachable().empty());
  EXPECT_THAT(routeGet("10.9.9.9", 0x10000), HasSubstr("via 10.2.0.11 dev eth0"));
  EXPECT_THAT(routeGet("fd09::9", 0x30000), HasSubstr("via fd02::13 dev eth0"));
}

TEST_F(Repair, ALinkWithoutCarrierIsToldButKeepsItsRoute) {
  run("ip link add wire type veth peer name other; ip link set wire addrgenmode none; ip link set "
      "wire up; ip addr add 10.8.0.1/24 dev wire");
  ASSERT_TRUE(state_->apply(wish({backend(1, "10.8.0.11")}, {"10.9.9.9"}), Prune::removeOld));
  ASSERT_EQ(state_->unreachable().size(), 1u);
  EXPECT_EQ(state_->unreachable()[0].reason, "10.8.0.11 is behind wire, which has no link");
  EXPECT_THAT(run("ip route show table 2003107841"), HasSubstr("via 10.8.0.11 dev wire"));
  run("ip link set other up");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_TRUE(state_->unreachable().empty());
}

TEST_F(Repair, NothingIsRepairedBeforeAWishOrAfterItsRemoval) {
  ASSERT_TRUE(state_->removeAll());
  EXPECT_FALSE(state_->reconcile().value());
  auto other = openState();
  EXPECT_FALSE(other->reconcile().value());
  EXPECT_EQ(other->writes(), 0u);
}

}  // namespace
}  // namespace weir::manager::lab
