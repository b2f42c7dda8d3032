// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <limits>
#include <utility>

#include "weir/placement.h"

namespace weir {

namespace {

// Times are sums of milliseconds, which binary fractions miss by less than this.
constexpr CapacityDrain::Seconds kRounding = 1e-6;

double shareOf(const CapacityDrain::Group& group, unsigned members) {
  return group.members == 0 ? 0 : static_cast<double>(members) / group.members;
}

}  // namespace

const std::set<std::string>& CapacityDrain::update(const std::vector<Group>& groups, Seconds now) {
  using WorstFirst = std::set<std::pair<double, std::string>>;  // S4.1: by health, then by name
  std::map<std::string, Seconds> healthySince;
  WorstFirst drained, candidates;
  for (const Group& group : groups) {
    if (group.zeroCapacity) continue;
    if (!memory_.drained.contains(group.name)) {
      const double share = shareOf(group, group.healthy + group.unprobed);
      if (share < kDrainBelow) candidates.emplace(share, group.name);
      continue;
    }
    const double share = shareOf(group, group.healthy);
    if (share >= kUndrainFrom) {
      const auto known = memory_.healthySince.find(group.name);
      const Seconds since = known == memory_.healthySince.end() ? now : known->second;
      if (now - since >= kHealthyFor - kRounding) continue;  // S4.3: its capacity is back
      healthySince[group.name] = since;
    }
    drained.emplace(share, group.name);
  }
  // The drained ones come first, so that none is exchanged for another. They are bounded as well:
  // a new configuration may have left fewer groups beside them.
  memory_ = {};
  for (const WorstFirst* const some : {&drained, &candidates})
    for (const auto& [share, name] : *some) {
      const double withIt = static_cast<double>(memory_.drained.size() + 1);
      if (withIt >= kMostOfGroups * static_cast<double>(groups.size())) break;
      memory_.drained.insert(name);
    }
  for (const auto& [name, since] : healthySince)
    if (memory_.drained.contains(name)) memory_.healthySince.emplace(name, since);
  return memory_.drained;
}

CapacityDrain::Seconds CapacityDrain::nextDeadline() const noexcept {
  Seconds next = std::numeric_limits<Seconds>::infinity();
  for (const auto& [name, since] : memory_.healthySince) next = std::min(next, since + kHealthyFor);
  return next;
}

}  // namespace weir
