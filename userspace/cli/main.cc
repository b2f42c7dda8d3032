// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "cli/command_line.h"

int main(int argc, char* argv[]) {
  const bool outIsTerminal = ::isatty(STDOUT_FILENO) == 1;
  const char* noColor = std::getenv("NO_COLOR");
  const weir::cli::Terminal terminal{.in = std::cin,
                                     .out = std::cout,
                                     .err = std::cerr,
                                     .inIsTerminal = ::isatty(STDIN_FILENO) == 1,
                                     .outIsTerminal = outIsTerminal,
                                     .color = outIsTerminal && (!noColor || *noColor == '\0')};
  return weir::cli::run({argv + 1, argv + argc}, terminal);
}
