// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "manager/metrics/text.h"

namespace weir::manager {

// What weir-proxy counts; `stats` is its answer to {"op":"stats"} (proxy/stats.h), nullopt when it
// gave none. What is no such answer counts as none.
void addProxy(MetricsText&, const std::optional<std::string>& stats);

}  // namespace weir::manager
