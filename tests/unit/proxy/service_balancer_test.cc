// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/service_balancer.h"

#include <gtest/gtest.h>

#include <set>

#include "support/proxy_service.h"

namespace weir {
namespace {

using namespace test;

TEST(ServiceBalancer, NothingIsPickedBeforeTheFirstSnapshot) {
  ServiceBalancer balancer(1, 2);
  const BackendPick pick = balancer.pick({client(1), atMs(0)});
  EXPECT_FALSE(pick);
  EXPECT_EQ(pick.reason, CloseReason::destinationUnavailable);
}

TEST(ServiceBalancer, X3_2_OnlyHealthyMembersServe) {
  auto service = serviceOf({groupOf(0, 3, 100)});
  service.groups[0].endpoints[0].healthy = false;
  service.groups[0].endpoints[1].drainDeadline = atMs(99'000);
  Balanced balanced(service);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(balanced.open(client(i)), member(0, 2).endpoint);
  balanced.change([](auto& s) { s.groups[0].endpoints[2].healthy = false; });
  const BackendPick none = balanced.pick(client(1));
  EXPECT_EQ(none.rule, "X3.2");
  EXPECT_EQ(none.detail, close_detail::kFailedToPickBackend);
  EXPECT_EQ(none.reason, CloseReason::destinationUnavailable);
}

TEST(ServiceBalancer, X3_3_EveryTryGoesToAnotherMemberThenToAnotherGroup) {
  for (const auto policy :
       {LocalityPolicy::roundRobin, LocalityPolicy::leastRequest, LocalityPolicy::random,
        LocalityPolicy::ringHash, LocalityPolicy::maglev, LocalityPolicy::weightedRoundRobin}) {
    Balanced balanced(serviceOf({groupOf(0, 2, 100), groupOf(1, 1, 100, "zc", "r2")}, policy));
    std::vector<ProxySlot> tried;
    std::set<std::string> names;
    for (int i = 0; i < 3; ++i) {
      const BackendPick pick = balanced.pick(client(7), tried);
      ASSERT_TRUE(pick);
      EXPECT_EQ(pick.group->name, i < 2 ? "g0" : "g1");
      names.insert(pick.endpoint->endpoint);
      tried.push_back(pick.slot);
    }
    EXPECT_EQ(names.size(), 3u);
    EXPECT_EQ(balanced.pick(client(7), tried).rule, "X3.3");
  }
}

TEST(ServiceBalancer, APreviewIsWhatComesAndChangesNothing) {
  for (const auto policy :
       {LocalityPolicy::roundRobin, LocalityPolicy::leastRequest, LocalityPolicy::random,
        LocalityPolicy::ringHash, LocalityPolicy::maglev, LocalityPolicy::weightedRoundRobin})
    for (const auto affinity : {SessionAffinity::none, SessionAffinity::clientIp}) {
      Balanced balanced(serviceOf({groupOf(0, 9, 100)}, policy, affinity));
      for (std::uint32_t i = 0; i < 20; ++i) {
        const ProxyConnection from = client(i, 77);
        const BackendPick would = balanced.balancer.preview({from, balanced.now});
        ASSERT_TRUE(would);
        EXPECT_EQ(balanced.balancer.preview({from, balanced.now}).slot, would.slot);
        EXPECT_EQ(would.rule, "S3");  // a preview is not remembered as the client's last backend
        EXPECT_EQ(balanced.balancer.nameOf(would.slot),
                  std::pair(would.group->name, would.endpoint->endpoint));
        EXPECT_EQ(balanced.open(from), would.endpoint->endpoint);
      }
    }
}

TEST(ServiceBalancer, X4_1_AClientStaysWhileOthersAreSentOn) {
  Balanced balanced(serviceOf({groupOf(0, 4, 6), groupOf(1, 4, 100, "zb")}, LocalityPolicy::maglev,
                              SessionAffinity::clientIp));
  const std::string home = balanced.open(client(1, 1));
  for (std::uint16_t port = 2; port <= 5; ++port) EXPECT_EQ(balanced.open(client(1, port)), home);
  EXPECT_EQ(balanced.pick(client(1, 6)).rule, "X4.1");
  balanced.open(client(2));  // g0 is full now
  const BackendPick away = balanced.pick(client(1, 7));
  EXPECT_EQ(away.group->name, "g1");
  EXPECT_EQ(away.rule, "S3");
  // It was sent on, and stays there even when there is room again.
  balanced.balancer.closed(balanced.opened[0], balanced.now);
  EXPECT_EQ(balanced.pick(client(1, 8)).endpoint->endpoint, away.endpoint->endpoint);
}

TEST(ServiceBalancer, X4_1_AClientMovesWhenItsBackendIsGoneAndOthersDoNot) {
  auto service =
      serviceOf({groupOf(0, 8, 100'000)}, LocalityPolicy::maglev, SessionAffinity::clientIp);
  Balanced balanced(service);
  std::vector<std::string> before;
  for (std::uint32_t i = 0; i < 500; ++i) before.push_back(balanced.open(client(i)));
  const std::string gone = member(0, 5).endpoint;
  balanced.change([](auto& s) { s.groups[0].endpoints[5].drainDeadline = atMs(5000); });
  for (std::uint32_t i = 0; i < 500; ++i) {
    const std::string now = balanced.open(client(i, 2));
    if (before[i] == gone)
      EXPECT_NE(now, gone);
    else
      EXPECT_EQ(now, before[i]);
  }
}

TEST(ServiceBalancer, X4_1_AffinityHoldsWithEveryLocalityPolicy) {
  for (const auto policy :
       {LocalityPolicy::roundRobin, LocalityPolicy::leastRequest, LocalityPolicy::random,
        LocalityPolicy::ringHash, LocalityPolicy::weightedRoundRobin}) {
    Balanced balanced(serviceOf({groupOf(0, 5, 1000)}, policy, SessionAffinity::clientIpProto));
    for (std::uint32_t i = 0; i < 20; ++i) {
      const std::string first = balanced.open(client(i, 1));
      EXPECT_EQ(balanced.open(client(i, 2)), first);
    }
  }
}

TEST(ServiceBalancer, X4_1_WhatTheAffinityNamesCounts) {
  const auto differs = [](SessionAffinity affinity, auto change) {
    Balanced balanced(serviceOf({groupOf(0, 50, 100'000)}, LocalityPolicy::maglev, affinity));
    int different = 0;
    for (std::uint32_t i = 0; i < 50; ++i) {
      ProxyConnection connection = client(i);
      const std::string first = balanced.pick(connection).endpoint->endpoint;
      change(connection);
      different += balanced.pick(connection).endpoint->endpoint != first ? 1 : 0;
    }
    return different > 25;
  };
  const auto port = [](ProxyConnection& c) { ++c.client.port; };
  const auto server = [](ProxyConnection& c) { c.server.address = Address::ipv4(0xc0000202); };
  EXPECT_TRUE(differs(SessionAffinity::none, port));
  EXPECT_TRUE(differs(SessionAffinity::clientIpPortProto, port));
  EXPECT_FALSE(differs(SessionAffinity::clientIpProto, port));
  EXPECT_FALSE(differs(SessionAffinity::clientIp, port));
  EXPECT_TRUE(differs(SessionAffinity::clientIp, server));
  EXPECT_FALSE(differs(SessionAffinity::clientIpNoDestination, server));
}

TEST(ServiceBalancer, X4_4_TheBreakerCountsWhatIsOpen) {
  auto service = serviceOf({groupOf(0, 2, 1)});
  service.maxConnections = 2;
  Balanced balanced(service);
  balanced.open(client(1));
  balanced.open(client(2));
  const BackendPick refused = balanced.pick(client(3));
  EXPECT_EQ(refused.reason, CloseReason::connectionLimitReached);
  EXPECT_EQ(refused.rule, "X4.4");
  balanced.balancer.closed(balanced.opened[0], balanced.now);
  EXPECT_TRUE(balanced.pick(client(3)));
  EXPECT_EQ(balanced.balancer.openConnections(), 1u);
}

TEST(ServiceBalancer, X4_2_ARateForgetsAfterASecond) {
  auto near = groupOf(0, 1, 1);
  near.capacity = {};
  near.capacity.mode = BalancingMode::rate;
  near.capacity.maxRate = 3;
  Balanced balanced(serviceOf({near, groupOf(1, 1, 100, "zb")}));
  const auto groupOfNext = [&] {
    const BackendPick pick = balanced.pick(client(1));
    balanced.balancer.opened(pick.slot, balanced.now);
    balanced.balancer.closed(pick.slot, balanced.now);
    return pick.group->name;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(groupOfNext(), "g0");
  EXPECT_EQ(groupOfNext(), "g1");
  balanced.now += std::chrono::milliseconds(999);
  EXPECT_EQ(groupOfNext(), "g1");
  balanced.now += std::chrono::milliseconds(1);
  EXPECT_EQ(groupOfNext(), "g0");
  EXPECT_DOUBLE_EQ(balanced.balancer.loads(balanced.now)[0].load, 1);
}

ProxyGroup byRate(unsigned number, std::uint32_t rate, std::string zone) {
  ProxyGroup group = groupOf(number, 2, 1, std::move(zone));
  group.capacity = {};
  group.capacity.mode = BalancingMode::rate;
  group.capacity.maxRate = rate;
  return group;
}

// Whatever else a reload changes, what began in the last second counts after it, until it is a
// second old.
TEST(ServiceBalancer, X4_2_ARateOutlivesReloads) {
  const std::vector<void (*)(ProxyServiceSnapshot&)> reloads{
      [](auto&) {},
      [](auto& s) { s.maxConnections = 1000; },
      [](auto& s) { s.policy.algorithm = LbAlgorithm::sprayToRegion; },
      [](auto& s) { s.locality = LocalityPolicy::random; },
      [](auto& s) { s.groups.insert(s.groups.begin(), groupOf(7, 1, 5, "zc", "r2")); },
      [](auto& s) { std::swap(s.groups[0], s.groups[1]); },
      [](auto& s) { s.groups[0].endpoints.push_back(member(0, 9)); },
      [](auto& s) { s.groups[0].endpoints.erase(s.groups[0].endpoints.begin()); },
      [](auto& s) { s.groups[0].endpoints[1].healthy = false; },
      [](auto& s) { s.groups[0].capacity.maxRate = 3; }};
  for (std::size_t i = 0; i < reloads.size(); ++i) {
    Balanced balanced(serviceOf({byRate(0, 3, "za"), byRate(1, 50, "zb")}));
    for (std::uint32_t c = 0; c < 3; ++c) balanced.open(client(c));
    const auto rate = [&] {
      for (const auto& load : balanced.balancer.loads(balanced.now))
        if (load.group == "g0") return load.load;
      return -1.0;
    };
    balanced.now += std::chrono::milliseconds(400);
    balanced.change(reloads[i]);
    EXPECT_EQ(rate(), 3) << i;
    EXPECT_EQ(balanced.pick(client(9)).group->name, "g1") << i;
    balanced.now += std::chrono::milliseconds(599);
    balanced.change(reloads[0]);
    EXPECT_EQ(rate(), 3) << i;
    balanced.now += std::chrono::milliseconds(1);
    EXPECT_EQ(rate(), 0) << i;
    EXPECT_EQ(balanced.pick(client(9)).group->name, "g0") << i;
  }
}

// What its connections were before says nothing about a rate; within the window it is right.
TEST(ServiceBalancer, X4_2_AGroupThatBeginsToCountByRateIsRightWithinASecond) {
  Balanced balanced(serviceOf({groupOf(0, 2, 100), groupOf(1, 2, 100, "zb")}));
  for (std::uint32_t c = 0; c < 20; ++c) balanced.open(client(c));
  balanced.change([](auto& s) { s.groups[0] = byRate(0, 3, "za"); });
  EXPECT_EQ(balanced.balancer.loads(balanced.now)[0].connections, 20u);
  for (int tenth = 0; tenth < 30; ++tenth) {
    balanced.open(client(100));
    balanced.now += std::chrono::milliseconds(100);
    EXPECT_LE(balanced.balancer.loads(balanced.now)[0].load, 3);
  }
  balanced.change([](auto& s) { s.groups[0] = groupOf(0, 2, 100); });
  EXPECT_GE(balanced.balancer.loads(balanced.now)[0].load, 20);
}

ProxyGroup byUtilization(unsigned number, unsigned members, std::string zone) {
  ProxyGroup group = groupOf(number, members, 1, std::move(zone));
  group.capacity = {};
  group.capacity.mode = BalancingMode::utilization;
  return group;
}

ProxyLoadReport reportOf(const ProxyGroup& group, std::vector<double> values, Time until) {
  ProxyLoadReport report;
  report.service = "shop";
  for (std::size_t i = 0; i < values.size(); ++i)
    report.items.push_back({group.name, group.endpoints[i].endpoint, {values[i], until}});
  return report;
}

TEST(ServiceBalancer, X4_2_UtilizationFillsAGroupAndAgesOut) {
  const ProxyGroup near = byUtilization(0, 2, "za");
  Balanced balanced(serviceOf({near, byUtilization(1, 2, "zb")}));
  EXPECT_EQ(balanced.pick(client(1)).group->name, "g0");
  balanced.balancer.report(reportOf(near, {0.9, 0.7}, atMs(16'000)), balanced.now);
  EXPECT_EQ(balanced.pick(client(1)).group->name, "g1");  // 0.8 on average is full
  EXPECT_NEAR(balanced.balancer.loads(balanced.now)[0].fill, 1, 1e-9);
  balanced.now = atMs(16'000);
  EXPECT_EQ(balanced.pick(client(1)).group->name, "g1");
  balanced.now = atMs(16'001);
  EXPECT_EQ(balanced.pick(client(1)).group->name, "g0");
}

TEST(ServiceBalancer, X4_2_UtilizationMovesOnWithTheConnectionsBetweenReports) {
  const ProxyGroup near = byUtilization(0, 1, "za");
  Balanced balanced(serviceOf({near, byUtilization(1, 1, "zb")}));
  for (std::uint32_t i = 0; i < 400; ++i) balanced.open(client(i));
  balanced.balancer.report(reportOf(near, {0.4}, atMs(60'000)), balanced.now);
  std::uint32_t more = 0;
  while (balanced.pick(client(more)).group->name == "g0") balanced.open(client(more++));
  EXPECT_NEAR(more, 400, 2);  // 0.4 by 400 connections: 0.8 by 800
}

TEST(ServiceBalancer, X4_2_EquallyIdleGroupsShareByTheirMembers) {
  auto service = serviceOf({byUtilization(0, 1, "za"), byUtilization(1, 3, "za")});
  service.policy.algorithm = LbAlgorithm::sprayToRegion;
  Balanced balanced(service);
  for (std::uint32_t i = 0; i < 400; ++i) balanced.open(client(i));
  const auto loads = balanced.balancer.loads(balanced.now);
  EXPECT_NEAR(static_cast<double>(loads[0].connections), 100, 2);
  EXPECT_NEAR(static_cast<double>(loads[1].connections), 300, 2);
}

TEST(ServiceBalancer, X1_3_TheSelectionIsForMembersThatHaveBothFamilies) {
  const Address six = *Address::parse("fd00::1");
  const auto picked = [&](AddressSelection selection, bool four, bool both) {
    auto service = serviceOf({groupOf(0, 1, 10)});
    service.addressSelection = selection;
    auto& endpoint = service.groups[0].endpoints[0];
    if (!four || both) endpoint.ipv6 = six;
    if (!four) endpoint.ipv4.reset();
    Balanced balanced(service);
    return balanced.pick(client(1)).address.address == six;
  };
  for (const auto selection :
       {AddressSelection::ipv4Only, AddressSelection::preferIpv6, AddressSelection::ipv6Only}) {
    EXPECT_FALSE(picked(selection, true, false));
    EXPECT_TRUE(picked(selection, false, false));
    EXPECT_EQ(picked(selection, true, true), selection != AddressSelection::ipv4Only);
  }
}

TEST(ServiceBalancer, X1_3_PreferredIpv6FallsBackToIpv4WhenNobodyElseIsLeft) {
  auto service = serviceOf({groupOf(0, 1, 10)});
  service.addressSelection = AddressSelection::preferIpv6;
  service.groups[0].endpoints[0].ipv6 = Address::parse("fd00::1");
  Balanced balanced(service);
  const BackendPick first = balanced.pick(client(1));
  const std::vector<ProxySlot> tried{first.slot};
  const BackendPick second = balanced.pick(client(1), tried);
  EXPECT_EQ(second.address.address, member(0, 0).ipv4);
  EXPECT_EQ(second.address.port, 80);
}

TEST(ServiceBalancer, X3_1_NamesServeOnceTheyAreResolvedAndAllTheirAddressesAreTried) {
  auto service = serviceOf({groupOf(0, 1, 10)});
  auto& endpoint = service.groups[0].endpoints[0];
  endpoint.ipv4.reset();
  endpoint.fqdn = "db.example.com";
  Balanced balanced(service);
  EXPECT_EQ(balanced.pick(client(1)).rule, "X3.1");
  balanced.balancer.resolved(
      "db.example.com",
      {Address::ipv4(0x0a010101), Address::ipv4(0x0a010102), Address::ipv4(0x0a010103)});
  std::vector<ProxySlot> tried;
  std::set<Address> addresses;
  for (int i = 0; i < 3; ++i) {
    const BackendPick pick = balanced.pick(client(1), tried);
    ASSERT_TRUE(pick);
    addresses.insert(pick.address.address);
    tried.push_back(pick.slot);
  }
  EXPECT_EQ(addresses.size(), 3u);
  EXPECT_FALSE(balanced.pick(client(1), tried));
  balanced.change([](auto& s) { s.connectTimeout = std::chrono::seconds(2); });
  EXPECT_TRUE(balanced.pick(client(1)));  // a snapshot forgets no addresses
}

TEST(ServiceBalancer, X5_4_DrainingMembersExpireAtTheirDeadline) {
  Balanced balanced(serviceOf({groupOf(0, 1, 10)}));
  balanced.open(client(1));
  const ProxySlot slot = balanced.opened[0];
  balanced.change([](auto& s) { s.groups[0].endpoints[0].drainDeadline = atMs(5000); });
  EXPECT_EQ(balanced.balancer.nextDrainDeadline(balanced.now), atMs(5000));
  EXPECT_TRUE(balanced.balancer.expired(atMs(4999)).empty());
  EXPECT_EQ(balanced.balancer.expired(atMs(5000)), std::vector{slot});
  balanced.balancer.closed(slot, atMs(5000));
  EXPECT_TRUE(balanced.balancer.expired(atMs(6000)).empty());
  EXPECT_FALSE(balanced.balancer.nextDrainDeadline(balanced.now));
}

TEST(ServiceBalancer, X5_4_AMemberThatLeftItsGroupHasDrainedAGroupThatLeftHasNot) {
  Balanced balanced(serviceOf({groupOf(0, 1, 1), groupOf(1, 1, 10, "zb")}));
  balanced.open(client(1));
  balanced.open(client(2));
  balanced.change([](auto& s) { s.groups.erase(s.groups.begin() + 1); });
  EXPECT_TRUE(balanced.balancer.expired(balanced.now).empty());
  balanced.change([](auto& s) { s.groups[0].endpoints = {member(0, 9)}; });
  EXPECT_EQ(balanced.balancer.expired(balanced.now), std::vector{balanced.opened[0]});
  for (const ProxySlot slot : balanced.opened) balanced.balancer.closed(slot, balanced.now);
  EXPECT_EQ(balanced.balancer.openConnections(), 0u);
  EXPECT_EQ(balanced.balancer.openConnections(balanced.opened[0]), 0u);
}

TEST(ServiceBalancer, S6_AChangeElsewhereLeavesTheTurnsOfAGroupAlone) {
  for (const auto policy : {LocalityPolicy::roundRobin, LocalityPolicy::weightedRoundRobin}) {
    Balanced balanced(serviceOf({groupOf(0, 4, 1000), groupOf(1, 4, 1000, "zb")}, policy));
    std::set<std::string> names;
    for (std::uint32_t i = 0; i < 4; ++i) {
      names.insert(balanced.open(client(i)));
      balanced.change([&](auto& s) {
        s.groups[1].endpoints[i].healthy = false;
        std::swap(s.groups[0], s.groups[1]);
        std::swap(s.groups[0], s.groups[1]);
      });
    }
    EXPECT_EQ(names.size(), 4u);
  }
}

TEST(ServiceBalancer, S6_AChangeOfPolicyOrHealthMovesOnlyNewConnections) {
  Balanced balanced(serviceOf({groupOf(0, 2, 4), groupOf(1, 2, 4, "zc", "r2")}));
  for (std::uint32_t i = 0; i < 3; ++i) balanced.open(client(i));
  const std::vector<void (*)(ProxyServiceSnapshot&)> changes{
      [](auto& s) { s.policy.algorithm = LbAlgorithm::sprayToWorld; },
      [](auto& s) { s.groups[1].capacity.preference = Preference::preferred; },
      [](auto& s) { s.groups[0].drained = true; },
      [](auto& s) { s.groups[0].capacity.capacityScaler = 0; },
      [](auto& s) {
        for (ProxyEndpoint& endpoint : s.groups[0].endpoints) endpoint.healthy = false;
      }};
  for (const auto change : changes) {
    balanced.change(change);
    EXPECT_TRUE(balanced.balancer.expired(balanced.now).empty());
    EXPECT_EQ(balanced.balancer.loads(balanced.now)[0].connections, 3u);
    EXPECT_EQ(balanced.pick(client(9)).group->name, "g1");
  }
}

TEST(ServiceBalancer, S2_UnhealthyMembersNeverGetConnections) {
  for (const auto policy :
       {LocalityPolicy::roundRobin, LocalityPolicy::leastRequest, LocalityPolicy::random,
        LocalityPolicy::ringHash, LocalityPolicy::maglev, LocalityPolicy::weightedRoundRobin}) {
    auto service = serviceOf({groupOf(0, 10, 10)}, policy);
    for (unsigned i = 0; i < 9; ++i) service.groups[0].endpoints[i].healthy = false;
    Balanced balanced(service);
    for (std::uint32_t i = 0; i < 50; ++i)
      EXPECT_EQ(balanced.open(client(i)), member(0, 9).endpoint);  // overfilled, and still
  }
}

// Every way to a backend asks whether its group serves.
TEST(ServiceBalancer, S5_NoWayLeadsIntoAGroupThatDoesNotServe) {
  const std::vector<std::pair<void (*)(ProxyServiceSnapshot&), std::string_view>> closings{
      {[](auto& s) { s.policy.isolation = Isolation::strict; }, "S5"},
      {[](auto& s) { s.groups[0].drained = true; }, "S3.3"},
      {[](auto& s) { s.groups[0].capacity.capacityScaler = 0; }, "S3.3"}};
  for (const auto locality :
       {LocalityPolicy::roundRobin, LocalityPolicy::maglev, LocalityPolicy::originalDestination})
    for (const auto affinity : {SessionAffinity::none, SessionAffinity::clientIp})
      for (const auto& [close, rule] : closings) {
        Balanced balanced(serviceOf({groupOf(0, 3, 100, "zc", "r2")}, locality, affinity));
        ProxyConnection from = client(1);
        if (locality == LocalityPolicy::originalDestination) from.server = {*member(0, 1).ipv4, 80};
        EXPECT_NE(balanced.open(from), close_detail::kFailedToPickBackend);
        balanced.change(close);
        const BackendPick pick = balanced.pick(from);
        EXPECT_FALSE(pick);
        EXPECT_EQ(pick.rule, rule);
        EXPECT_EQ(pick.reason, CloseReason::destinationUnavailable);
      }
}

TEST(ServiceBalancer, S6_GroupsThatChangePlacesKeepTheirLoads) {
  Balanced balanced(serviceOf({groupOf(0, 2, 4), groupOf(1, 2, 4, "zb")}));
  for (std::uint32_t i = 0; i < 6; ++i) balanced.open(client(i));
  balanced.change([](auto& s) { std::swap(s.groups[0], s.groups[1]); });
  const auto loads = balanced.balancer.loads(balanced.now);
  EXPECT_EQ(loads[0].group, "g1");
  EXPECT_EQ(loads[0].connections, 2u);
  EXPECT_EQ(loads[1].connections, 4u);
  for (const ProxySlot slot : balanced.opened) balanced.balancer.closed(slot, balanced.now);
  for (const auto& load : balanced.balancer.loads(balanced.now)) EXPECT_EQ(load.connections, 0u);
}

TEST(ServiceBalancer, X5_5_LoadsOutliveASnapshotAndAReturn) {
  Balanced balanced(serviceOf({groupOf(0, 1, 1), groupOf(1, 1, 10, "zb")}));
  balanced.open(client(1));
  balanced.change([](auto& s) { s.groups[0].endpoints[0].healthy = false; });
  balanced.change([](auto& s) { s.groups[0].endpoints[0].healthy = true; });
  EXPECT_EQ(balanced.pick(client(2)).group->name, "g1");  // g0 is full still
  balanced.balancer.closed(balanced.opened[0], balanced.now);
  EXPECT_EQ(balanced.pick(client(2)).group->name, "g0");
}

}  // namespace
}  // namespace weir
