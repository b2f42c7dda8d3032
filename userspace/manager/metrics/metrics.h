// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "manager/api/http.h"

namespace weir::manager {

class Manager;

// All metrics as Prometheus text. `engineStats`, `proxyStats`: the answers of the data planes to
// "stats" (engine/stats.h, proxy/stats.h), or nullopt when there is none. Labels are names from the
// configuration and words of weir's own, never anything of a client.
std::string renderMetrics(Manager&, const std::optional<std::string>& engineStats,
                          const std::optional<std::string>& proxyStats = std::nullopt);

// GET /metrics.
HttpHandler metricsHandler(Manager&);  // the manager outlives it

}  // namespace weir::manager
