// SPDX-License-Identifier: GPL-2.0-or-later
//
// The way of diverted packets while the engine is away: instead of going to a queue that nobody
// reads, where they would be dropped, they get one mark for all (divert_rules.h), and here is where
// that mark leads, as what the kernel should have:
//
//   ruleBase - 3   not fwmark F goto ruleBase                 others are not concerned
//   ruleBase - 2   to ADDRESS fwmark F protocol, ports lookup SERVICE     TCP and UDP rules
//   ruleBase - 1   to ADDRESS fwmark F lookup SERVICE                     L3_DEFAULT rules
//                  fwmark F lookup RANGES                                 routes[]
//   table SERVICE  default: the service's nexthop group, or blackhole where no backend is eligible
//   table RANGES   each destRange: the same
//
// The kernel chooses by its hash of addresses, and of ports where fib_multipath_hash_policy says
// so; with the policy that routes need (sysctl_needs.h) alike for both directions of a connection
// (N6). It knows nothing of the tracking table.
#pragma once

#include <set>

#include "manager/kernel/kernel_state.h"
#include "manager/kernel/next_hop.h"
#include "manager/kernel/nexthop_objects.h"
#include "manager/kernel/own_routing.h"

namespace weir::manager {

struct FallbackPlan {
  std::set<NextHopObject> objects;
  std::set<NextHopGroup> groups;
  OwnRoutingWish routing;
};

// Empty when the wish has no fallback. `nextHops` has all backends' addresses; members that cannot
// be reached are left out.
FallbackPlan planFallback(const KernelWish&, const NextHops&);

}  // namespace weir::manager
