// SPDX-License-Identifier: GPL-2.0-or-later
//
// weirctl as a whole, in front of a manager that answers what the test wants.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/command_line.h"
#include "support/temporary_directory.h"
#include "unit/cli/fake_manager.h"

namespace weir::cli {

class Weirctl : public testing::Test {
 protected:
  int weirctl(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"--run-dir", directory_.path().string()});
    out_.str("");
    err_.str("");
    std::istringstream in(input);
    return run(arguments, {.in = in,
                           .out = out_,
                           .err = err_,
                           .inIsTerminal = atTerminal_,
                           .outIsTerminal = false,
                           .color = color_});
  }
  static long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  test::TemporaryDirectory directory_;
  FakeManager manager_{directory_.path()};
  std::ostringstream out_, err_;
  bool atTerminal_ = false;  // somebody sits at the input
  bool color_ = false;
};

}  // namespace weir::cli
