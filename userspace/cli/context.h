// SPDX-License-Identifier: GPL-2.0-or-later
//
// What every command works with.
#pragma once

#include <filesystem>
#include <istream>
#include <optional>
#include <ostream>

#include "cli/output.h"

namespace weir::cli {

// Exit statuses of weirctl (C2).
enum class Exit : int {
  done = 0,
  refused = 1,  // or failed: one line says why and what to do
  usage = 2,
  absent = 3,  // the manager does not answer
};

// The streams of a command and what they are connected with.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool inIsTerminal = false;
  bool outIsTerminal = false;
  bool color = false;  // outIsTerminal, and NO_COLOR is not set
};

struct Context {
  Terminal terminal;
  std::filesystem::path runDir = "/run/weir";
  Format format = Format::table;
  std::optional<unsigned> timeoutSec = {};  // --timeout; not given: what the question deserves
  std::ostream& out() const { return terminal.out; }
  std::ostream& err() const { return terminal.err; }
};

}  // namespace weir::cli
