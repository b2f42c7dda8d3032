// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace weir::cli {

// All of weirctl. `arguments` without the program's name.
int run(const std::vector<std::string>& arguments, const Terminal& terminal);

}  // namespace weir::cli
