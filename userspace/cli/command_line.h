// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace weir::cli {

// Exit statuses of weirctl (C2).
enum class Exit : int {
  done = 0,
  refused = 1,  // or failed: one line says why and what to do
  usage = 2,
  absent = 3,  // the manager does not answer
};

// All of weirctl. `arguments` without the program's name.
int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace weir::cli
