// SPDX-License-Identifier: GPL-2.0-or-later
//
// Routing rules of weir's outside the tree of marks, as rtnetlink messages both ways.
#pragma once

#include <linux/netlink.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/kernel/netlink.h"
#include "manager/kernel/ownership.h"
#include "manager/kernel/rule_tree.h"
#include "weir/address.h"
#include "weir/result.h"
#include "weir/snapshot.h"

namespace weir::manager {

struct OwnRule {
  Family family = Family::ipv4;
  // What is common with the tree's rules; a mask of 0 matches every mark.
  RoutingRule rule;
  bool inverted = false;               // matches what does not match
  std::optional<Address> destination;  // nullopt: any
  std::uint8_t protocol = 0;           // 0: any
  PortRange ports;                     // of the destination; 0-0: any
  bool strange = false;                // has selectors that weir does not use
  std::string toString() const;
  friend auto operator<=>(const OwnRule&, const OwnRule&) = default;
};

void addOwnRule(Messages&, const OwnRule&, std::uint8_t routeProtocol);
void addOwnRuleDeletion(Messages&, const OwnRule&, std::uint8_t routeProtocol);

// All of ours with preferences before ruleBase.
Result<std::set<OwnRule>> ownRules(Netlink&, const RoutingOwnership&);

}  // namespace weir::manager
