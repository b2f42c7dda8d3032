// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli/output.h"

namespace weir::cli {

// `weirctl explain` in sentences; input as in engine/explain.h, with the manager's "explanation"
// and "nextHop".
void printExplanation(const Json& answer, std::ostream&);

}  // namespace weir::cli
