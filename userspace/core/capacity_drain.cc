// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <limits>
#include <tuple>

#include "weir/placement.h"

namespace weir {

namespace {

// Times are sums of milliseconds, which binary fractions miss by less than this.
constexpr CapacityDrain::Seconds kRounding = 1e-6;

double healthyShare(const CapacityDrain::Group& group) {
  return group.members == 0 ? 0 : static_cast<double>(group.healthy) / group.members;
}

}  // namespace

const std::set<std::string>& CapacityDrain::update(const std::vector<Group>& groups, Seconds now) {
  std::map<std::string, Seconds> healthySince;
  std::set<std::string> stillDrained;
  std::vector<std::tuple<double, std::string>>
      candidates;  // S4.1: worst health first, then by name
  for (const Group& group : groups) {
    if (group.zeroCapacity) continue;
    const double share = healthyShare(group);
    if (!memory_.drained.contains(group.name)) {
      if (share < kDrainBelow) candidates.emplace_back(share, group.name);
      continue;
    }
    if (share >= kUndrainFrom) {
      const auto known = memory_.healthySince.find(group.name);
      const Seconds since = known == memory_.healthySince.end() ? now : known->second;
      if (now - since >= kHealthyFor - kRounding) continue;  // S4.3: its capacity is back
      healthySince[group.name] = since;
    }
    stillDrained.insert(group.name);
  }
  std::sort(candidates.begin(), candidates.end());
  for (const auto& [share, name] : candidates) {
    const double withIt = static_cast<double>(stillDrained.size() + 1);
    if (withIt >= kMostOfGroups * static_cast<double>(groups.size())) break;
    stillDrained.insert(name);
  }
  memory_ = {std::move(stillDrained), std::move(healthySince)};
  return memory_.drained;
}

CapacityDrain::Seconds CapacityDrain::nextDeadline() const noexcept {
  Seconds next = std::numeric_limits<Seconds>::infinity();
  for (const auto& [name, since] : memory_.healthySince) next = std::min(next, since + kHealthyFor);
  return next;
}

}  // namespace weir
