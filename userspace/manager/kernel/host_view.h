// SPDX-License-Identifier: GPL-2.0-or-later
//
// Looks at the host as far as its settings matter to a wish. Needs no privilege.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "manager/kernel/connected.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/local_addresses.h"
#include "manager/kernel/next_hop.h"
#include "manager/kernel/sysctl_needs.h"

namespace weir::manager {

// How this host routes an unmarked packet to an address: RTN_*, and RTN_UNREACHABLE without a
// route.
Result<std::map<Address, std::uint8_t>> routeTypes(Netlink&, const std::vector<Address>&);

// The wish's virtual addresses.
std::vector<Address> virtualAddresses(const KernelWish&);

// One sentence for each virtual address among those that this host holds itself (passthrough rules
// alone have virtual addresses in a wish), with the cure in brackets.
std::vector<std::string> heldVirtualAddresses(const KernelWish&,
                                              const std::set<LocalAddress>& held);
// The sentence and its cure.
struct HeldAddress {
  std::string breaks;
  std::string fix;
};
HeldAddress describeHeld(const Address&);

Result<HostView> viewHost(Netlink&, const KernelWish&, const Links&,
                          const std::vector<ConnectedSubnet>&, const NextHops&);

}  // namespace weir::manager
