// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which of the kernel's many messages are about what weir relies on. A router may learn a hundred
// thousand routes and another program may change its nf_tables sets a thousand times a second; none
// of that is a reason to compare.
#pragma once

#include <linux/netlink.h>

#include <set>
#include <string_view>

#include "weir/address.h"

namespace weir::manager {

// RTM_NEWROUTE, RTM_DELROUTE: of our protocol number, or of a destination around one of
// `addresses`.
bool isRouteNews(const nlmsghdr&, std::uint8_t protocol, const std::set<Address>& addresses);

// Messages of nf_tables: about the tables of this name in the IP families.
bool isTableNews(const nlmsghdr&, std::string_view table);

}  // namespace weir::manager
