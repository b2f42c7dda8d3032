// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "weir/proxy_placement.h"

namespace weir {
namespace {

using testing::ElementsAre;

// Region r1 of the node has za (its own) and zb, r2 has zc and zd, r3 has ze; in this order.
ZoneOrder order() {
  return ZoneOrder({"za", "r1"},
                   {{"za", "r1"}, {"zb", "r1"}, {"zc", "r2"}, {"zd", "r2"}, {"ze", "r3"}},
                   {{"zb", 0.5}, {"zc", 20}, {"zd", 30}, {"ze", 90}}, {});
}

PlacedGroup group(std::string zone, double capacity, unsigned members = 1, unsigned healthy = 1) {
  const std::map<std::string, std::string> regions{
      {"za", "r1"}, {"zb", "r1"}, {"zc", "r2"}, {"zd", "r2"}, {"ze", "r3"}};
  PlacedGroup made;
  made.name = zone;
  made.zone = std::move(zone);
  made.region = regions.at(made.zone);
  made.capacity = capacity;
  made.members = members;
  made.healthy = healthy;
  return made;
}
PlacedGroup preferred(PlacedGroup group) {
  group.preferred = true;
  return group;
}

std::vector<double> loads(const ServiceLbPolicy& policy, const std::vector<PlacedGroup>& groups,
                          double load) {
  std::vector<double> rounded = distribute(planPlacement(policy, groups, order()), load);
  for (double& value : rounded) value = std::round(100 * value) / 100;
  return rounded;
}
std::vector<double> loads(LbAlgorithm algorithm, const std::vector<PlacedGroup>& groups,
                          double load) {
  return loads({.name = {}, .algorithm = algorithm}, groups, load);
}

TEST(ZoneOrder, S1_OwnZoneAndOwnRegionFirstThenByDistanceThenByName) {
  const ZoneOrder zones(
      {"z2", "r2"},
      {{"z1", "r1"}, {"z2", "r2"}, {"z3", "r2"}, {"z4", "r3"}, {"z5", "r4"}, {"z6", "r5"}},
      {{"z1", 7}, {"r4", 3}}, {{"z1", 1}, {"z2", 50}, {"z3", 9}, {"z4", 7}});
  EXPECT_EQ(zones.regionRank("r2"), 0u);
  EXPECT_EQ(zones.regionRank("r4"), 1u);  // configured for the region itself
  EXPECT_EQ(zones.regionRank("r1"), 2u);  // as far as r3, which comes later by name
  EXPECT_EQ(zones.regionRank("r3"), 3u);
  EXPECT_EQ(zones.regionRank("r5"), 4u);  // no distance
  EXPECT_EQ(zones.regionRank("elsewhere"), 5u);
  EXPECT_LT(zones.zoneRank("r2", "z2"), zones.zoneRank("r2", "z3"));
  EXPECT_EQ(zones.milliseconds("z1"), 7);  // configured wins over measured
  EXPECT_TRUE(std::isinf(zones.milliseconds("z6")));
}

TEST(ZoneOrder, S1_ARegionIsAsFarAsItsNearestZone) {
  const std::map<std::string, double> measured{{"z2", 10}, {"z3", 50}, {"z4", 2}};
  const ZoneOrder zones({"z1", "r1"}, {{"z1", "r1"}, {"z2", "r2"}, {"z3", "r3"}, {"z4", "r3"}}, {},
                        measured);
  EXPECT_EQ(zones.regionRank("r3"), 1u);
  EXPECT_EQ(zones.regionRank("r2"), 2u);
  EXPECT_LT(zones.zoneRank("r3", "z3"), zones.zoneRank("r2", "z2"));
}

TEST(Placement, S3_WaterfallByZone) {
  const std::vector<PlacedGroup> groups{group("za", 200, 2, 2), group("zb", 100), group("zc", 400)};
  const auto by = LbAlgorithm::waterfallByZone;
  EXPECT_THAT(loads(by, groups, 240), ElementsAre(200, 40, 0));
  EXPECT_THAT(loads(by, groups, 400), ElementsAre(200, 100, 100));
  EXPECT_THAT(loads(by, groups, 1400), ElementsAre(400, 200, 800));
}

TEST(Placement, S3_SprayToRegion) {
  const std::vector<PlacedGroup> groups{group("za", 200), group("zb", 100), group("zc", 400)};
  EXPECT_THAT(loads(LbAlgorithm::sprayToRegion, groups, 240), ElementsAre(160, 80, 0));
  EXPECT_THAT(loads(LbAlgorithm::sprayToRegion, groups, 500), ElementsAre(200, 100, 200));
}

TEST(Placement, S3_SprayToWorld) {
  const std::vector<PlacedGroup> groups{group("za", 200), group("zb", 100), group("zc", 500)};
  EXPECT_THAT(loads(LbAlgorithm::sprayToWorld, groups, 400), ElementsAre(100, 50, 250));
}

TEST(Placement, S3_WaterfallByRegionRisesToHalfByZoneThenTogether) {
  const std::vector<PlacedGroup> groups{group("za", 200), group("zb", 100), group("zc", 400)};
  const auto by = LbAlgorithm::waterfallByRegion;
  EXPECT_THAT(loads(by, groups, 90), ElementsAre(90, 0, 0));
  EXPECT_THAT(loads(by, groups, 120), ElementsAre(100, 20, 0));
  EXPECT_THAT(loads(by, groups, 240), ElementsAre(160, 80, 0));
  EXPECT_THAT(loads(by, groups, 350), ElementsAre(200, 100, 50));
}

TEST(Placement, S2_BelowTheThresholdTheRestSpills) {
  EXPECT_DOUBLE_EQ(planPlacement({}, {group("za", 100, 20, 7)}, order()).groups[0].usableFraction,
                   0.5);
  EXPECT_DOUBLE_EQ(planPlacement({}, {group("za", 100, 10, 7)}, order()).groups[0].usableFraction,
                   1);
  const std::vector<PlacedGroup> groups{group("za", 200, 2, 1), group("zb", 100), group("zc", 400)};
  EXPECT_THAT(loads(LbAlgorithm::waterfallByRegion, groups, 400), ElementsAre(142.86, 100, 157.14));
}

// 3 of 10 at threshold 90 are a third: of 210 that is 70, without a hair that has room for one
// more.
TEST(Placement, S2_WholeShareOfWholeCapacitiesAreWhole) {
  for (unsigned members = 1; members <= 20; ++members)
    for (unsigned healthy = 1; healthy <= members; ++healthy)
      for (unsigned threshold = 10; threshold <= 90; threshold += 10)
        for (unsigned capacity = 10; capacity <= 700; capacity += 10) {
          const unsigned above = capacity * 100 * healthy, below = members * threshold;
          if (above % below != 0) continue;
          ServiceLbPolicy policy;
          policy.failoverHealthThreshold = threshold;
          const PlacementPlan plan =
              planPlacement(policy, {group("za", capacity, members, healthy)}, order());
          ASSERT_EQ(plan.groups[0].usable, std::min(capacity, above / below))
              << healthy << '/' << members << " at " << threshold << " of " << capacity;
        }
}

TEST(Placement, S2_CapacityIsTheTargetTimesTheScalerAndNothingWhileDrained) {
  ProxyGroup group;
  group.endpoints.resize(4);
  group.endpoints[0].healthy = true;
  group.capacity.maxConnectionsPerEndpoint = 25;
  EXPECT_EQ(placedGroup(group).capacity, 100);
  group.capacity.capacityScaler = 0.55;
  EXPECT_EQ(placedGroup(group).capacity, 55);
  group.drained = true;
  EXPECT_EQ(placedGroup(group).capacity, 0);
}

// Envoy's published table of priority levels with its overprovisioning factor of 1.4: health of the
// first level in percent, and the percent of the load that stays there. A factor is a threshold of
// 1 / 1.4 = 71.4 percent, which lies between 71 and 72.
struct Overprovisioned {
  unsigned healthy;
  double published;    // factor 1.4
  double threshold70;  // percent of its capacity that the group keeps
  double threshold71;
};
class EnvoysTable : public ::testing::TestWithParam<Overprovisioned> {};
INSTANTIATE_TEST_SUITE_P(
    Rows, EnvoysTable,
    ::testing::Values(Overprovisioned{100, 100, 100, 100}, Overprovisioned{75, 100, 100, 100},
                      Overprovisioned{72, 100, 100, 100}, Overprovisioned{71, 99, 100, 100},
                      Overprovisioned{70, 98, 100, 98.5915},
                      Overprovisioned{50, 70, 71.4286, 70.4225},
                      Overprovisioned{25, 35, 35.7143, 35.2113}, Overprovisioned{0, 0, 0, 0}));

TEST_P(EnvoysTable, S2_WhatIsKeptAndWhatSpills) {
  const Overprovisioned row = GetParam();
  const std::vector<PlacedGroup> groups{group("za", 100, 100, row.healthy), group("zb", 100)};
  for (const auto& [threshold, kept] :
       {std::pair(70u, row.threshold70), std::pair(71u, row.threshold71)}) {
    const ServiceLbPolicy policy{.name = {},
                                 .algorithm = LbAlgorithm::waterfallByZone,
                                 .failoverHealthThreshold = threshold};
    const auto plan = planPlacement(policy, groups, order());
    EXPECT_NEAR(100 * plan.groups[0].usableFraction, kept, 1e-3) << threshold;
    const auto loads = distribute(plan, 100);
    EXPECT_NEAR(loads[0], kept, 1e-3) << threshold;
    EXPECT_NEAR(loads[1], 100 - kept, 1e-3) << threshold;
    // Thresholds are whole percents; the factor between them is off by less than two.
    EXPECT_NEAR(kept, row.published, 2) << threshold;
  }
}

TEST(Placement, S3_1_GroupsOfOneZoneShareInProportion) {
  const std::vector<PlacedGroup> groups{group("za", 300), group("za", 100), group("zb", 100)};
  EXPECT_THAT(loads(LbAlgorithm::waterfallByZone, groups, 200), ElementsAre(150, 50, 0));
}

TEST(Placement, S3_TheNextNearestRegionIsFilledLikewise) {
  const std::vector<PlacedGroup> groups{group("za", 100), group("zd", 100), group("zc", 100),
                                        group("ze", 100)};
  EXPECT_THAT(loads(LbAlgorithm::waterfallByRegion, groups, 160), ElementsAre(100, 10, 50, 0));
  EXPECT_THAT(loads(LbAlgorithm::waterfallByRegion, groups, 260), ElementsAre(100, 80, 80, 0));
  EXPECT_THAT(loads(LbAlgorithm::sprayToRegion, groups, 160), ElementsAre(100, 30, 30, 0));
  EXPECT_THAT(loads(LbAlgorithm::waterfallByZone, groups, 160), ElementsAre(100, 0, 60, 0));
  EXPECT_THAT(loads(LbAlgorithm::waterfallByZone, groups, 310), ElementsAre(100, 100, 100, 10));
}

TEST(Placement, S3_2_WhatIsFullOverfillsInProportionToWhatIsUsable) {
  const std::vector<PlacedGroup> groups{group("za", 100, 20, 7), preferred(group("zb", 150)),
                                        group("ze", 300, 1, 0)};
  for (const auto algorithm : {LbAlgorithm::waterfallByRegion, LbAlgorithm::sprayToRegion,
                               LbAlgorithm::waterfallByZone, LbAlgorithm::sprayToWorld})
    EXPECT_THAT(loads(algorithm, groups, 600), ElementsAre(150, 450, 0));
}

TEST(Placement, S3_3_NothingIsServedWithoutUsableCapacity) {
  const auto plan = planPlacement({}, {group("za", 0), group("zb", 100, 2, 0)}, order());
  EXPECT_TRUE(plan.stages.empty());
  EXPECT_THAT(distribute(plan, 10), ElementsAre(0, 0));
  EXPECT_EQ(GroupPicker(plan, {}).pick(), GroupPicker::kNone);
}

TEST(Placement, S3_4_PreferredGroupsFillFirstNearestFirst) {
  const std::vector<PlacedGroup> groups{group("za", 100), preferred(group("zc", 50)),
                                        preferred(group("zb", 50))};
  const auto by = LbAlgorithm::sprayToWorld;
  EXPECT_THAT(loads(by, groups, 60), ElementsAre(0, 10, 50));
  EXPECT_THAT(loads(by, groups, 160), ElementsAre(60, 50, 50));
  EXPECT_THAT(loads(by, groups, 400), ElementsAre(200, 100, 100));
}

TEST(Placement, S3_4_TheAlgorithmDoesNotApplyAmongPreferredGroups) {
  const std::vector<PlacedGroup> groups{preferred(group("za", 100)), preferred(group("zb", 30)),
                                        preferred(group("zb", 10)), group("zb", 100)};
  for (const auto algorithm : {LbAlgorithm::waterfallByRegion, LbAlgorithm::sprayToRegion,
                               LbAlgorithm::waterfallByZone, LbAlgorithm::sprayToWorld})
    EXPECT_THAT(loads(algorithm, groups, 120), ElementsAre(100, 15, 5, 0));
}

TEST(Placement, S5_NearestOverfillsAndMovesOnlyWithoutHealthyBackends) {
  const ServiceLbPolicy policy{.name = {}, .isolation = Isolation::nearest};
  EXPECT_THAT(loads(policy, {group("za", 100), preferred(group("zc", 100))}, 500),
              ElementsAre(500, 0));
  EXPECT_THAT(loads(policy, {group("za", 100, 1, 0), group("zc", 100), group("ze", 100)}, 500),
              ElementsAre(0, 500, 0));
}

// It is health that moves clients on, not capacity: who scales the home region to nothing, or has
// it drained, closes its clients.
TEST(Placement, S5_NearestStaysWhereABackendIsHealthyAlsoWithoutCapacity) {
  const ServiceLbPolicy policy{.name = {}, .isolation = Isolation::nearest};
  const PlacementPlan plan = planPlacement(policy, {group("za", 0), group("zc", 100)}, order());
  EXPECT_TRUE(plan.stages.empty());
  EXPECT_EQ(plan.groups[0].keptOutBy(), "S3.3");
  EXPECT_EQ(plan.groups[1].keptOutBy(), "S5");
  EXPECT_THAT(loads(policy, {group("za", 0), group("zb", 10), group("zc", 100)}, 50),
              ElementsAre(0, 50, 0));
  EXPECT_THAT(loads(policy, {group("zc", 100), group("ze", 100)}, 50), ElementsAre(50, 0));
}

TEST(Placement, S5_BothModesLimitPreferredGroupsToo) {
  for (const auto isolation : {Isolation::nearest, Isolation::strict})
    EXPECT_THAT(loads({.name = {}, .isolation = isolation},
                      {group("zb", 100), preferred(group("zc", 100))}, 300),
                ElementsAre(300, 0));
}

TEST(Placement, S5_StrictServesFromTheNodesRegionOrNotAtAll) {
  const ServiceLbPolicy policy{.name = {}, .isolation = Isolation::strict};
  EXPECT_THAT(loads(policy, {group("zb", 100), group("zc", 100)}, 300), ElementsAre(300, 0));
  EXPECT_THAT(loads(policy, {group("zb", 100, 1, 0), group("zc", 100)}, 300), ElementsAre(0, 0));
}

TEST(GroupPicker, GoesWhereTheSteadyStateSays) {
  const std::vector<PlacedGroup> groups{group("za", 200), group("zb", 100), group("zc", 400)};
  const auto plan = planPlacement({}, groups, order());
  GroupPicker picker(plan, {});
  for (int i = 0; i < 350; ++i) picker.setLoad(picker.pick(), picker.load(picker.pick()) + 1);
  EXPECT_EQ(picker.load(0), 200);
  EXPECT_EQ(picker.load(1), 100);
  EXPECT_EQ(picker.load(2), 50);
  picker.setLoad(0, 50);  // connections of the nearest zone end
  EXPECT_EQ(picker.pick(), 0u);
}

std::set<std::string> drained(std::vector<unsigned> healthyPercents) {
  std::vector<CapacityDrain::Group> groups;
  for (std::size_t i = 0; i < healthyPercents.size(); ++i)
    groups.push_back({"g" + std::to_string(i), 100, healthyPercents[i]});
  return CapacityDrain().update(groups, 0);
}

TEST(CapacityDrain, S4_1_WorstFirstAndFewerThanHalf) {
  EXPECT_THAT(drained({20, 100}), ElementsAre());
  EXPECT_THAT(drained({24, 24, 100, 100}), ElementsAre("g0"));
  EXPECT_THAT(drained({0, 10, 20, 100, 100}), ElementsAre("g0", "g1"));
  EXPECT_THAT(drained({20, 10, 100, 0, 100}), ElementsAre("g1", "g3"));
  EXPECT_THAT(drained({25, 100, 100}), ElementsAre());
  EXPECT_THAT(drained({0}), ElementsAre());
}

TEST(CapacityDrain, S4_1_WhatANewConfigurationLeavesIsFewerThanHalfToo) {
  const CapacityDrain::Group a{"a", 100, 10}, b{"b", 100, 0}, c{"c", 100, 20}, d{"d", 100, 100},
      e{"e", 100, 100}, f{"f", 100, 100}, g{"g", 100, 100};
  CapacityDrain drain;
  EXPECT_THAT(drain.update({a, b, c, d, e, f, g}, 0), ElementsAre("a", "b", "c"));
  EXPECT_THAT(drain.update({a, b, c, d, e}, 1), ElementsAre("a", "b"));
  EXPECT_THAT(drain.update({a, b, d}, 2), ElementsAre("b"));
  EXPECT_THAT(drain.update({b, d}, 3), ElementsAre());
  // Its time of health is not kept for later.
  const CapacityDrain::Group well{"b", 100, 100};
  EXPECT_THAT(drain.update({b, d, e}, 10), ElementsAre("b"));
  EXPECT_THAT(drain.update({well, d, e}, 20), ElementsAre("b"));
  EXPECT_THAT(drain.update({well, d}, 30), ElementsAre());
  EXPECT_TRUE(std::isinf(drain.nextDeadline()));
}

TEST(CapacityDrain, S4_2_GroupsWithoutCapacityCountAmongAllOnly) {
  CapacityDrain drain;
  const CapacityDrain::Group empty{"empty", 0, 0, true};
  EXPECT_THAT(drain.update({{"a", 10, 1}, {"b", 10, 10}, empty}, 0), ElementsAre("a"));
}

// Empty ones of a capacity of their own are not among those, and as unhealthy as can be.
TEST(CapacityDrain, S4_2_AnEmptyGroupWithACapacityOfItsOwnIsACandidate) {
  CapacityDrain drain;
  EXPECT_THAT(drain.update({{"a", 10, 1}, {"b", 10, 10}, {"empty", 0, 0}}, 0),
              ElementsAre("empty"));
}

TEST(CapacityDrain, S4_3_UndrainsAfter60SecondsOfHealthWithoutABreak) {
  CapacityDrain drain;
  const auto update = [&](unsigned healthy, double now) {
    return drain.update({{"a", 100, healthy}, {"b", 100, 100}, {"c", 100, 100}}, now).size();
  };
  EXPECT_EQ(update(24, 0), 1u);
  EXPECT_EQ(update(34, 10), 1u);
  EXPECT_TRUE(std::isinf(drain.nextDeadline()));
  EXPECT_EQ(update(35, 100), 1u);
  EXPECT_EQ(drain.nextDeadline(), 160);
  EXPECT_EQ(update(34, 150), 1u);  // a break
  EXPECT_EQ(update(35, 151), 1u);
  EXPECT_EQ(update(80, 210.9), 1u);
  EXPECT_EQ(update(80, 211), 0u);
  EXPECT_EQ(update(30, 212), 0u);  // not below a quarter
}

// A group that changes every 10 s: between dead and well it is drained once and stays so, between
// a third and well it is never drained at all.
TEST(CapacityDrain, S4_FlappingAt10SecondsNeverToggles) {
  for (const auto& [low, drains] :
       {std::pair(0u, true), std::pair(24u, true), std::pair(25u, false), std::pair(34u, false)}) {
    CapacityDrain drain;
    for (int second = 0; second < 3600; ++second) {
      const unsigned healthy = second / 10 % 2 == 0 ? low : 100;
      const auto drained =
          drain.update({{"a", 100, healthy}, {"b", 100, 100}, {"c", 100, 100}}, second);
      ASSERT_EQ(drained.size(), drains ? 1u : 0u) << low << "% at " << second << " s";
    }
  }
}

TEST(CapacityDrain, S4_1_WhatWasNeverProbedDrainsNothing) {
  CapacityDrain drain;
  const auto update = [&](unsigned healthy, unsigned unprobed, double now) {
    return drain.update({{"a", 10, healthy, false, unprobed}, {"b", 10, 10}, {"c", 10, 10}}, now)
        .size();
  };
  EXPECT_EQ(update(0, 10, 0), 0u);
  EXPECT_EQ(update(0, 3, 1), 0u);  // 30% may yet be healthy
  EXPECT_EQ(update(0, 2, 2), 1u);
  EXPECT_EQ(update(0, 10, 100), 1u);  // nor does it bring back
  EXPECT_TRUE(std::isinf(drain.nextDeadline()));
}

}  // namespace
}  // namespace weir
