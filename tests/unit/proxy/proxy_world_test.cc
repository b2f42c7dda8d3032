// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_world.h"

#include <gtest/gtest.h>

#include <map>

#include "support/proxy_service.h"

namespace weir {
namespace {

using namespace test;

TlsRoute routeTo(std::string name, std::string host, std::vector<TlsDestination> destinations) {
  TlsRule rule;
  rule.matches = {{{std::move(host)}, {}}};
  rule.destinations = std::move(destinations);
  return {std::move(name), {"tls"}, {std::move(rule)}};
}

ProxySnapshot nodeOf() {
  ProxySnapshot node;
  node.zone = "za";
  node.region = "r1";
  node.zones = {{"za", "r1"}};
  node.fronts = {{"plain", Address::ipv4(0xc0000201), 80, "tcp"},
                 {"secure", Address::ipv4(0xc0000201), 443, "tls"},
                 {"six", *Address::parse("2001:db8::1"), 80, "tcp"}};
  node.targetProxies = {{"tcp", "shop", {}, {}}, {"tls", "", {}, {}}};
  node.tlsRoutes = {routeTo("one", "a.example.com", {{"shop", 1}}),
                    routeTo("split", "s.example.com", {{"shop", 3}, {"other", 1}, {"never", 0}})};
  return node;
}

class World : public ::testing::Test {
 protected:
  World() {
    auto shop = serviceOf({groupOf(0, 1, 1)});
    shop.idleTimeout = std::chrono::seconds(77);
    hear(shop);
    shop.name = "other";
    hear(shop);
    hear(nodeOf());
  }
  void hear(const SnapshotMessage& message) { world_ = world_->after(message); }
  const ProxyWorld::Front& front(std::uint16_t port) const {
    return *world_->frontOf({Address::ipv4(0xc0000201), port});
  }
  ProxyRoute routed(const HelloSeen& hello, std::uint32_t host = 1) const {
    return world_->route(front(443), &hello, client(host));
  }
  std::shared_ptr<const ProxyWorld> world_ = std::make_shared<ProxyWorld>();
};

TEST_F(World, X1_1_FrontsAreFoundByAddressAndPort) {
  EXPECT_EQ(front(80).rule->rule, "plain");
  EXPECT_FALSE(front(80).needsHello());
  EXPECT_TRUE(front(443).needsHello());
  EXPECT_EQ(world_->frontOf({*Address::parse("2001:db8::1"), 80})->rule->rule, "six");
  EXPECT_EQ(world_->frontOf({Address::ipv4(0xc0000201), 81}), nullptr);
  EXPECT_EQ(world_->frontOf({Address::ipv4(0xc0000202), 80}), nullptr);
  EXPECT_EQ(world_->fronts().size(), 3u);
}

TEST_F(World, X2_1_AServiceNeedsNoHello) {
  const ProxyRoute route = world_->route(front(80), nullptr, client(1));
  ASSERT_TRUE(route);
  EXPECT_EQ(route.service->name, "shop");
  EXPECT_EQ(route.tlsRoute, "");
  EXPECT_EQ(route.idleTimeout, std::chrono::seconds(77));
}

TEST_F(World, X6_5_TheRoutesIdleTimeoutWins) {
  const ProxyRoute route = routed({HelloProblem::none, "a.example.com", {}});
  ASSERT_TRUE(route);
  EXPECT_EQ(route.tlsRoute, "one");
  EXPECT_EQ(route.idleTimeout, std::chrono::seconds(3600));
}

TEST_F(World, X6_2_WhatCannotBeRoutedIsClosedWithItsReason) {
  const ProxyRoute noMatch = routed({HelloProblem::none, "b.example.com", {}});
  EXPECT_FALSE(noMatch);
  EXPECT_EQ(noMatch.reason, CloseReason::destinationUnavailable);
  EXPECT_EQ(noMatch.detail, "destination_not_found");
  EXPECT_EQ(noMatch.rule, "X6.2");
  for (const auto problem : {HelloProblem::notTls, HelloProblem::tooLarge, HelloProblem::malformed,
                             HelloProblem::noServerName, HelloProblem::badServerName}) {
    const ProxyRoute refused = routed({problem, "a.example.com", {}});
    EXPECT_EQ(refused.reason, CloseReason::tlsProtocolError);
    EXPECT_EQ(refused.detail, toString(problem));
  }
  EXPECT_EQ(world_->route(front(443), nullptr, client(1)).detail, "client_hello_not_detected");
}

TEST_F(World, X6_5_DestinationsShareByWeightAndEqualConnectionsGoAlike) {
  std::map<std::string, int> counts;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const HelloSeen hello{HelloProblem::none, "s.example.com", {}};
    const ProxyRoute route = routed(hello, i);
    EXPECT_EQ(routed(hello, i).service, route.service);
    ++counts[route.service->name];
  }
  // 6,000 and 2,000; standard deviation 39.
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts["shop"], 6000, 160);
}

TEST_F(World, X7_2_AServiceThatIsNotKnownClosesTheClient) {
  hear(ProxyServiceRemoved{"shop"});
  const ProxyRoute route = world_->route(front(80), nullptr, client(1));
  EXPECT_FALSE(route);
  EXPECT_EQ(route.reason, CloseReason::destinationUnavailable);
}

TEST_F(World, AFullSynchronisationForgetsWhatItDoesNotName) {
  hear(SyncBegin{});
  hear(serviceOf({}));
  EXPECT_NE(world_->service("other"), nullptr);
  hear(SyncEnd{});
  EXPECT_EQ(world_->service("other"), nullptr);
  EXPECT_NE(world_->service("shop"), nullptr);
  EXPECT_EQ(world_->fronts().size(), 3u);
}

TEST_F(World, AnOldWorldGoesOn) {
  const auto old = world_;
  const ProxyWorld::Front& before = *old->frontOf({Address::ipv4(0xc0000201), 80});
  hear(ProxySnapshot{});
  hear(ProxyServiceRemoved{"shop"});
  EXPECT_TRUE(world_->fronts().empty());
  EXPECT_EQ(old->route(before, nullptr, client(1)).service->name, "shop");
}

TEST_F(World, MessagesForOtherProgramsChangeNothing) {
  hear(NodeSnapshot{});
  hear(RulesSnapshot{});
  hear(ServiceRemoved{});
  EXPECT_EQ(world_->services().size(), 2u);
}

}  // namespace
}  // namespace weir
