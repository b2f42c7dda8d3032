// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/proxy_service.h"

namespace weir {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr std::chrono::seconds kDraining{20};

Endpoint endpointAt(unsigned group, unsigned number) {
  Endpoint endpoint;
  endpoint.ipAddress = *member(group, number).ipv4;
  endpoint.port = 80;
  return endpoint;
}

NetworkEndpointGroup configuredGroup(unsigned number, unsigned members, std::string zone) {
  NetworkEndpointGroup group;
  group.name = "g" + std::to_string(number);
  group.zone = std::move(zone);
  group.type = NetworkEndpointGroup::Type::gceVmIpPort;
  for (unsigned i = 0; i < members; ++i) group.endpoints.push_back(endpointAt(number, i));
  return group;
}

// A service "shop" of three groups of four members each in the zones za, zb and zc.
Configuration configured(unsigned members = 4) {
  Configuration configuration;
  configuration.node.region = "r1";
  configuration.node.zone = "za";
  configuration.node.zones = {{"za", "r1", {}}, {"zb", "r1", {}}, {"zc", "r2", {}}};
  configuration.healthChecks = {{}};
  configuration.healthChecks[0].name = "hc";
  configuration.lbPolicies = {{}};
  configuration.lbPolicies[0].name = "p";
  configuration.lbPolicies[0].autoCapacityDrain = true;
  BackendService service;
  service.name = "shop";
  service.scheme = LoadBalancingScheme::internalManaged;
  service.healthCheck = "hc";
  service.drainingTimeout = kDraining;
  service.proxy.lbPolicy = "p";
  for (unsigned i = 0; i < 3; ++i) {
    configuration.groups.push_back(configuredGroup(i, members, std::string("z") + "abc"[i]));
    service.backends.push_back({configuration.groups[i].name, false, {}});
    service.backends.back().capacity.maxConnections = 100;
  }
  configuration.services = {service};
  configuration.targetProxies = {{"t", "shop", {}, {}}};
  ForwardingRule rule;
  rule.name = "f";
  rule.scheme = service.scheme;
  rule.address = Address::ipv4(0xc0000201);
  rule.ports = {{80, 80}};
  rule.target = "t";
  configuration.rules = {rule};
  return configuration;
}

std::vector<ControlPlane::HealthUpdate> allOf(unsigned group, Health health, unsigned from,
                                              unsigned to) {
  std::vector<ControlPlane::HealthUpdate> updates;
  for (unsigned i = from; i < to; ++i)
    updates.push_back({{"g" + std::to_string(group), endpointAt(group, i).identity()}, health});
  return updates;
}

class Plane : public ::testing::Test {
 protected:
  Plane() { first_ = plane_.apply(configured(), atMs(0)); }
  ProxyChanges set(unsigned group, Health health, unsigned from, unsigned to, std::int64_t ms) {
    return plane_.setHealth(allOf(group, health, from, to), atMs(ms));
  }
  ProxyGroupView group(unsigned number, std::int64_t ms = 0) const {
    return plane_.view("shop", atMs(ms))->groups[number];
  }
  ProxyPlane plane_{Health::healthy};
  ProxyChanges first_;
};

TEST_F(Plane, TheFirstConfigurationIsToldWhole) {
  ASSERT_EQ(first_.services.size(), 1u);
  const ProxyServiceSnapshot& service = first_.services[0];
  EXPECT_EQ(service.name, "shop");
  EXPECT_EQ(service.generation, Generation(1));
  EXPECT_EQ(service.locality, LocalityPolicy::roundRobin);
  EXPECT_EQ(service.policy.name, "p");
  ASSERT_EQ(service.groups.size(), 3u);
  EXPECT_EQ(service.groups[2].region, "r2");
  EXPECT_TRUE(service.groups[0].endpoints[3].healthy);
  ASSERT_TRUE(first_.node);
  EXPECT_EQ(first_.node->fronts.size(), 1u);
  EXPECT_EQ(first_.node->fronts[0].port, 80);
  const ProxyChanges all = plane_.everything();
  EXPECT_EQ(all.services, first_.services);
  EXPECT_EQ(all.node, first_.node);
}

TEST_F(Plane, WhatChangesNothingTellsNothing) {
  EXPECT_TRUE(plane_.apply(configured(), atMs(1)).empty());
  EXPECT_TRUE(set(0, Health::healthy, 0, 4, 2).empty());
  EXPECT_TRUE(plane_.advance(atMs(3)).empty());
  EXPECT_FALSE(plane_.nextDeadline());
  const std::vector<ControlPlane::HealthUpdate> unknown{{{"nowhere", "10.0.0.1"}, Health::timeout}};
  EXPECT_TRUE(plane_.setHealth(unknown, atMs(4)).empty());
}

TEST_F(Plane, S6_AHealthChangeTellsOneService) {
  const ProxyChanges changes = set(0, Health::timeout, 0, 1, 1);
  ASSERT_EQ(changes.services.size(), 1u);
  EXPECT_FALSE(changes.node);
  EXPECT_FALSE(changes.services[0].groups[0].endpoints[0].healthy);
  EXPECT_EQ(changes.services[0].generation, Generation(2));
  EXPECT_EQ(group(0).healthy, 3u);
}

TEST_F(Plane, H1_WithoutAHealthCheckAllCountAsHealthy) {
  Configuration configuration = configured();
  configuration.services[0].healthCheck.clear();
  ProxyPlane plane;
  EXPECT_TRUE(plane.apply(configuration, atMs(0)).services[0].groups[0].endpoints[0].healthy);
  ProxyPlane checked;
  EXPECT_FALSE(checked.apply(configured(), atMs(0)).services[0].groups[0].endpoints[0].healthy);
}

TEST_F(Plane, X3_1_NamesAreNotProbedAndCountAsHealthy) {
  Configuration configuration = configured();
  Endpoint name;
  name.fqdn = "a.example.com";
  name.port = 443;
  configuration.groups[0].endpoints = {name};
  ProxyPlane plane;
  const ProxyChanges changes = plane.apply(configuration, Time{});
  ASSERT_EQ(changes.services.size(), 1u);
  EXPECT_TRUE(changes.services[0].groups[0].endpoints[0].healthy);
  EXPECT_FALSE(changes.services[0].groups[1].endpoints[0].healthy);
}

TEST_F(Plane, S4_DrainsAndComesBackAfterSixtySecondsOfHealth) {
  ProxyChanges changes = set(2, Health::unhealthy, 0, 4, 1000);
  EXPECT_TRUE(changes.services[0].groups[2].drained);
  EXPECT_EQ(group(2).drainedSince, atMs(1000));
  EXPECT_EQ(group(2).capacity, 0);
  EXPECT_THAT(group(2).note, HasSubstr("drained because"));
  EXPECT_FALSE(plane_.nextDeadline());
  set(2, Health::healthy, 0, 2, 5100);
  EXPECT_EQ(plane_.nextDeadline(), atMs(65'100));
  EXPECT_TRUE(plane_.advance(atMs(65'099)).empty());
  changes = plane_.advance(atMs(65'100));
  ASSERT_EQ(changes.services.size(), 1u);
  EXPECT_FALSE(changes.services[0].groups[2].drained);
  EXPECT_FALSE(plane_.nextDeadline());
  EXPECT_FALSE(group(2).drainedSince);
  EXPECT_NEAR(group(2).usable, 100 * 50 / 70.0, 1e-9);
}

TEST_F(Plane, S4_DrainOutlivesTheManager) {
  set(2, Health::unhealthy, 0, 4, 1000);
  set(2, Health::healthy, 0, 2, 5100);
  ProxyPlane next;
  ASSERT_TRUE(next.restore(plane_.save()).ok());
  const ProxyChanges changes = next.apply(configured(), atMs(6000));
  EXPECT_TRUE(changes.services[0].groups[2].drained);
  EXPECT_GT(changes.services[0].generation, Generation(2));
  EXPECT_FALSE(changes.services[0].groups[2].endpoints[3].healthy);
  EXPECT_EQ(next.nextDeadline(), atMs(65'100));
  EXPECT_EQ(next.view("shop", atMs(6000))->groups[2].drainedSince, atMs(1000));
}

TEST_F(Plane, S6_TurningDrainOffRestoresTheCapacity) {
  set(2, Health::unhealthy, 0, 4, 1000);
  Configuration configuration = configured();
  configuration.lbPolicies[0].autoCapacityDrain = false;
  EXPECT_FALSE(plane_.apply(configuration, atMs(2000)).services[0].groups[2].drained);
  EXPECT_FALSE(plane_.apply(configuration, atMs(3000)).services.size());
}

TEST_F(Plane, S4_4_OffByDefaultUnhealthyGroupsTakePartAsTheirHealthSays) {
  Configuration configuration = configured(10);
  configuration.lbPolicies[0] = {};
  configuration.lbPolicies[0].name = "p";
  plane_.apply(configuration, atMs(0));
  set(2, Health::unhealthy, 1, 10, 1000);
  EXPECT_FALSE(group(2).drainedSince);
  EXPECT_TRUE(group(2).serves);
  EXPECT_DOUBLE_EQ(group(2).usable, 100 * 10 / 70.0);
}

TEST_F(Plane, S3_5_AServiceWithoutAPolicyUsesTheDefaults) {
  Configuration configuration = configured();
  configuration.services[0].proxy.lbPolicy.clear();
  const ServiceLbPolicy told = plane_.apply(configuration, atMs(1)).services[0].policy;
  EXPECT_EQ(told, ServiceLbPolicy());
  EXPECT_EQ(told.algorithm, LbAlgorithm::waterfallByRegion);
  EXPECT_FALSE(told.autoCapacityDrain);
  EXPECT_EQ(told.failoverHealthThreshold, 70u);
  EXPECT_EQ(told.isolation, Isolation::unspecified);
}

TEST_F(Plane, S4_1_AReloadThatLeavesTooFewGroupsEndsADrain) {
  set(2, Health::unhealthy, 0, 4, 1000);
  EXPECT_TRUE(group(2).drainedSince);
  Configuration configuration = configured();
  configuration.services[0].backends.erase(configuration.services[0].backends.begin());
  EXPECT_FALSE(plane_.apply(configuration, atMs(2000)).services[0].groups[1].drained);
  EXPECT_TRUE(plane_.apply(configured(), atMs(3000)).services[0].groups[2].drained);
  EXPECT_EQ(group(2).drainedSince, atMs(3000));
}

TEST_F(Plane, S4_2_GroupsThatAreEmptyPerEndpointOrScaledToNothingAreNotDrained) {
  Configuration configuration = configured();
  configuration.groups[0].endpoints.clear();
  configuration.services[0].backends[0].capacity = {};
  configuration.services[0].backends[0].capacity.maxConnectionsPerEndpoint = 10;
  plane_.apply(configuration, atMs(1));
  set(2, Health::unhealthy, 0, 4, 1000);
  EXPECT_FALSE(group(0).drainedSince);
  EXPECT_TRUE(group(2).drainedSince);
  configuration.services[0].backends[2].capacity.capacityScaler = 0;
  plane_.apply(configuration, atMs(2000));
  EXPECT_FALSE(group(2).drainedSince);
}

TEST_F(Plane, X5_4_AMemberThatIsRemovedDrains) {
  Configuration configuration = configured();
  configuration.groups[0].endpoints.erase(configuration.groups[0].endpoints.begin());
  const ProxyChanges changes = plane_.apply(configuration, atMs(1000));
  const ProxyGroup& told = changes.services[0].groups[0];
  ASSERT_EQ(told.endpoints.size(), 4u);
  EXPECT_EQ(told.endpoints[3].endpoint, endpointAt(0, 0).identity());
  EXPECT_EQ(told.endpoints[3].drainDeadline, atMs(21'000));
  EXPECT_EQ(group(0).members, 3u);
  EXPECT_EQ(plane_.health({"g0", endpointAt(0, 0).identity()}), Health::draining);
  EXPECT_EQ(plane_.nextDeadline(), atMs(21'000));
  EXPECT_EQ(plane_.advance(atMs(21'000)).services[0].groups[0].endpoints.size(), 3u);
}

TEST_F(Plane, X5_4_DrainsByCommandStayUntilUndrained) {
  const std::string name = endpointAt(0, 0).identity();
  auto changes = plane_.drain("shop", name, std::chrono::seconds(5), atMs(1000));
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->services[0].groups[0].endpoints[0].drainDeadline, atMs(6000));
  EXPECT_EQ(plane_.nextDeadline(), atMs(6000));
  EXPECT_TRUE(plane_.advance(atMs(6000)).empty());
  EXPECT_FALSE(plane_.nextDeadline());
  ProxyPlane next;
  ASSERT_TRUE(next.restore(plane_.save()).ok());
  EXPECT_TRUE(next.apply(configured(), atMs(7000)).services[0].groups[0].endpoints[0].draining());
  changes = plane_.undrain("shop", name, atMs(8000));
  ASSERT_TRUE(changes.ok());
  EXPECT_FALSE(changes->services[0].groups[0].endpoints[0].draining());
}

TEST_F(Plane, X5_4_WhatCannotDrainIsRefusedInWords) {
  const std::string name = endpointAt(0, 0).identity();
  EXPECT_THAT(plane_.drain("shap", name, {}, atMs(0)).error().message, HasSubstr("'shap'"));
  EXPECT_THAT(plane_.drain("shop", "10.9.9.9:80", {}, atMs(0)).error().message,
              HasSubstr("has no backend '10.9.9.9:80'"));
  EXPECT_THAT(plane_.drain("shop", name, std::chrono::seconds(3601), atMs(0)).error().message,
              HasSubstr("0..3600"));
  EXPECT_THAT(plane_.undrain("shop", name, atMs(0)).error().message, HasSubstr("not draining"));
}

TEST_F(Plane, H13_ReportsOfUtilizationTravelAloneAndAge) {
  Configuration configuration = configured();
  configuration.services[0].backends[0].capacity = {};
  configuration.services[0].backends[0].capacity.mode = BalancingMode::utilization;
  plane_.apply(configuration, atMs(0));
  const std::vector<ProxyPlane::UtilizationUpdate> updates{
      {{"g0", endpointAt(0, 1).identity()}, 0.5, atMs(1000)},
      {{"g1", endpointAt(1, 1).identity()}, 0.5, atMs(1000)}};  // not by utilization
  const ProxyChanges changes = plane_.setUtilization(updates, atMs(1100));
  EXPECT_TRUE(changes.services.empty());
  ASSERT_EQ(changes.reports.size(), 1u);
  ASSERT_EQ(changes.reports[0].items.size(), 1u);
  EXPECT_EQ(changes.reports[0].items[0].utilization.until, atMs(16'000));  // 3 x 5 s
  EXPECT_EQ(plane_.everything().services[0].groups[0].endpoints[1].utilization->value, 0.5);
  EXPECT_EQ(group(0, 16'000).backends[1].utilization, 0.5);
  EXPECT_FALSE(group(0, 16'001).backends[1].utilization);
}

TEST_F(Plane, X4_AWeightThatIsMissingMakesAllEqual) {
  Configuration configuration = configured();
  configuration.services[0].proxy.locality = LocalityPolicy::weightedRoundRobin;
  plane_.apply(configuration, atMs(0));
  using Kind = ReportedWeight::Kind;
  const auto report = [&](unsigned number, ReportedWeight weight) {
    const std::vector<ControlPlane::WeightUpdate> updates{
        {{"g0", endpointAt(0, number).identity()}, weight}};
    return plane_.setWeight(updates, atMs(1));
  };
  EXPECT_EQ(report(0, {Kind::value, 7}).services[0].groups[0].endpoints[0].weight, 7u);
  EXPECT_EQ(report(1, {Kind::missing, 0}).services[0].groups[0].endpoints[0].weight, 1u);
  const auto again = report(1, {Kind::unavailable, 0}).services;
  EXPECT_EQ(again[0].groups[0].endpoints[0].weight, 7u);
}

TEST_F(Plane, S1_MeasuredDistancesOrderZonesUnlessConfigured) {
  const auto measure = [&](ProxyPlane& plane, unsigned group, int microseconds) {
    const std::vector<ProxyPlane::RoundTripUpdate> updates{
        {{"g" + std::to_string(group), endpointAt(group, 0).identity()},
         std::chrono::microseconds(microseconds)}};
    return plane.setRoundTrips(updates, atMs(1));
  };
  Configuration configuration = configured();
  configuration.node.zones = {{"za", "r1", {}}, {"zb", "r1", {}}, {"zc", "r1", {}}};
  plane_.apply(configuration, atMs(0));
  measure(plane_, 1, 900);
  ProxyChanges changes = measure(plane_, 2, 300);
  ASSERT_TRUE(changes.node);
  EXPECT_EQ(changes.node->zones[1].name, "zc");
  EXPECT_TRUE(changes.services.empty());
  EXPECT_DOUBLE_EQ(group(2).distance, 0.3);
  EXPECT_TRUE(measure(plane_, 2, 5000).empty());  // an eighth of it: 0.89, still nearer
  EXPECT_TRUE(measure(plane_, 2, 5000).node);     // 1.4
  configuration.node.proximityMs = {{"zc", 0.1}};
  changes = plane_.apply(configuration, atMs(2));
  ASSERT_TRUE(changes.node);
  EXPECT_EQ(changes.node->zones[1].name, "zc");
  EXPECT_TRUE(group(2).distanceConfigured);
  EXPECT_DOUBLE_EQ(group(2).distance, 0.1);
}

TEST_F(Plane, S1_ADistanceIsTheMedianOfAZonesEndpoints) {
  std::vector<ProxyPlane::RoundTripUpdate> updates;
  for (const auto& [number, microseconds] : {std::pair(0u, 300), {1u, 90'000}, {2u, 100}})
    updates.push_back(
        {{"g1", endpointAt(1, number).identity()}, std::chrono::microseconds(microseconds)});
  plane_.setRoundTrips(updates, atMs(1));
  EXPECT_DOUBLE_EQ(group(1).distance, 0.3);
}

TEST_F(Plane, AServiceThatIsGoneIsToldSo) {
  Configuration configuration = configured();
  configuration.services.clear();
  configuration.rules.clear();
  configuration.targetProxies.clear();
  const ProxyChanges changes = plane_.apply(configuration, atMs(1));
  EXPECT_EQ(changes.removed, std::vector<std::string>{"shop"});
  EXPECT_TRUE(changes.node->fronts.empty());
  EXPECT_FALSE(plane_.view("shop", atMs(1)));
  EXPECT_EQ(messagesOf(changes).size(), 2u);
}

TEST_F(Plane, AStateThatCannotBeReadIsRefused) {
  const std::string saved = plane_.save();
  ProxyPlane other{Health::healthy};
  for (std::size_t cut = 0; cut < saved.size(); cut += 7)
    EXPECT_FALSE(other.restore(std::string_view(saved).substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(other.restore(R"({"version":2})").ok());
  EXPECT_TRUE(other.restore(saved).ok());
}

// S2: the table of shares as Envoy publishes it for an overprovisioning of 1.4, here as thresholds.
TEST_F(Plane, S2_HealthBelowTheThresholdLeavesAShare) {
  struct Row {
    unsigned healthy;
    double at70;
    double at71;
  };
  for (const Row& row :
       {Row{100, 1, 1}, Row{75, 1, 1}, Row{72, 1, 1}, Row{71, 1, 1}, Row{70, 1, 70 / 71.0},
        Row{50, 50 / 70.0, 50 / 71.0}, Row{25, 25 / 70.0, 25 / 71.0}, Row{0, 0, 0}}) {
    for (const unsigned threshold : {70u, 71u}) {
      Configuration configuration = configured(100);
      configuration.lbPolicies[0].failoverHealthThreshold = threshold;
      configuration.lbPolicies[0].autoCapacityDrain = false;
      ProxyPlane plane(Health::healthy);
      plane.apply(configuration, atMs(0));
      plane.setHealth(allOf(0, Health::unhealthy, row.healthy, 100), atMs(1));
      const ProxyGroupView group = plane.view("shop", atMs(1))->groups[0];
      EXPECT_NEAR(group.usableFraction, threshold == 70 ? row.at70 : row.at71, 1e-12)
          << row.healthy << " at " << threshold;
      EXPECT_NEAR(group.usable, 100 * group.usableFraction, 1e-9);
    }
  }
}

}  // namespace
}  // namespace weir
