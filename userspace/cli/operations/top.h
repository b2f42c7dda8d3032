// SPDX-License-Identifier: GPL-2.0-or-later
//
// `weirctl top`: the status again and again, with rates.
#pragma once

#include <chrono>
#include <string>

#include "cli/command.h"

namespace weir::cli {

Command topCommand();

// What a moment showed: GET /v1/status, and when.
struct Moment {
  Json status;
  std::chrono::duration<double> at{};
};

// One screen: rates come from what changed between two moments, "-" where there is no earlier one
// or a counter began anew in between. Backends are shown of `service`, or of all services when it
// is empty. At most `rows` lines; 0: all.
std::string topScreen(const Moment* before, const Moment& now, const std::string& service,
                      std::size_t rows, const Context&);

}  // namespace weir::cli
