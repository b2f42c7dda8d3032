// SPDX-License-Identifier: GPL-2.0-or-later
//
// Marks to backends: routing rules (rule_tree.h) and one table per mark, brought to the wish by the
// smallest difference against what the kernel shows.
//
// Ours is what carries our routing protocol number and lies in our ranges of preferences and table
// numbers; nothing else is ever touched.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/route_messages.h"
#include "weir/result.h"

namespace weir::manager {

// What tells weir's rules and routes from those of others.
struct RoutingOwnership {
  std::uint32_t ruleBase = 0;
  std::uint32_t tableBase = 0;
  std::uint8_t routeProtocol = 0;
  friend bool operator==(const RoutingOwnership&, const RoutingOwnership&) = default;
};
inline RoutingOwnership routingOwnership(const KernelWish& wish) {
  return {wish.ruleBase, wish.tableBase, wish.routeProtocol};
}

// What a family should have.
struct RoutingWish {
  std::vector<RoutingRule> rules;  // highest preference first
  std::map<std::uint32_t, BackendTable> tables;
};

// What a family has of ours; the pointers lead into the dumps.
struct RoutingState {
  struct Rule {
    DumpedRule dumped;
    const nlmsghdr* message;
  };
  struct Route {
    DumpedRoute dumped;
    const nlmsghdr* message;
  };
  Messages ruleDump;
  Messages routeDump;
  std::vector<Rule> rules;
  std::vector<Route> routes;
};

// One comparison of the wish with the kernel, and what it takes to bring the kernel there. Routes
// come before the rules that lead to them and go after them. An error names the first message that
// the kernel refused; the others have been done.
class RoutingPass {
 public:
  // Looks every backend's next hop up and reads what the kernel has.
  static Result<RoutingPass> begin(Netlink&, const KernelWish&);

  Status addMissing();
  Status removeOld();
  // Sorted by mark.
  const std::vector<UnreachableBackend>& unreachable() const noexcept { return unreachable_; }

 private:
  RoutingPass(Netlink& netlink, std::uint8_t protocol) : netlink_(&netlink), protocol_(protocol) {}

  Netlink* netlink_;
  std::uint8_t protocol_;
  std::array<RoutingWish, kFamilies.size()> wishes_;
  std::array<RoutingState, kFamilies.size()> states_;
  std::vector<UnreachableBackend> unreachable_;
};

// Removes every rule and route of this ownership.
Status removeRouting(Netlink&, const RoutingOwnership&);

}  // namespace weir::manager
