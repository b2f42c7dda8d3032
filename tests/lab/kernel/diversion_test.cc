// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the nf_tables rules do to packets. Nobody listens to the queues here: what is diverted is
// dropped, what is not arrives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using Prune = KernelState::Prune;

class Diversion : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    // Addresses that would answer if weir did not divert them.
    run("ip addr add 10.9.9.9/32 dev lo; ip addr add fd09::9/128 dev lo nodad");
    client_ = std::make_unique<Host>("clients");
    run("ip addr add 10.4.0.1/24 dev clients; ip addr add fd04::1/64 dev clients nodad");
    client_->run(
        "ip addr add 10.4.0.2/24 dev eth0; ip addr add fd04::2/64 dev eth0 nodad; "
        "ip route add default via 10.4.0.1; ip -6 route add default via fd04::1");
    state_ = openState();
  }
  void TearDown() override {
    state_.reset();
    client_.reset();
    NamespaceTest::TearDown();
  }
  void apply(const KernelWish& wanted) {
    const Status done = state_->apply(wanted, Prune::removeOld);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::unique_ptr<Host> client_;
  std::unique_ptr<NetlinkKernelState> state_;
};

TEST_F(Diversion, VirtualAddressesGoToTheQueueAndNothingElseDoes) {
  EXPECT_TRUE(client_->reaches("10.9.9.9"));
  EXPECT_TRUE(client_->reaches("fd09::9"));
  apply(wish({}, {"10.9.9.9", "fd09::9"}));
  EXPECT_FALSE(client_->reaches("10.9.9.9"));
  EXPECT_FALSE(client_->reaches("fd09::9"));
  EXPECT_TRUE(client_->reaches("10.4.0.1"));
  EXPECT_TRUE(client_->reaches("fd04::1"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_TRUE(client_->reaches("10.9.9.9"));
  EXPECT_TRUE(client_->reaches("fd09::9"));
}

TEST_F(Diversion, MarkedPacketsAreDecided) {
  apply(wish({}, {"10.9.9.9"}));
  run("nft add table ip marker; nft add chain ip marker c \"{ type filter hook prerouting priority "
      "-500 ; }\"; nft add rule ip marker c meta mark set 0x12345678");
  EXPECT_TRUE(client_->reaches("10.9.9.9"));
}

TEST_F(Diversion, N1_RoutesForEverythingSpareTheNodesOwnAddresses) {
  run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
  Host server("servers");
  run("ip addr add 10.7.0.1/24 dev servers; ip addr add fd07::1/64 dev servers nodad");
  server.run(
      "ip addr add 10.7.0.2/24 dev eth0; ip addr add fd07::2/64 dev eth0 nodad; "
      "ip route add default via 10.7.0.1; ip -6 route add default via fd07::1");
  EXPECT_TRUE(client_->reaches("10.7.0.2"));
  EXPECT_TRUE(client_->reaches("fd07::2"));
  apply(wish({}, {"0.0.0.0/0", "::/0"}));
  EXPECT_FALSE(client_->reaches("10.7.0.2"));
  EXPECT_FALSE(client_->reaches("fd07::2"));
  EXPECT_TRUE(client_->reaches("10.4.0.1"));
  EXPECT_TRUE(client_->reaches("fd04::1"));
}

TEST_F(Diversion, RangesNestAndChange) {
  const auto elements = [] { return run("nft list set ip weir ranges"); };
  apply(wish({}, {"10.1.0.0/16", "10.1.2.0/24", "11.0.0.0/8", "12.0.0.0/8"}));
  EXPECT_THAT(elements(), HasSubstr("10.1.0.0/16"));
  EXPECT_THAT(elements(), HasSubstr("11.0.0.0"));
  const std::uint64_t writes = state_->writes();
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_EQ(state_->writes(), writes);

  apply(wish({}, {"10.0.0.0/8", "11.0.0.0/8", "255.0.0.0/8"}));
  EXPECT_THAT(elements(), HasSubstr("10.0.0.0/8"));
  EXPECT_FALSE(state_->reconcile().value());

  apply(wish({}, {"0.0.0.0/0"}));
  EXPECT_FALSE(state_->reconcile().value());
  apply(wish({}, {"10.1.2.0/24", "10.1.3.0/24", "0.0.0.0/8"}));
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(elements(), HasSubstr("0.0.0.0/8"));
}

TEST_F(Diversion, AnotherAddressIsOneMessage) {
  KernelWish wanted = wish({}, {});
  for (std::uint32_t i = 0; i < 3000; ++i)
    wanted.divert.emplace_back(Address::ipv4(0x0b000000 + 2 * i), 32u);
  apply(wanted);
  EXPECT_FALSE(state_->reconcile().value());
  const std::uint64_t writes = state_->writes();
  wanted.divert.emplace_back(Address::ipv4(0x0a090909), 32u);
  apply(wanted);
  EXPECT_EQ(state_->writes(), writes + 1);
  EXPECT_FALSE(client_->reaches("10.9.9.9"));
}

TEST_F(Diversion, OperatorsSeeWhatItIs) {
  apply(wish({}, {"10.9.9.9", "192.0.2.0/24"}));
  const std::string table = run("nft list table ip weir");
  EXPECT_THAT(table, HasSubstr("type filter hook prerouting priority -450; policy accept;"));
  EXPECT_THAT(table, HasSubstr("accept comment \"decided, mask 0xffff0000\""));
  EXPECT_THAT(table, HasSubstr("ip daddr @addresses notrack"));
  EXPECT_THAT(table, HasSubstr("comment \"virtual addresses to queues 8100-8100\""));
}

}  // namespace
}  // namespace weir::manager::lab
