// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one probe found.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/eligibility.h"

namespace weir::manager {

struct Outcome {
  // H10: a wrong answer makes a backend UNHEALTHY, no answer makes it TIMEOUT.
  enum class Kind : std::uint8_t { success, wrongAnswer, noAnswer };
  Kind kind = Kind::noAnswer;
  std::string reason;                    // in words ("connection refused"); empty: success
  std::optional<ReportedWeight> weight;  // nullopt: this type of probe carries no weight
};

}  // namespace weir::manager
