// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli/context.h"

namespace weir::cli {

// GET /v1/status on one screen.
void printStatus(const Json& status, const Context&);
// Its parts that `top` shows as well: which programs run; drops by reason, "none".
void printPrograms(const Json& status, const Context&);
std::string dropsOf(const Json& engine);

}  // namespace weir::cli
