// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/route_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "manager/kernel_wish.h"

namespace weir::manager {

Status checkRoutes(KernelState& kernel, const Configuration& configuration,
                   const std::vector<config::Definition>& definitions) {
  const std::vector<DivertedRoute> routes = divertedRoutes(configuration);
  const Status together = kernel.checkRoutes(routes);
  if (together) return success();
  for (const DivertedRoute& route : routes) {
    const Status alone = kernel.checkRoutes({&route, 1});
    if (alone) continue;
    const auto definition = std::ranges::find_if(definitions, [&](const auto& candidate) {
      return candidate.collection == "routes" && candidate.name == route.name;
    });
    if (definition == definitions.end()) return alone;
    return Error{
        fmt::format("{}:{}: {}", definition->file, definition->line, alone.error().message)};
  }
  return together;
}

}  // namespace weir::manager
