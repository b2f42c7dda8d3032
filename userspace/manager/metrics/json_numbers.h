// SPDX-License-Identifier: GPL-2.0-or-later
//
// Numbers out of a data plane's answer, which is not trusted to have them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "manager/metrics/text.h"

namespace weir::manager {

// What is missing counts as 0.
double numberAt(const nlohmann::json& object, const char* pointer);
// A sample for each member of an object of numbers; the keys are values of `label`.
void addLabelled(MetricsText&, const nlohmann::json& stats, const char* pointer,
                 std::string_view label);

}  // namespace weir::manager
