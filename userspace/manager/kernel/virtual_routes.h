// SPDX-License-Identifier: GPL-2.0-or-later
//
// The host routes that routing daemons export (announce: ROUTE), in a table of their own that no
// routing rule leads to. Their type is `blackhole`: daemons export it as they do any anycast
// address, and where one of them copies it to another table, what weir does not take still goes
// nowhere.
#pragma once

#include <set>
#include <vector>

#include "manager/kernel/kernel_state.h"
#include "manager/kernel/own_routes.h"

namespace weir::manager {

std::set<OwnRoute> virtualRoutes(const std::vector<VirtualAddress>&, const RoutingOwnership&);

}  // namespace weir::manager
