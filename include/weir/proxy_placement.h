// SPDX-License-Identifier: GPL-2.0-or-later
//
// From a service's snapshot to what placement (weir/placement.h) needs to know of its groups.
#pragma once

#include <cstddef>
#include <vector>

#include "weir/placement.h"
#include "weir/proxy_snapshot.h"

namespace weir {

// The target capacity of a group of `members` configured members, before the scaler (X4.2, X4.3).
// Mode UTILIZATION: the limit in connections when there is one, else maxUtilization for each
// member.
double targetCapacity(const GroupCapacity&, std::size_t members) noexcept;

// Has it a limit in connections, also beside maxUtilization?
bool limitsConnections(const GroupCapacity&) noexcept;

// C(g), members and health. Draining members do not count.
PlacedGroup placedGroup(const ProxyGroup&);
// Of every group, in the snapshot's order.
std::vector<PlacedGroup> placedGroups(const ProxyServiceSnapshot&);

// The plan of a service as it stands.
PlacementPlan planOf(const ProxyServiceSnapshot&, const ZoneOrder&);

}  // namespace weir
