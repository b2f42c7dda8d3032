// SPDX-License-Identifier: GPL-2.0-or-later
//
// The subnets that this host is connected to, which routes may not be equal to or lie within (N5).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "weir/result.h"

namespace weir::manager {

struct ConnectedSubnet {
  Prefix subnet;
  std::string interface;
};

// Of every address of every interface but loopback's and IPv6's link-local ones; of an address with
// a peer, the peer's subnet and the address itself.
Result<std::vector<ConnectedSubnet>> connectedSubnets(Netlink&);

// One sentence for each route that is in conflict with a subnet.
std::vector<std::string> conflictsWithSubnets(std::span<const DivertedRoute>,
                                              std::span<const ConnectedSubnet>);

// Asks the kernel for its addresses, and by which routes it would forward to these destinations: a
// route without a gateway over a link with neighbours makes a subnet too.
Result<std::vector<std::string>> routeConflicts(Netlink&, std::span<const DivertedRoute>);

}  // namespace weir::manager
