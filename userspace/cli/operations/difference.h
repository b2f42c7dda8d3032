// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli/command.h"

namespace weir::cli {

// `weirctl diff [PATH]`
Command differenceCommand();
// The answer of POST /v1/diff.
void printDifference(const Json& difference, const Context&);

}  // namespace weir::cli
