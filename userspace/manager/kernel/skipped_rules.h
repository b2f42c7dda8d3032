// SPDX-License-Identifier: GPL-2.0-or-later
//
// Routing rules of others that weir's make ineffective. Packets without a mark of weir's jump from
// ruleBase over the whole tree (rule_tree.h), and over whatever somebody else has put in between.
//
// The tree cannot be denser: so that no packet goes astray between two changes, every backend has
// one place for ever, and 1,000 of them shall cost a packet ten tests. Nor can it be much smaller:
// with 10 bits instead of 13 it would take 2,049 preferences instead of 16,385, but 8,191 backends
// would share its leaves by eight, and 65,535 by 64, each of which is a test. So the range is
// documented, and who is in it is told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manager/kernel/netlink.h"
#include "manager/kernel/ownership.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

// In words, one for each rule of the dump (addRuleDump()) within weir's range whose protocol number
// is none of weir's. `former`: other numbers that are weir's too.
std::vector<std::string> skippedRules(const Messages& dump, Family, const RoutingOwnership&,
                                      std::span<const RoutingOwnership> former);
// Asks the kernel.
Result<std::vector<std::string>> findSkippedRules(Netlink&, Family, const RoutingOwnership&);

}  // namespace weir::manager
