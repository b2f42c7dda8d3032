// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace weir::cli {

// The commands' part of docs/weirctl.md, made of the command table.
std::string reference();

// `weirctl __reference`, which prints it.
void addReferenceCommand(std::vector<Command>&);

}  // namespace weir::cli
