// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/virtual_routes.h"

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {

std::set<OwnRoute> virtualRoutes(const std::vector<VirtualAddress>& addresses,
                                 const RoutingOwnership& own) {
  std::set<OwnRoute> routes;
  for (const VirtualAddress& virtualAddress : addresses) {
    if (!virtualAddress.route) continue;
    OwnRoute route;
    route.destination =
        Prefix(virtualAddress.address,
               static_cast<unsigned>(8 * addressLength(virtualAddress.address.family())));
    route.table = announceTable(own);
    route.type = RTN_BLACKHOLE;
    routes.insert(route);
  }
  return routes;
}

}  // namespace weir::manager
