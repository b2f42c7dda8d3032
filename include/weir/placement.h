// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the connections of a proxy service go across groups, zones and regions (S1 to S5): from
// capacities, health and distances to a plan, and from the plan to groups. Pure.
//
// A plan is a list of stages. A stage is a set of groups that rise together, at equal fill, up to a
// level; when it is full, the next one begins. Every algorithm of S3, preferred groups and
// overfilling are stages, so that one way of filling serves all of them:
//
//   WATERFALL_BY_REGION   for each region: each of its zones to 0.5, then the region to 1
//   SPRAY_TO_REGION       each region to 1
//   WATERFALL_BY_ZONE     each zone to 1
//   SPRAY_TO_WORLD        everything to 1
//   before                each zone's preferred groups to 1
//   after                 everything without a limit
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/proxy_model.h"
#include "weir/proxy_snapshot.h"

namespace weir {

// Zones and regions as seen from a node, nearest first (S1). The node's own zone is the nearest,
// its own region the first. Then by milliseconds, those without a distance last; equal ones by
// name.
class ZoneOrder {
 public:
  using Zone = ProxyZone;
  // Milliseconds by name of a zone or a region; `configured` wins over `measured`. A region without
  // a distance of its own is as far as the nearest of its zones.
  ZoneOrder(const Zone& node, std::vector<Zone> zones,
            const std::map<std::string, double>& configured,
            const std::map<std::string, double>& measured);
  // An order that was decided elsewhere; without distances.
  ZoneOrder(const Zone& node, std::span<const Zone> nearestFirst);

  // All zones, those of a region together.
  std::vector<Zone> nearestFirst() const;
  // Both from 0; what is not known comes after everything.
  std::size_t regionRank(const std::string& region) const;
  std::size_t zoneRank(const std::string& region, const std::string& zone) const;
  // nullopt-like: infinity when not known.
  double milliseconds(const std::string& zone) const;
  const std::string& nodeRegion() const noexcept { return node_.region; }

 private:
  Zone node_;
  std::map<std::string, std::size_t> regions_;
  std::map<std::pair<std::string, std::string>, std::size_t> zones_;  // region, zone
  std::map<std::string, double> distances_;                           // of zones
};

// A group of a service at one moment.
struct PlacedGroup {
  std::string name;
  std::string zone;
  std::string region;
  bool preferred = false;
  double capacity = 0;   // C(g): target capacity x scaler, 0 when drained (S2)
  unsigned members = 0;  // configured
  unsigned healthy = 0;
};

struct PlacementPlan {
  struct Group {
    double usableFraction = 0;  // u(g)
    double usable = 0;          // K(g)
    bool allowed = false;       // isolation lets it serve (S5)

    // May it get connections? Everything that chooses asks this, and nothing else.
    bool serves() const noexcept { return allowed && usable > 0; }
    // Of one that does not serve: which rule keeps connections out.
    std::string_view keptOutBy() const noexcept { return usable > 0 ? "S5" : "S3.3"; }
  };
  struct Stage {
    enum class Kind : std::uint8_t { preferred, byAlgorithm, overfilling };
    std::vector<std::size_t> groups;  // indices; only of those that serve
    double level = 1;                 // fill to which they rise; infinity: overfilling
    Kind kind = Kind::byAlgorithm;
  };
  std::vector<Group> groups;
  std::vector<Stage> stages;  // empty: nothing can be served (S3.3)
};

PlacementPlan planPlacement(const ServiceLbPolicy&, const std::vector<PlacedGroup>&,
                            const ZoneOrder&);

// The steady state of `load` (connections, or whatever capacities are counted in): how much of it
// lies on each group. Sums up to `load`, or all are 0 when nothing can be served.
std::vector<double> distribute(const PlacementPlan&, double load);

// The same plan for one connection after the other. O(log groups) per connection.
class GroupPicker {
 public:
  explicit GroupPicker(PlacementPlan plan, std::vector<double> loads);

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  // The group of the next connection: in the first stage that is not full, the least filled group,
  // among equals the first. kNone: nothing can be served. Does not count it.
  std::size_t pick() const noexcept {
    return pick([](std::size_t) { return true; }).group;
  }
  // The same among the groups that `accepts(group)`; each that it does not costs a step.
  struct Choice {
    std::size_t group = kNone;
    const PlacementPlan::Stage* stage = nullptr;
  };
  template <class Accepts>
  Choice pick(Accepts accepts) const {
    for (const std::size_t stage : open_) {
      const PlacementPlan::Stage& planned = plan_.stages[stage];
      for (const auto& [fill, group] : byFill_[stage]) {
        if (fill >= planned.level) break;
        if (accepts(group)) return {group, &planned};
      }
    }
    return {};
  }
  // A group's load is now `load`.
  void setLoad(std::size_t group, double load);
  double load(std::size_t group) const { return loads_.at(group); }
  // Only of a group of usable capacity.
  double fill(std::size_t group) const { return loads_[group] / plan_.groups[group].usable; }
  const PlacementPlan& plan() const noexcept { return plan_; }

 private:
  bool isFull(std::size_t stage) const;

  PlacementPlan plan_;
  std::vector<double> loads_;
  std::vector<std::vector<std::size_t>> stagesOf_;                // by group
  std::vector<std::set<std::pair<double, std::size_t>>> byFill_;  // by stage: fill, group
  std::set<std::size_t> open_;                                    // stages that are not full
};

// Automatic capacity drain (S4): which groups have no capacity because too few of their members
// are healthy. Keeps what it has decided; time is passed in.
class CapacityDrain {
 public:
  using Seconds = double;
  static constexpr double kDrainBelow = 0.25;
  static constexpr double kUndrainFrom = 0.35;
  static constexpr double kMostOfGroups = 0.50;
  static constexpr Seconds kHealthyFor = 60;

  struct Group {
    std::string name;
    unsigned members = 0;
    unsigned healthy = 0;
    bool zeroCapacity = false;  // S4.2: never drained, counted among all
    // Members that no probe has said anything about yet: no reason to drain, and none to come back.
    // Without this every start of weir, and every new group, would begin with a minute of drain.
    unsigned unprobed = 0;
  };
  // The groups of a service as they are at `now` (never falling). Names of drained ones.
  const std::set<std::string>& update(const std::vector<Group>&, Seconds now);
  const std::set<std::string>& drained() const noexcept { return memory_.drained; }
  // When update() may undrain a group although nothing changes; infinity: never.
  Seconds nextDeadline() const noexcept;

  // What it keeps, for a successor.
  struct Memory {
    std::set<std::string> drained;
    std::map<std::string, Seconds> healthySince;  // of drained groups that are well enough
  };
  const Memory& memory() const noexcept { return memory_; }
  CapacityDrain() = default;
  explicit CapacityDrain(Memory memory) : memory_(std::move(memory)) {}

 private:
  Memory memory_;
};

}  // namespace weir
