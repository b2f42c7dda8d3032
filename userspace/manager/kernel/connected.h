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

// Of every address of every interface but loopback's and IPv6's link-local ones.
Result<std::vector<ConnectedSubnet>> connectedSubnets(Netlink&);

// One sentence for each route that is in conflict with a subnet.
std::vector<std::string> conflictsWithSubnets(std::span<const DivertedRoute>,
                                              std::span<const ConnectedSubnet>);

}  // namespace weir::manager
