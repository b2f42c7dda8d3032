// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a backend's address is reached, as the kernel's own (unmarked) routing says. Packets go to
// backends unchanged, so a backend must be a neighbour: a router in between would route by the
// virtual address and send them back.
#pragma once

#include <map>
#include <set>
#include <string>

#include "manager/kernel/netlink.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct NextHop {
  unsigned interface = 0;  // 0: not reachable
  // Why packets do not arrive now; may be given with an interface too (no carrier: the route
  // stays, the link comes back without any help).
  std::string reason;
  // The interface finds link-layer addresses by ARP and neighbour discovery.
  bool resolves = false;
};

// What the kernel answered to "how is `address` reached": a route, or an errno.
NextHop classifyNextHop(Address address, const NetlinkAnswer&);

using NextHops = std::map<Address, NextHop>;
// One next hop for each address.
Result<NextHops> findNextHops(Netlink&, const std::set<Address>&);

}  // namespace weir::manager
