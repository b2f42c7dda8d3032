// SPDX-License-Identifier: GPL-2.0-or-later
//
// Does anybody else on a link answer for a virtual address? A backend that holds it without
// arp_ignore does, or another load balancer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "manager/kernel/links.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct Duplicate {
  Address address;
  std::string interface;
  MacAddress mac{};
};

struct Question {
  Address address;
  const Link* link = nullptr;
};

// Asks by ARP requests and neighbour solicitations, once, and listens for `wait`. An
// error: without CAP_NET_RAW.
Result<std::vector<Duplicate>> findDuplicates(const std::vector<Question>&,
                                              std::chrono::milliseconds wait);

}  // namespace weir::manager
