// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a backend's address is reached, as the kernel's own (unmarked) routing says. Packets go to
// backends unchanged, so a backend must be a neighbour: a router in between would route by the
// virtual address and send them back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manager/kernel/netlink.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct NextHop {
  unsigned interface = 0;  // 0: not reachable
  // Why packets do not arrive now; may be given with an interface too (no carrier: the route
  // stays, the link comes back without any help).
  std::string reason;
};

// What the kernel answered to "how is `address` reached": a route, or an errno.
NextHop classifyNextHop(Address address, const NetlinkAnswer&);

// One next hop for each address, in order.
Result<std::vector<NextHop>> findNextHops(Netlink&, std::span<const Address>);

}  // namespace weir::manager
