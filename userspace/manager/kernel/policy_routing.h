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
#include <functional>
#include <map>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/change_log.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/next_hop.h"
#include "manager/kernel/ownership.h"
#include "manager/kernel/route_messages.h"
#include "weir/result.h"

namespace weir::manager {

// Refuses marks and masks that have no place in the rules.
Status checkWish(const KernelWish&);

// What a family should have.
struct RoutingWish {
  std::vector<RoutingRule> rules;  // highest preference first
  std::map<std::uint32_t, BackendTable> tables;
  bool empty() const noexcept { return rules.empty() && tables.empty(); }
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

// Of all families, by indexOf().
using RoutingWishes = std::array<RoutingWish, kFamilies.size()>;

// One comparison of the wish with the kernel, and what it takes to bring the kernel there. Routes
// come before the rules that lead to them and go after them. An error names the first message that
// the kernel refused; the others have been done.
class RoutingPass {
 public:
  // Reads what the kernel has. `nextHops` has all backends' addresses. A backend that `maySend`
  // refuses has a route that says unreachable. `before`: the wishes of the last pass, empty in the
  // first one; what differs from the kernel without differing from them is somebody else's doing.
  static Result<RoutingPass> begin(Netlink&, const KernelWish&, const NextHops&,
                                   const std::function<bool(Address)>& maySend,
                                   const RoutingWishes& before, ChangeLog&);

  Status addMissing();
  Status removeOld();
  const RoutingWishes& wishes() const noexcept { return wishes_; }
  // Sorted by mark.
  const std::vector<UnreachableBackend>& unreachable() const noexcept { return unreachable_; }

 private:
  RoutingPass(Netlink& netlink, std::uint8_t protocol, const RoutingWishes& before, ChangeLog& log)
      : netlink_(&netlink), protocol_(protocol), before_(&before), log_(&log) {}
  Status addRoutes(Family);
  Status addRules(Family);
  Status removeOthers(Family);

  Netlink* netlink_;
  std::uint8_t protocol_;
  const RoutingWishes* before_;
  ChangeLog* log_;
  RoutingWishes wishes_;
  std::array<RoutingState, kFamilies.size()> states_;
  std::vector<UnreachableBackend> unreachable_;
};

// Removes every rule and route of this ownership but those of `keep`, whose numbers may overlap.
Status removeRouting(Netlink&, const RoutingOwnership&, const RoutingWishes& keep = {});

}  // namespace weir::manager
