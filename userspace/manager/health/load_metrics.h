// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string_view>

namespace weir::manager {

// H13: the header in which a backend reports its load (Open Request Cost Aggregation):
//   TEXT cpu_utilization=0.3,application_utilization=0.5      ("TEXT " may be missing)
//   JSON {"cpu_utilization": 0.3, "application_utilization": 0.5}
inline constexpr std::string_view kLoadMetricsHeader = "endpoint-load-metrics";
// Longer values are not read.
inline constexpr std::size_t kLongestLoadMetrics = 4096;

// The utilization that the header's value reports: application_utilization when it is there and not
// 0, else cpu_utilization. nullopt: neither is there, or the value is not understood as a whole; a
// report is never half believed. Numbers are finite, 0 or more; more than 1 is overload.
std::optional<double> parseUtilization(std::string_view value);

}  // namespace weir::manager
