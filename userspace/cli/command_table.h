// SPDX-License-Identifier: GPL-2.0-or-later
//
// All commands of weirctl, in the order in which help shows them.
#pragma once

#include <span>

#include "cli/command.h"

namespace weir::cli {

const std::vector<Command>& commands();
const std::vector<Group>& groups();

// A word that may come next.
struct Follower {
  std::string word;
  const Command* command = nullptr;  // nullptr: more words follow
  std::string summary;
};
// In the table's order; empty behind a command.
std::vector<Follower> followersOf(std::span<const std::string> words);

}  // namespace weir::cli
