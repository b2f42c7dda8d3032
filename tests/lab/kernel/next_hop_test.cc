// SPDX-License-Identifier: GPL-2.0-or-later
//
// Packets that come back from an appliance are routed normally (N7). Nobody listens to the queues
// here: what is diverted is dropped, what is not arrives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Prune = KernelState::Prune;

class NextHopTest : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
        "net.ipv4.conf.all.rp_filter=0");
    appliance_ = makeHost("appl", 4);
    server_ = makeHost("servers", 7);
    state_ = openState();
  }
  void TearDown() override {
    state_.reset();
    server_.reset();
    appliance_.reset();
    NamespaceTest::TearDown();
  }
  static std::unique_ptr<Host> makeHost(const std::string& interface, int net) {
    auto host = std::make_unique<Host>(interface);
    const std::string ipv4 = "10." + std::to_string(net) + ".0.";
    const std::string ipv6 = "fd0" + std::to_string(net) + "::";
    run("ip addr add " + ipv4 + "1/24 dev " + interface + "; ip addr add " + ipv6 + "1/64 dev " +
        interface + " nodad");
    host->run("ip addr add " + ipv4 + "2/24 dev eth0; ip addr add " + ipv6 +
              "2/64 dev eth0 nodad; ip route add default via " + ipv4 +
              "1; ip -6 route add default via " + ipv6 + "1");
    return host;
  }
  KernelWish nextHop(std::vector<Address> appliances) {
    KernelWish wanted = wish({backend(1, "10.4.0.2", "fd04::2")}, {"10.9.9.9", "fd09::9"});
    wanted.routes = {{"v4", *Prefix::parse("10.7.0.0/16")}, {"v6", *Prefix::parse("fd07::/48")}};
    wanted.appliances = std::move(appliances);
    return wanted;
  }
  void apply(const KernelWish& wanted) {
    const Status done = state_->apply(wanted, Prune::removeOld);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::unique_ptr<Host> appliance_;
  std::unique_ptr<Host> server_;
  std::unique_ptr<NetlinkKernelState> state_;
};

TEST_F(NextHopTest, N7_WhatAnApplianceSendsToARouteIsNotDiverted) {
  apply(nextHop({}));
  EXPECT_FALSE(appliance_->reaches("10.7.0.2"));
  EXPECT_FALSE(appliance_->reaches("fd07::2"));
  apply(nextHop({*Address::parse("10.4.0.2"), *Address::parse("fd04::2")}));
  EXPECT_TRUE(appliance_->reaches("10.7.0.2"));
  EXPECT_TRUE(appliance_->reaches("fd07::2"));
  // Virtual addresses win: an appliance is a client of theirs like any other.
  EXPECT_THAT(run("nft list chain ip weir prerouting"), HasSubstr("ip daddr @addresses notrack"));
  EXPECT_FALSE(appliance_->reaches("10.9.9.9"));
}

TEST_F(NextHopTest, N7_OthersOnTheSameLinkAreDiverted) {
  appliance_->run(
      "ip link add link eth0 name other type macvlan mode bridge; ip link set other up");
  apply(nextHop({*Address::parse("10.4.0.2")}));
  EXPECT_TRUE(appliance_->reaches("10.7.0.2"));
  // Another machine: another link-layer address.
  appliance_->run(
      "ip addr del 10.4.0.2/24 dev eth0; ip addr add 10.4.0.3/24 dev other; "
      "ip route add default via 10.4.0.1");
  EXPECT_FALSE(appliance_->reaches("10.7.0.2"));
}

TEST_F(NextHopTest, N7_ALinkWithoutLinkLayerAddressesCountsAsAWhole) {
  run("ip tuntap add tun0 mode tun; ip addr add 10.5.0.1/24 dev tun0; ip link set tun0 up");
  KernelWish wanted = nextHop({*Address::parse("10.5.0.2")});
  wanted.backends = {backend(1, "10.5.0.2")};
  apply(wanted);
  EXPECT_THAT(run("nft list set ip weir appliance_links"), HasSubstr("\"tun0\""));
  EXPECT_THAT(run("nft list set ip weir appliances"), Not(HasSubstr("elements")));
}

