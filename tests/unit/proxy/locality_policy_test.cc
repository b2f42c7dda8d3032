// SPDX-License-Identifier: GPL-2.0-or-later
//
// What each locality policy promises (X4), counted over many connections.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "support/proxy_service.h"

namespace weir {
namespace {

using namespace test;

using Counts = std::map<std::string, int>;

constexpr std::uint32_t kPlenty = 1'000'000;

// Connections that stay open, of one client each.
Counts spread(Balanced& balanced, int connections, std::uint32_t firstClient = 0) {
  Counts counts;
  for (int i = 0; i < connections; ++i)
    ++counts[balanced.open(client(firstClient + static_cast<std::uint32_t>(i)))];
  return counts;
}

int most(const Counts& counts) {
  int value = 0;
  for (const auto& [name, count] : counts) value = std::max(value, count);
  return value;
}
int least(const Counts& counts) {
  int value = INT32_MAX;
  for (const auto& [name, count] : counts) value = std::min(value, count);
  return value;
}

TEST(LocalityPolicy, X4_RoundRobinGivesEveryMemberItsTurn) {
  Balanced balanced(serviceOf({groupOf(0, 7, kPlenty)}));
  const Counts counts = spread(balanced, 700);
  EXPECT_EQ(counts.size(), 7u);
  EXPECT_EQ(least(counts), 100);
  EXPECT_EQ(most(counts), 100);
}

TEST(LocalityPolicy, X4_RoundRobinGoesOnWhereItWasWhenAMemberComes) {
  Balanced balanced(serviceOf({groupOf(0, 3, kPlenty)}));
  const std::string first = balanced.open(client(1));
  const std::string second = balanced.open(client(2));
  balanced.change([](auto& service) { service.groups[0].endpoints.push_back(member(0, 8)); });
  const std::string third = balanced.open(client(3));
  EXPECT_EQ((std::set{first, second, third}).size(), 3u);
}

TEST(LocalityPolicy, X4_RandomIsEven) {
  Balanced balanced(serviceOf({groupOf(0, 10, kPlenty)}, LocalityPolicy::random));
  const Counts counts = spread(balanced, 10'000);
  // Mean 1,000, standard deviation 30.
  EXPECT_EQ(counts.size(), 10u);
  EXPECT_GT(least(counts), 850);
  EXPECT_LT(most(counts), 1150);
  double chi = 0;
  for (const auto& [name, count] : counts) chi += std::pow(count - 1000, 2) / 1000.0;
  EXPECT_GT(chi, 0.5);  // it is no round robin
  EXPECT_LT(chi, 40);   // 9 degrees of freedom: less than 28 in 999 of 1000 seeds
}

// Two choices: the most loaded member is within a constant of the mean (Mitzenmacher), where chance
// alone would be some 3 standard deviations above it.
TEST(LocalityPolicy, X4_LeastRequestKeepsOpenConnectionsEven) {
  Balanced even(serviceOf({groupOf(0, 50, kPlenty)}, LocalityPolicy::leastRequest));
  Balanced chance(serviceOf({groupOf(0, 50, kPlenty)}, LocalityPolicy::random));
  EXPECT_LE(most(spread(even, 5000)), 104);
  EXPECT_GE(most(spread(chance, 5000)), 115);
}

TEST(LocalityPolicy, X4_LeastRequestPrefersWhoHasFewerOpen) {
  Balanced balanced(serviceOf({groupOf(0, 2, kPlenty)}, LocalityPolicy::leastRequest));
  const BackendPick busy = balanced.pick(client(0));
  for (int i = 0; i < 100; ++i) balanced.balancer.opened(busy.slot, balanced.now);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_NE(balanced.pick(client(i)).slot, busy.slot);
}

class HashPolicy : public ::testing::TestWithParam<LocalityPolicy> {
 protected:
  // The share that the most loaded member has of its fair share, at most.
  double skew() const { return GetParam() == LocalityPolicy::maglev ? 1.12 : 1.35; }
};
INSTANTIATE_TEST_SUITE_P(Both, HashPolicy,
                         ::testing::Values(LocalityPolicy::maglev, LocalityPolicy::ringHash));

TEST_P(HashPolicy, X4_EqualConnectionsGoToEqualMembers) {
  Balanced balanced(serviceOf({groupOf(0, 10, kPlenty)}, GetParam()));
  Balanced other(serviceOf({groupOf(0, 10, kPlenty)}, GetParam()));
  for (std::uint32_t i = 0; i < 200; ++i)
    EXPECT_EQ(balanced.open(client(i)), other.pick(client(i)).endpoint->endpoint);
}

TEST_P(HashPolicy, X4_SharesAreNearlyEven) {
  Balanced balanced(serviceOf({groupOf(0, 10, kPlenty)}, GetParam()));
  const Counts counts = spread(balanced, 20'000);
  EXPECT_EQ(counts.size(), 10u);
  EXPECT_LT(most(counts), 2000 * skew());
  EXPECT_GT(least(counts), 2000 / skew());
}

TEST_P(HashPolicy, X4_FewConnectionsMoveWhenAMemberGoes) {
  constexpr std::uint32_t kClients = 10'000;
  Balanced balanced(serviceOf({groupOf(0, 10, kPlenty)}, GetParam()));
  std::vector<std::string> before;
  for (std::uint32_t i = 0; i < kClients; ++i)
    before.push_back(balanced.pick(client(i)).endpoint->endpoint);
  const std::string gone = member(0, 3).endpoint;
  balanced.change([](auto& service) { service.groups[0].endpoints[3].healthy = false; });
  int moved = 0;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const std::string now = balanced.pick(client(i)).endpoint->endpoint;
    EXPECT_NE(now, gone);
    if (before[i] != gone && now != before[i]) ++moved;
  }
  EXPECT_LT(moved, static_cast<int>(kClients) / 50);  // of clients that had no reason to move
}

TEST_P(HashPolicy, X4_TheOrderOfTheConfigurationDoesNotMatter) {
  Balanced balanced(serviceOf({groupOf(0, 10, kPlenty)}, GetParam()));
  auto turned = serviceOf({groupOf(0, 10, kPlenty)}, GetParam());
  std::reverse(turned.groups[0].endpoints.begin(), turned.groups[0].endpoints.end());
  Balanced other(turned);
  for (std::uint32_t i = 0; i < 200; ++i)
    EXPECT_EQ(balanced.pick(client(i)).endpoint->endpoint,
              other.pick(client(i)).endpoint->endpoint);
}

TEST_P(HashPolicy, X4_1_AFullMemberGivesItsClientsToOthers) {
  auto service = serviceOf({groupOf(0, 4, kPlenty)}, GetParam(), SessionAffinity::clientIp);
  service.groups[0].capacity.maxConnections.reset();
  service.groups[0].capacity.maxConnectionsPerEndpoint = 50;
  Balanced balanced(service);
  const Counts counts = spread(balanced, 200);
  EXPECT_EQ(most(counts), 50);
  EXPECT_EQ(least(counts), 50);
}

TEST(LocalityPolicy, X4_WeightedRoundRobinFollowsTheWeights) {
  auto service = serviceOf({groupOf(0, 4, kPlenty)}, LocalityPolicy::weightedRoundRobin);
  const std::vector<std::uint32_t> weights{1, 2, 5, 0};
  for (unsigned i = 0; i < 4; ++i) service.groups[0].endpoints[i].weight = weights[i];
  Balanced balanced(service);
  Counts counts = spread(balanced, 800);
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_NEAR(counts[member(0, i).endpoint], 100 * static_cast<int>(weights[i]), 1) << i;
}

TEST(LocalityPolicy, X4_WeightedRoundRobinSpreadsTurnsEvenly) {
  auto service = serviceOf({groupOf(0, 2, kPlenty)}, LocalityPolicy::weightedRoundRobin);
  service.groups[0].endpoints[0].weight = 3;
  Balanced balanced(service);
  int inARow = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    inARow = balanced.open(client(i)) == member(0, 0).endpoint ? inARow + 1 : 0;
    EXPECT_LE(inARow, 4);
  }
}

TEST(LocalityPolicy, X4_WeightsThatAreAllZeroAreEqual) {
  auto service = serviceOf({groupOf(0, 3, kPlenty)}, LocalityPolicy::weightedRoundRobin);
  for (auto& endpoint : service.groups[0].endpoints) endpoint.weight = 0;
  Balanced balanced(service);
  const Counts counts = spread(balanced, 30);
  EXPECT_EQ(least(counts), 10);
}

// Every one of many clients goes to the member that it named, whatever is full elsewhere; of
// members at one address the one at its port, else the first of the service.
TEST(LocalityPolicy, X4_OriginalDestinationKeepsItsPromiseForEveryClient) {
  auto service = serviceOf({groupOf(0, 50, 10), groupOf(1, 50, 10, "zc", "r2")},
                           LocalityPolicy::originalDestination);
  ProxyEndpoint second = member(1, 7);
  second.port = 81;
  second.endpoint = second.ipv4->toString() + ":81";
  service.groups[1].endpoints.push_back(second);
  Balanced balanced(service);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ProxyConnection wanted = client(i);
    const ProxyEndpoint& named = service.groups[i % 2].endpoints[i / 2 % 50];
    wanted.server = {*named.ipv4, 80};
    EXPECT_EQ(balanced.open(wanted), named.endpoint);
  }
  ProxyConnection wanted = client(1);
  wanted.server = {*second.ipv4, 81};
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, second.endpoint);
  wanted.server.port = 99;
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, member(1, 7).endpoint);
  balanced.change([](auto& changed) { changed.locality = LocalityPolicy::roundRobin; });
  EXPECT_EQ(balanced.pick(wanted).group->name, "g0");
  balanced.change([](auto& changed) { changed.locality = LocalityPolicy::originalDestination; });
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, member(1, 7).endpoint);
  balanced.change([](auto& changed) {
    changed.groups[1].endpoints.erase(changed.groups[1].endpoints.begin() + 7);
  });
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, second.endpoint);
}

