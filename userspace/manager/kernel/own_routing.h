// SPDX-License-Identifier: GPL-2.0-or-later
//
// Routes and routing rules of weir's outside the tree of marks, brought to the wish. Who wants
// them: announcing (virtual_routes.h, neighbour_proxies.h) and the fallback (fallback.h).
#pragma once

#include <set>
#include <span>

#include "manager/kernel/own_routes.h"
#include "manager/kernel/own_rules.h"
#include "manager/kernel/owned_things.h"

namespace weir::manager {

struct OwnRoutingWish {
  std::set<OwnRoute> routes;
  std::set<OwnRule> rules;
};

class OwnRouting {
 public:
  explicit OwnRouting(Netlink& netlink) : netlink_(netlink) {}
  // Routes before the rules that lead to them. `former`: other numbers that are weir's too.
  Status addMissing(OwnRoutingWish, const RoutingOwnership&,
                    std::span<const RoutingOwnership> former, ChangeLog&);
  // What addMissing() found besides the wanted; rules first.
  Status removeOthers(const RoutingOwnership&);
  // `keep`: what is wanted now, which has the same protocol number.
  Status removeAll(const RoutingOwnership&, bool keep);
  // What is there was made under other numbers.
  void forget() {
    routes_.forget();
    rules_.forget();
  }

 private:
  Status addRoutes(const std::set<OwnRoute>& found, std::set<OwnRoute> wanted,
                   const RoutingOwnership&, std::span<const RoutingOwnership> former, ChangeLog&);
  Status remove(const std::vector<OwnRoute>&, const std::vector<OwnRule>&, std::uint8_t protocol);

  Netlink& netlink_;
  OwnedThings<OwnRoute> routes_{"route"};
  OwnedThings<OwnRule> rules_{"routing rule"};
};

}  // namespace weir::manager
