// SPDX-License-Identifier: GPL-2.0-or-later
//
// Routes of weir's outside the backends' tables, as rtnetlink messages both ways.
#pragma once

#include <linux/rtnetlink.h>

#include <compare>
#include <cstdint>
#include <set>
#include <string>

#include "manager/kernel/netlink.h"
#include "manager/kernel/ownership.h"
#include "manager/kernel/route_messages.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct OwnRoute {
  Prefix destination{Address{}, 0};
  std::uint32_t table = 0;
  std::uint8_t type = RTN_UNICAST;  // RTN_*
  unsigned interface = 0;           // 0: none, or the next hop's
  std::uint32_t nextHop = 0;        // nexthop object or group; 0: none
  bool strange = false;             // made otherwise than weir makes them
  std::string toString() const;
  friend auto operator<=>(const OwnRoute&, const OwnRoute&) = default;
};

void addOwnRoute(Messages&, const OwnRoute&, std::uint8_t routeProtocol, RoutePlace);
void addOwnRouteDeletion(Messages&, const OwnRoute&, std::uint8_t routeProtocol);

// All of ours in the tables after the backends' ones and in the one that is announced.
Result<std::set<OwnRoute>> ownRoutes(Netlink&, const RoutingOwnership&);

}  // namespace weir::manager
