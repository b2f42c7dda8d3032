// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace weir::cli {

// `weirctl completion bash|zsh`, and `weirctl __complete`, which its scripts call.
void addCompletionCommands(std::vector<Command>&);

// What can stand for the last of `words`, which may be empty or begun. Names of resources and
// backends are asked of the manager, without patience: no answer, no names.
std::vector<std::string> candidates(std::span<const std::string> words, const Context&);

}  // namespace weir::cli
