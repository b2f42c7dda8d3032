// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "manager/metrics/text.h"

namespace weir::manager {

// The engine's counters (engine/stats.h) as metrics; without an answer only weir_engine_up 0.
void addEngine(MetricsText&, const std::optional<std::string>& stats);

}  // namespace weir::manager
