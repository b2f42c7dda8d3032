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
#include <set>
#include <span>
#include <string>
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

// Refuses masks that are no block of bits.
Status checkMask(const KernelWish&);
// Takes backends out whose marks have no place in the rules; the others must not wait for them.
std::vector<BackendRoute> takeMisfits(KernelWish&);
std::string describeMisfit(const BackendRoute&, std::uint32_t fwmarkMask);

// What a family should have.
struct RoutingWish {
  std::vector<RoutingRule> rules;  // highest preference first
  std::map<std::uint32_t, BackendTable> tables;
  // Rules and tables of earlier wishes that weir itself has not removed yet: a node of the tree
  // gets another rule when the tree grows, and both are there until the old one is pruned.
  std::set<RoutingRule> leftOver;
  std::set<std::uint32_t> leftOverTables;
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
  // `pruned`: removeOld() has been called before by this process; what it finds until then an
  // earlier one has left. `former`: other numbers whose rules and routes are weir's too.
  static Result<RoutingPass> begin(Netlink&, const KernelWish&, const NextHops&,
                                   const std::function<bool(Address)>& maySend,
                                   const RoutingWishes& before, bool pruned,
                                   std::span<const RoutingOwnership> former, ChangeLog&);

  Status addMissing();
  Status removeOld();
  // After addMissing() without the tables that somebody else's route has the place in.
  const RoutingWishes& wishes() const noexcept { return wishes_; }
  // Complete after addMissing().
  const std::vector<UnreachableBackend>& unreachable() const noexcept { return unreachable_; }
  // Routing rules of others that weir's make ineffective, in words.
  const std::vector<std::string>& skipped() const noexcept { return skipped_; }

 private:
  RoutingPass(Netlink& netlink, const KernelWish& wish, const RoutingWishes& before, bool pruned,
              ChangeLog& log)
      : netlink_(&netlink),
        own_(routingOwnership(wish)),
        protocol_(wish.routeProtocol),
        fwmarkMask_(wish.fwmarkMask),
        before_(&before),
        pruned_(pruned),
        log_(&log) {}
  void keepLeftOver(Family);
  Status readFormerTables(std::span<const RoutingOwnership> former);
  Status addRoutes(Family);
  Status addRules(Family);
  Status removeOthers(Family);

  Netlink* netlink_;
  RoutingOwnership own_;
  std::uint8_t protocol_;
  std::uint32_t fwmarkMask_;
  const RoutingWishes* before_;
  bool pruned_;
  ChangeLog* log_;
  RoutingWishes wishes_;
  std::array<RoutingState, kFamilies.size()> states_;
  std::vector<RoutingOwnership> former_;
  // Tables whose default route has a former protocol number.
  std::array<std::set<std::uint32_t>, kFamilies.size()> formerTables_;
  std::vector<std::string> skipped_;
  std::vector<UnreachableBackend> unreachable_;
};

// Removes every rule and route of this ownership but those of `keep`, whose numbers may overlap.
Status removeRouting(Netlink&, const RoutingOwnership&, const RoutingWishes& keep = {});

}  // namespace weir::manager
