// SPDX-License-Identifier: GPL-2.0-or-later
//
// Marked packets that do not go where weir's routes say, since somebody else has put a route before
// weir's into a table of weir's, or a rule before weir's rules. Neither shows in a comparison of
// what weir owns, and neither is weir's to remove; so the kernel is asked for the outcome.
#pragma once

#include <string>
#include <vector>

#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/policy_routing.h"
#include "weir/result.h"

namespace weir::manager {

// In words, one for each backend and family. One question for each table of `routing` that leads to
// a backend.
Result<std::vector<std::string>> misledMarks(Netlink&, const KernelWish&,
                                             const RoutingWishes& routing);

}  // namespace weir::manager
