// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/placement.h"

#include <algorithm>
#include <cstdint>

namespace weir {

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kLowLatencyLevel = 0.5;  // S3: WATERFALL_BY_REGION

// S2: `whole` times u(g). One division at the end, so that whole numbers come out whole: 70 must
// not become the 70.00000000000001 that has room for a 71st connection.
double usableOf(double whole, const PlacedGroup& group, unsigned thresholdPercent) {
  if (group.healthy == 0 || group.members == 0) return 0;
  return std::min(
      whole, whole * 100 * group.healthy / (static_cast<double>(group.members) * thresholdPercent));
}

// S5
bool isAllowed(const PlacedGroup& group, const ServiceLbPolicy& policy, const ZoneOrder& order,
               std::size_t nearestRegion) {
  switch (policy.isolation) {
    case Isolation::unspecified:
      return true;
    case Isolation::nearest:
      return order.regionRank(group.region) == nearestRegion;
    case Isolation::strict:
      return group.region == order.nodeRegion();
  }
  return false;
}

std::size_t nearestHealthyRegion(const std::vector<PlacedGroup>& groups, const ZoneOrder& order) {
  std::size_t nearest = std::numeric_limits<std::size_t>::max();
  for (const PlacedGroup& group : groups)
    if (group.healthy > 0) nearest = std::min(nearest, order.regionRank(group.region));
  return nearest;
}

// Groups in sets that are filled together: by rank, nearest first.
using Ranks = std::map<std::size_t, std::vector<std::size_t>>;

class Stages {
 public:
  using Kind = PlacementPlan::Stage::Kind;

  Stages(const std::vector<PlacedGroup>& groups, const ZoneOrder& order, PlacementPlan& plan)
      : groups_(groups), order_(order), plan_(plan) {}

  void preferred() {
    for (const auto& [rank, members] : zones(serving(true))) add(members, 1, Kind::preferred);
  }
  void others(LbAlgorithm algorithm) {
    const auto rest = serving(false);
    switch (algorithm) {
      case LbAlgorithm::waterfallByRegion:
        for (const auto& [rank, region] : regions(rest)) {
          for (const auto& [zoneRank, zone] : zones(region)) add(zone, kLowLatencyLevel);
          add(region, 1);
        }
        break;
      case LbAlgorithm::sprayToRegion:
        for (const auto& [rank, region] : regions(rest)) add(region, 1);
        break;
      case LbAlgorithm::waterfallByZone:
        for (const auto& [rank, zone] : zones(rest)) add(zone, 1);
        break;
      case LbAlgorithm::sprayToWorld:
        add(rest, 1);
        break;
    }
  }
  void overfill() {
    std::vector<std::size_t> all = serving(true);
    const auto rest = serving(false);
    all.insert(all.end(), rest.begin(), rest.end());
    std::sort(all.begin(), all.end());
    add(all, kNoLimit, Kind::overfilling);
  }

 private:
  void add(const std::vector<std::size_t>& members, double level, Kind kind = Kind::byAlgorithm) {
    if (!members.empty()) plan_.stages.push_back({members, level, kind});
  }
  std::vector<std::size_t> serving(bool preferred) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].preferred == preferred && plan_.groups[i].serves()) found.push_back(i);
    return found;
  }
  Ranks regions(const std::vector<std::size_t>& members) const {
    Ranks ranks;
    for (const std::size_t i : members) ranks[order_.regionRank(groups_[i].region)].push_back(i);
    return ranks;
  }
  Ranks zones(const std::vector<std::size_t>& members) const {
    Ranks ranks;
    for (const std::size_t i : members)
      ranks[order_.zoneRank(groups_[i].region, groups_[i].zone)].push_back(i);
    return ranks;
  }

  const std::vector<PlacedGroup>& groups_;
  const ZoneOrder& order_;
  PlacementPlan& plan_;
};

// How much a stage takes until all its groups have at least the fill `level`.
double needed(const PlacementPlan& plan, const PlacementPlan::Stage& stage,
              const std::vector<double>& loads, double level) {
  double sum = 0;
  for (const std::size_t i : stage.groups)
    sum += std::max(0.0, level * plan.groups[i].usable - loads[i]);
  return sum;
}

// The fill to which the groups of a stage rise together when they share `load`: between the fills
// that they have, it grows in a straight line.
double levelFor(const PlacementPlan& plan, const PlacementPlan::Stage& stage,
                const std::vector<double>& loads, double load) {
  std::vector<std::size_t> byFill = stage.groups;
  const auto fill = [&](std::size_t i) { return loads[i] / plan.groups[i].usable; };
  std::sort(byFill.begin(), byFill.end(),
            [&](std::size_t a, std::size_t b) { return fill(a) < fill(b); });
  double usable = 0, present = 0;
  for (std::size_t n = 0; n < byFill.size(); ++n) {
    usable += plan.groups[byFill[n]].usable;
    present += loads[byFill[n]];
    const double level = (load + present) / usable;
    if (n + 1 == byFill.size() || level <= fill(byFill[n + 1])) return level;
  }
  return 0;
}

}  // namespace

PlacementPlan planPlacement(const ServiceLbPolicy& policy, const std::vector<PlacedGroup>& groups,
                            const ZoneOrder& order) {
  PlacementPlan plan;
  const std::size_t nearest = nearestHealthyRegion(groups, order);
  for (const PlacedGroup& group : groups) {
    PlacementPlan::Group& planned = plan.groups.emplace_back();
    planned.usableFraction = usableOf(1, group, policy.failoverHealthThreshold);
    planned.usable = usableOf(group.capacity, group, policy.failoverHealthThreshold);
    planned.allowed = isAllowed(group, policy, order, nearest);
  }
  Stages stages(groups, order, plan);
  stages.preferred();
  stages.others(policy.algorithm);
  stages.overfill();
  return plan;
}

std::vector<double> distribute(const PlacementPlan& plan, double load) {
  std::vector<double> loads(plan.groups.size(), 0);
  for (const PlacementPlan::Stage& stage : plan.stages) {
    if (load <= 0) break;
    const double room =
        stage.level == kNoLimit ? kNoLimit : needed(plan, stage, loads, stage.level);
    const double level = load < room ? levelFor(plan, stage, loads, load) : stage.level;
    for (const std::size_t i : stage.groups)
      loads[i] = std::max(loads[i], level * plan.groups[i].usable);
    load -= std::min(load, room);
  }
  return loads;
}

GroupPicker::GroupPicker(PlacementPlan plan, std::vector<double> loads)
    : plan_(std::move(plan)),
      loads_(std::move(loads)),
      stagesOf_(plan_.groups.size()),
      byFill_(plan_.stages.size()) {
  loads_.resize(plan_.groups.size(), 0);
  for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
    for (const std::size_t group : plan_.stages[stage].groups) {
      stagesOf_[group].push_back(stage);
      byFill_[stage].emplace(fill(group), group);
    }
    if (!isFull(stage)) open_.insert(stage);
  }
}

bool GroupPicker::isFull(std::size_t stage) const {
  return byFill_[stage].begin()->first >= plan_.stages[stage].level;
}

void GroupPicker::setLoad(std::size_t group, double load) {
  for (const std::size_t stage : stagesOf_.at(group)) byFill_[stage].erase({fill(group), group});
  loads_[group] = load;
  for (const std::size_t stage : stagesOf_[group]) {
    byFill_[stage].emplace(fill(group), group);
    if (isFull(stage))
      open_.erase(stage);
    else
      open_.insert(stage);
  }
}

}  // namespace weir
