// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "weir/placement.h"

namespace weir {
namespace {

// Over the whole range from the first case on, unlike rapidcheck's own, which begins small.
template <class T>
T anyOf(T least, T beyond) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(least, beyond));
}

struct Scene {
  ServiceLbPolicy policy;
  std::vector<PlacedGroup> groups;
  ZoneOrder order;
};

Scene anyScene() {
  std::vector<ZoneOrder::Zone> zones;
  std::map<std::string, double> distances;
  for (int i = 0; i < 6; ++i) {
    zones.push_back({"z" + std::to_string(i), "r" + std::to_string(i / 2)});
    distances[zones.back().name] = anyOf(0, 4);
  }
  ServiceLbPolicy policy;
  policy.algorithm = *rc::gen::element(LbAlgorithm::waterfallByRegion, LbAlgorithm::sprayToRegion,
                                       LbAlgorithm::waterfallByZone, LbAlgorithm::sprayToWorld);
  policy.isolation =
      *rc::gen::element(Isolation::unspecified, Isolation::nearest, Isolation::strict);
  policy.failoverHealthThreshold = anyOf(1u, 100u);
  const auto count = anyOf<std::size_t>(1, 9);
  std::vector<PlacedGroup> groups(count);
  for (PlacedGroup& group : groups) {
    const auto& zone = *rc::gen::elementOf(zones);
    group.zone = zone.name;
    group.region = zone.region;
    group.preferred = anyOf(0, 4) == 0;
    group.capacity = anyOf(0, 400);
    group.members = anyOf(0u, 20u);
    group.healthy = anyOf(0u, group.members + 1);
  }
  return {policy, groups, ZoneOrder(*rc::gen::elementOf(zones), zones, distances, {})};
}

RC_GTEST_PROP(PlacementProperty, S3_AllLoadIsServedUnlessNothingIsUsable, ()) {
  const Scene scene = anyScene();
  const auto plan = planPlacement(scene.policy, scene.groups, scene.order);
  const double load = anyOf(0, 3000);
  const auto loads = distribute(plan, load);
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  RC_ASSERT(std::abs(sum - (plan.stages.empty() ? 0 : load)) < 1e-6 * (1 + load));
  for (std::size_t i = 0; i < loads.size(); ++i)
    RC_ASSERT(loads[i] == 0 || (plan.groups[i].allowed && plan.groups[i].usable > 0));
}

RC_GTEST_PROP(PlacementProperty, S3_MoreLoadTakesNothingAwayFromAnyGroup, ()) {
  const Scene scene = anyScene();
  const auto plan = planPlacement(scene.policy, scene.groups, scene.order);
  const int load = anyOf(0, 3000);
  const auto less = distribute(plan, load);
  const auto more = distribute(plan, load + anyOf(0, 500));
  for (std::size_t i = 0; i < less.size(); ++i) RC_ASSERT(more[i] >= less[i] - 1e-6);
}

RC_GTEST_PROP(PlacementProperty, S3_2_EverythingFullOverfillsInProportion, ()) {
  const Scene scene = anyScene();
  const auto plan = planPlacement(scene.policy, scene.groups, scene.order);
  double room = 0;
  for (const auto& group : plan.groups) room += group.allowed ? group.usable : 0;
  RC_PRE(room > 0);
  const auto loads = distribute(plan, 2.5 * room);
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (plan.groups[i].allowed)
      RC_ASSERT(std::abs(loads[i] - 2.5 * plan.groups[i].usable) < 1e-6 * (1 + room));
}

RC_GTEST_PROP(PlacementProperty, OneConnectionAfterTheOtherEndsInTheSteadyState, ()) {
  const Scene scene = anyScene();
  const auto plan = planPlacement(scene.policy, scene.groups, scene.order);
  RC_PRE(!plan.stages.empty());
  GroupPicker picker(plan, {});
  const int connections = anyOf(1, 1500);
  for (int i = 0; i < connections; ++i) {
    const std::size_t group = picker.pick();
    RC_ASSERT(group != GroupPicker::kNone);
    picker.setLoad(group, picker.load(group) + 1);
  }
  // A stage ends with the connection that fills it, so each stage may be off by one a group.
  const auto steady = distribute(plan, connections);
  const double slack = 1 + static_cast<double>(plan.stages.size());
  for (std::size_t i = 0; i < steady.size(); ++i)
    RC_ASSERT(std::abs(picker.load(i) - steady[i]) <= slack * static_cast<double>(steady.size()));
}

}  // namespace
}  // namespace weir
