// SPDX-License-Identifier: GPL-2.0-or-later
//
// Neighbours are kept, and told when they do not answer.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "lab/kernel/namespace.h"

namespace weir::manager::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Prune = KernelState::Prune;

class NeighbourTest : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    server_ = std::make_unique<Host>("servers");
    run("ip addr add 10.7.0.1/24 dev servers; ip addr add fd07::1/64 dev servers nodad");
    server_->run("ip addr add 10.7.0.2/24 dev eth0; ip addr add fd07::2/64 dev eth0 nodad");
    state_ = openState();
  }
  void TearDown() override {
    state_.reset();
    server_.reset();
    NamespaceTest::TearDown();
  }
  void apply(const KernelWish& wanted) {
    const Status done = state_->apply(wanted, Prune::removeOld);
    ASSERT_TRUE(done) << done.error().message;
  }
  // Compares, as the manager does, until the condition holds.
  bool comesTrue(std::chrono::seconds limit, const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      EXPECT_TRUE(state_->reconcile().ok());
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  std::unique_ptr<Host> server_;
  std::unique_ptr<NetlinkKernelState> state_;
};

TEST_F(NeighbourTest, AreManagedSparedByCollectionAndOurs) {
  apply(wish({backend(1, "10.7.0.2", "fd07::2")}, {"10.9.9.9"}));
  for (const std::string address : {"10.7.0.2", "fd07::2"}) {
    const auto entry = [&] { return run("ip -d neigh show " + address); };
    EXPECT_TRUE(comesTrue(std::chrono::seconds(5), [&] {
      return entry().find("lladdr") != std::string::npos;
    })) << entry();
    EXPECT_THAT(entry(), HasSubstr("managed extern_learn"));
    EXPECT_THAT(entry(), HasSubstr("proto 87"));
  }
  ASSERT_TRUE(state_->removeAll());
  EXPECT_THAT(run("ip neigh show 10.7.0.2; ip neigh show fd07::2"), IsEmpty());
}

TEST_F(NeighbourTest, N9_AnOrdinaryEntryIsThereAgainAfterwards) {
  run("ip neigh add 10.7.0.2 dev servers lladdr 02:00:00:00:00:02 nud stale");
  const std::string before = run("ip -d neigh show 10.7.0.2");
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  EXPECT_THAT(run("ip -d neigh show 10.7.0.2"), HasSubstr("proto 87"));
  ASSERT_TRUE(state_->removeAll());
  const std::string after = run("ip -d neigh show 10.7.0.2");
  EXPECT_THAT(after, HasSubstr("STALE"));
  EXPECT_THAT(after, Not(HasSubstr("proto")));
  EXPECT_THAT(after, Not(HasSubstr("managed")));
  EXPECT_THAT(before, HasSubstr("STALE"));
}

