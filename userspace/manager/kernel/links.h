// SPDX-License-Identifier: GPL-2.0-or-later
//
// This host's network interfaces.
#pragma once

#include <map>
#include <string>

#include "manager/kernel/neighbour_messages.h"
#include "manager/kernel/netlink.h"
#include "weir/result.h"

namespace weir::manager {

struct Link {
  unsigned index = 0;
  std::string name;
  bool loopback = false;
  bool up = false;               // administratively
  bool running = false;          // with a carrier
  bool resolves = false;         // by ARP and neighbour discovery
  std::uint32_t carrierUps = 0;  // how often the carrier came
  MacAddress mac{};
};

// By index.
using Links = std::map<unsigned, Link>;
Result<Links> readLinks(Netlink&);

}  // namespace weir::manager