TEST(LocalityPolicy, X4_OriginalDestinationGoesWhereTheClientWent) {
  Balanced balanced(serviceOf({groupOf(0, 3, 1), groupOf(1, 3, kPlenty, "zc", "r2")},
                              LocalityPolicy::originalDestination));
  ProxyConnection wanted = client(1);
  wanted.server = {*member(1, 2).ipv4, 80};
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, member(1, 2).endpoint);
  EXPECT_FALSE(balanced.pick(client(1)));  // no member has the virtual address
  balanced.change([](auto& service) { service.groups[1].endpoints[2].healthy = false; });
  EXPECT_FALSE(balanced.pick(wanted));
}

// A group that the policy gives nothing is closed to those too that name a member of it.
TEST(LocalityPolicy, X4_OriginalDestinationIsOnlyFoundInGroupsThatTakePart) {
  Balanced balanced(serviceOf({groupOf(0, 3, kPlenty), groupOf(1, 3, kPlenty, "zc", "r2")},
                              LocalityPolicy::originalDestination));
  ProxyConnection wanted = client(1);
  wanted.server = {*member(1, 2).ipv4, 80};
  balanced.change([](auto& service) { service.groups[1].capacity.capacityScaler = 0; });
  EXPECT_EQ(balanced.pick(wanted).rule, "S3.3");
  balanced.change([](auto& service) { service.groups[1].capacity.capacityScaler = 1; });
  EXPECT_TRUE(balanced.pick(wanted));
  balanced.change([](auto& service) { service.groups[1].drained = true; });
  EXPECT_EQ(balanced.pick(wanted).rule, "S3.3");
  balanced.change([](auto& service) {
    service.groups[1].drained = false;
    service.policy.isolation = Isolation::strict;
  });
  EXPECT_EQ(balanced.pick(wanted).rule, "S5");
  wanted.server = {*member(0, 2).ipv4, 80};
  EXPECT_EQ(balanced.pick(wanted).endpoint->endpoint, member(0, 2).endpoint);
}

}  // namespace
}  // namespace weir