TEST_F(NextHopTest, N7_NoPacketReachesAnApplianceWhoseWayBackIsUnknown) {
  KernelWish wanted = nextHop({*Address::parse("10.4.0.77")});
  wanted.backends = {backend(1, "10.4.0.77"), backend(2, "10.4.0.78")};
  apply(wanted);
  EXPECT_THAT(routeGet("10.7.0.2", 0x10000), HasSubstr("No route to host"));
  // Not an appliance: as every backend.
  EXPECT_THAT(routeGet("10.7.0.2", 0x20000), HasSubstr("via 10.4.0.78"));
  appliance_->run("ip addr add 10.4.0.77/24 dev eth0");
  run("ping -c 1 -W 2 10.4.0.77");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(routeGet("10.7.0.2", 0x10000), HasSubstr("via 10.4.0.77"));
}

TEST_F(NextHopTest, N7_AFlushDoesNotForgetWhoAnApplianceIs) {
  apply(nextHop({*Address::parse("10.4.0.2")}));
  const std::string before = run("nft list set ip weir appliances");
  EXPECT_THAT(before, HasSubstr("\"appl\" . "));
  appliance_->run("ip link set eth0 arp off");
  run("ip neigh flush dev appl");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_EQ(run("nft list set ip weir appliances"), before);
}

TEST_F(NextHopTest, N7_AVirtualAddressWithinARouteDoesNotGoRound) {
  // The engine's part: packets to the addresses that no rule takes go to the appliance. Answers are
  // under the route too, and nobody reads its queue here: arrivals are counted.
  run("sysctl -qw net.ipv4.ip_forward=1; ip route add 10.9.9.9 via 10.7.0.2; nft add table ip "
      "engine; nft add chain ip engine c \"{ type filter hook prerouting priority -500 ; }\"; nft "
      "add rule ip engine c ip daddr { 10.9.9.8, 10.9.9.9 } meta mark set 0x10000");
  const auto count = [](const Host& host, const std::string& destination) {
    host.run(
        "nft add table ip seen; nft add chain ip seen c \"{ type filter hook prerouting priority 0 "
        "; }\"; nft add rule ip seen c ip daddr " +
        destination + " counter");
  };
  const auto seen = [](const Host& host) { return host.run("nft list table ip seen"); };
  count(*server_, "10.9.9.9");
  count(*appliance_, "10.9.9.8");
  KernelWish wanted = nextHop({*Address::parse("10.4.0.2")});
  apply(wanted);
  EXPECT_THAT(run("nft list table ip weir"), Not(HasSubstr("chain returned")));
  appliance_->reaches("10.9.9.9");
  EXPECT_THAT(seen(*server_), HasSubstr("counter packets 0 "));
  wanted.routes = {{"all", *Prefix::parse("0.0.0.0/0")}};
  apply(wanted);
  EXPECT_THAT(run("nft list chain ip weir returned"), HasSubstr("priority -449"));
  EXPECT_FALSE(state_->reconcile().value());
  // From the appliance: routed normally. From others: to the appliance.
  appliance_->reaches("10.9.9.9");
  EXPECT_THAT(seen(*server_), Not(HasSubstr("counter packets 0 ")));
  server_->reaches("10.9.9.8");
  EXPECT_THAT(seen(*appliance_), Not(HasSubstr("counter packets 0 ")));
}

TEST_F(NextHopTest, N5_RoutesWithinConnectedSubnetsAreRefusedAndLaterOnesTold) {
  makeFit();
  const auto refusal = [&](const char* destination) {
    const std::vector<DivertedRoute> routes{{"r", *Prefix::parse(destination)}};
    const Status status = state_->checkRoutes(routes);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(refusal("10.7.0.0/24"), HasSubstr("is the subnet 10.7.0.0/24, which is directly "
                                                "connected to this host on servers"));
  EXPECT_THAT(refusal("fd07::/80"), HasSubstr("lies within the subnet fd07::/64"));
  EXPECT_EQ(refusal("10.7.0.0/16"), "");
  EXPECT_EQ(refusal("127.1.0.0/16"), "");
  apply(nextHop({}));
  EXPECT_TRUE(state_->warnings().empty());
  run("ip addr add 10.7.9.1/8 dev eth1");
  EXPECT_FALSE(state_->reconcile().value());
  ASSERT_EQ(state_->warnings().size(), 1u);
  EXPECT_THAT(state_->warnings()[0], HasSubstr("10.7.0.0/16 lies within the subnet 10.0.0.0/8"));
}

}  // namespace
}  // namespace weir::manager::lab
