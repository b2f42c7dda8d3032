// SPDX-License-Identifier: GPL-2.0-or-later
#include <iostream>

#include "cli/command_line.h"

int main(int argc, char* argv[]) {
  return weir::cli::run({argv + 1, argv + argc}, std::cout, std::cerr);
}
