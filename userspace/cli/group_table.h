// SPDX-License-Identifier: GPL-2.0-or-later
//
// The groups of a proxy's service as tables show them (S6): how far, how well, how much they can
// take, how much they have, and why they do not serve as configured.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"

namespace weir::cli {

// Titles, and the cells of one group as GET /v1/backendServices/NAME/health has it, in their order.
std::vector<std::string> groupHeader();
std::vector<std::string> groupCells(const Json& group);

}  // namespace weir::cli