TEST_F(NeighbourTest, N9_WithTheProtocolThatItHad) {
  run("ip neigh add 10.7.0.2 dev servers lladdr 02:00:00:00:00:02 nud stale protocol static");
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  EXPECT_THAT(run("ip -d neigh show 10.7.0.2"), HasSubstr("proto 87"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_THAT(run("ip -d neigh show 10.7.0.2"), HasSubstr("STALE proto static"));
}

TEST_F(NeighbourTest, N9_AnEntryThatAnOperatorMadePermanentMeanwhileStays) {
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  run("ip neigh replace 10.7.0.2 dev servers lladdr 02:00:00:00:00:02 nud permanent");
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_THAT(run("ip neigh show 10.7.0.2"), HasSubstr("02:00:00:00:00:02 PERMANENT"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_THAT(run("ip neigh show 10.7.0.2"), HasSubstr("02:00:00:00:00:02 PERMANENT"));
}

TEST_F(NeighbourTest, AnotherProtocolNumberIsNoRestoration) {
  KernelWish wanted = wish({backend(1, "10.7.0.2", "fd07::2")}, {"10.9.9.9"});
  apply(wanted);
  (void)state_->takeChanges();
  wanted.routeProtocol = 91;
  apply(wanted);
  EXPECT_THAT(state_->takeChanges(), IsEmpty());
  EXPECT_THAT(run("ip neigh show 10.7.0.2"), HasSubstr("proto 91"));
  EXPECT_THAT(run("ip neigh"), Not(HasSubstr("proto 87")));
}

TEST_F(NeighbourTest, OnesThatAKilledRunKeptAreOursAndNotStrangers) {
  const KernelWish both = wish({backend(1, "10.7.0.2"), backend(2, "10.7.0.3")}, {"10.9.9.9"});
  apply(both);
  state_ = openState();  // without removeAll(): as after kill -9
  apply(both);
  EXPECT_THAT(state_->takeChanges(), IsEmpty());
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  EXPECT_THAT(state_->takeChanges(), IsEmpty());
  EXPECT_THAT(run("ip neigh show 10.7.0.3"), Not(HasSubstr("proto 87")));
  // And what somebody takes away is told as such.
  run("ip neigh del 10.7.0.2 dev servers");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(state_->takeChanges(), SizeIs(1));
}

TEST_F(NeighbourTest, WhatOthersKeepIsUsedAsItIs) {
  run("ip neigh add 10.7.0.2 dev servers lladdr 02:00:00:00:00:02 nud permanent; "
      "ip neigh add 10.7.0.3 dev servers managed extern_learn proto 123");
  const auto view = [] {
    return run(
        "ip -d neigh show 10.7.0.2; ip -d neigh show 10.7.0.3 | "
        "grep -o 'managed.*proto 123'");
  };
  const std::string before = run("ip -d neigh show 10.7.0.2");
  apply(wish({backend(1, "10.7.0.2"), backend(2, "10.7.0.3")}, {"10.9.9.9"}));
  EXPECT_FALSE(state_->reconcile().value());
  EXPECT_EQ(run("ip -d neigh show 10.7.0.2"), before);
  EXPECT_THAT(run("ip -d neigh show 10.7.0.3"), HasSubstr("proto 123"));
  ASSERT_TRUE(state_->removeAll());
  EXPECT_EQ(run("ip -d neigh show 10.7.0.2"), before);
  EXPECT_THAT(view(), HasSubstr("proto 123"));
}

TEST_F(NeighbourTest, OneThatDoesNotAnswerIsUnreachableUntilItDoes) {
  apply(wish({backend(1, "10.7.0.2"), backend(2, "10.7.0.9")}, {"10.9.9.9"}));
  ASSERT_TRUE(comesTrue(std::chrono::seconds(6), [&] { return !state_->unreachable().empty(); }));
  ASSERT_THAT(state_->unreachable(), SizeIs(1));
  EXPECT_EQ(state_->unreachable()[0].mark, markOf(2));
  EXPECT_EQ(state_->unreachable()[0].reason, "no neighbour answer for 10.7.0.9 on servers");
  // Its route stays: the kernel asks again by itself.
  EXPECT_THAT(routeGet("10.9.9.9", 0x20000), HasSubstr("via 10.7.0.9 dev servers"));
  server_->run("ip addr add 10.7.0.9/24 dev eth0");
  EXPECT_TRUE(comesTrue(std::chrono::seconds(12), [&] { return state_->unreachable().empty(); }));
}

TEST_F(NeighbourTest, AReplacedMachineIsFoundWithoutAnyAnnouncement) {
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  ASSERT_TRUE(comesTrue(std::chrono::seconds(5), [] {
    return run("ip neigh show 10.7.0.2").find("lladdr") != std::string::npos;
  }));
  server_->run(
      "sysctl -qw net.ipv4.conf.eth0.arp_notify=0; ip link set eth0 address 02:00:00:00:07:07");
  EXPECT_TRUE(comesTrue(std::chrono::seconds(20), [] {
    return run("ip neigh show 10.7.0.2").find("02:00:00:00:07:07") != std::string::npos;
  })) << run("ip -s -d neigh show 10.7.0.2");
}

// Two machines that swap their addresses answer each other's probes: for the kernel a proof that
// the link-layer address is right.
TEST_F(NeighbourTest, AReplacedMachineIsFoundThoughTrafficConfirmsTheOldOne) {
  apply(wish({backend(1, "10.7.0.2")}, {"10.9.9.9"}));
  ASSERT_TRUE(comesTrue(std::chrono::seconds(5), [] {
    return run("ip neigh show 10.7.0.2").find("lladdr") != std::string::npos;
  }));
  const Fd traffic(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(0x0a070002);
  ASSERT_EQ(::connect(traffic.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  server_->run(
      "sysctl -qw net.ipv4.conf.eth0.arp_notify=0; ip link set eth0 address 02:00:00:00:07:07");
  EXPECT_TRUE(comesTrue(std::chrono::seconds(20), [&] {
    (void)::send(traffic.get(), "", 1, MSG_CONFIRM | MSG_DONTWAIT);
    return run("ip neigh show 10.7.0.2").find("02:00:00:00:07:07") != std::string::npos;
  })) << run("ip -s -d neigh show 10.7.0.2");
}

TEST_F(NeighbourTest, AFlushedEntryIsPutBack) {
  apply(wish({backend(1, "10.7.0.2", "fd07::2")}, {"10.9.9.9"}));
  (void)state_->takeChanges();
  run("ip neigh flush dev servers; ip -6 neigh flush dev servers");
  EXPECT_TRUE(state_->reconcile().value());
  EXPECT_THAT(run("ip neigh show 10.7.0.2"), HasSubstr("proto 87"));
  EXPECT_THAT(run("ip neigh show fd07::2"), HasSubstr("proto 87"));
  const auto changes = state_->takeChanges();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0], (KernelChange{KernelChange::Kind::restored,
                                      "2 neighbours (10.7.0.2 on servers, fd07::2 on servers)"}));
}

}  // namespace
}  // namespace weir::manager::lab
