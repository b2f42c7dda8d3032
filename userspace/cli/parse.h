// SPDX-License-Identifier: GPL-2.0-or-later
//
// Command lines: words that lead to a command, then its arguments and flags in any order. Flags are
// written as gcloud's: --flag VALUE, --flag=VALUE, --no-flag; `--` ends them.
#pragma once

#include <span>

#include "cli/command.h"
#include "weir/result.h"

namespace weir::cli {

// The flags that every command takes. A command's own flag of the same name wins behind it.
const std::vector<Flag>& globalFlags();

// Where the words of a command line lead.
struct Resolved {
  const Command* command = nullptr;
  std::vector<std::string> words;  // those that were followed, also when they name no command
  Invocation globals;              // flags in front of the command
  std::vector<std::string> rest;   // everything behind it
  bool help = false;               // `help` stood in front of them
  std::string unknown;             // the word that is none of those that can follow
};
Result<Resolved> resolve(std::span<const std::string> line);

// `rest` of a resolved line. Flags of globalFlags() are among the invocation's.
Result<Invocation> parse(const Command& command, std::span<const std::string> rest);

// Whether --help is asked for; before anything else is judged.
bool wantsHelp(std::span<const std::string> line);

}  // namespace weir::cli
