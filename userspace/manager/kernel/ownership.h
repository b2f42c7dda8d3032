// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

#include "manager/kernel/kernel_state.h"

namespace weir::manager {

// What tells weir's routing rules, routes and neighbours from those of others.
struct RoutingOwnership {
  std::uint32_t ruleBase = 0;
  std::uint32_t tableBase = 0;
  std::uint8_t routeProtocol = 0;
  friend bool operator==(const RoutingOwnership&, const RoutingOwnership&) = default;
};
inline RoutingOwnership routingOwnership(const KernelWish& wish) {
  return {wish.ruleBase, wish.tableBase, wish.routeProtocol};
}

}  // namespace weir::manager
