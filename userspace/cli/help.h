// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "cli/command.h"

namespace weir::cli {

// "weirctl drain SERVICE ENDPOINT [FLAGS]"
std::string usageLine(const Command&);
// The flag as it is written: "--protocol PROTOCOL", "--[no-]enable-logging".
std::string spelling(const Flag&);
// The flag's help with what may be given.
std::string meaning(const Flag&);
// The example, in several lines when it is long: ready to be pasted into a shell.
std::string exampleLines(const Command&, std::size_t indent);
// Commands whose first word is hidden from help (they serve completion and documentation).
bool isHidden(const Command&);

void printHelp(const Command&, std::ostream&);
// Says what is wrong with a command line, and how the command is used.
Exit misused(const Command&, const std::string& what, std::ostream& err);
// Of words that more words follow; none: of weirctl.
void printHelp(std::span<const std::string> words, std::ostream&);

}  // namespace weir::cli
