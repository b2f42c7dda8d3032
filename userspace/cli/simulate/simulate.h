// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace weir::cli {

// `weirctl simulate [--check] FILE...` (C3): runs scenarios one after the other, each for itself,
// and prints a JSON object per line for each packet to `out`; with `check` only what differs from
// the scenario's `expect`. Errors go to `err`. Returns the exit status: 0; 1 for a file that cannot
// be read, an invalid scenario (of which nothing is printed) or a difference.
int runSimulate(std::span<const std::string> files, bool check, std::ostream& out,
                std::ostream& err);

}  // namespace weir::cli
