// SPDX-License-Identifier: GPL-2.0-or-later
//
// Numbers of weir's in the kernel beside those of the backends' marks: routing rules just before
// the tree (rule_tree.h), tables after the backends' ones, and two marks that no backend has.
#pragma once

#include <bit>
#include <cstdint>

#include "manager/kernel/ownership.h"
#include "manager/kernel/rule_tree.h"
#include "weir/types.h"

namespace weir::manager {

// Preferences before ruleBase: where lookups for the host's own answers to ARP and neighbour
// discovery go, and the fallback's three.
inline constexpr std::uint32_t kOwnPreferences = 4;
constexpr std::uint32_t neighbourPreference(const RoutingOwnership& own) noexcept {
  return own.ruleBase - 4;
}
constexpr std::uint32_t fallbackGuardPreference(const RoutingOwnership& own) noexcept {
  return own.ruleBase - 3;
}
constexpr std::uint32_t fallbackProtocolPreference(const RoutingOwnership& own) noexcept {
  return own.ruleBase - 2;
}
constexpr std::uint32_t fallbackRestPreference(const RoutingOwnership& own) noexcept {
  return own.ruleBase - 1;
}

constexpr std::uint32_t neighbourTable(const RoutingOwnership& own) noexcept {
  return own.tableBase + kMarkIndices;
}
constexpr std::uint32_t fallbackRangesTable(const RoutingOwnership& own) noexcept {
  return own.tableBase + kMarkIndices + 1;
}
constexpr std::uint32_t fallbackServiceTable(const RoutingOwnership& own, ServiceId id) noexcept {
  return own.tableBase + kMarkIndices + 16 + id.value();
}
inline constexpr std::uint32_t kOwnTables = 16 + 65536;  // after the backends' ones

// Routing daemons import it, and some know no table number above 252: that of the protocol.
constexpr std::uint32_t announceTable(const RoutingOwnership& own) noexcept {
  return own.routeProtocol;
}

// Nexthop objects: one per backend and family, one group per service and family.
constexpr std::uint32_t nextHopId(const RoutingOwnership& own, std::uint32_t markIndex,
                                  Family family) noexcept {
  return own.tableBase + 2 * markIndex + static_cast<std::uint32_t>(family);
}
constexpr std::uint32_t groupId(const RoutingOwnership& own, ServiceId id, Family family) noexcept {
  return own.tableBase + 2 * kMarkIndices + 2u * id.value() + static_cast<std::uint32_t>(family);
}

// The highest marks under the mask, which backends get last of all.
constexpr Mark fallbackMark(std::uint32_t fwmarkMask) noexcept { return Mark(fwmarkMask); }
constexpr Mark neighbourMark(std::uint32_t fwmarkMask) noexcept {
  return Mark(fwmarkMask - (std::uint32_t{1} << std::countr_zero(fwmarkMask)));
}

}  // namespace weir::manager
