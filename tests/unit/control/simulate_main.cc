// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir_simulate_cli [--check] FILE...: `weirctl simulate` alone, for tests that need no manager.
#include <iostream>
#include <string>
#include <vector>

#include "cli/simulate/simulate.h"

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  const bool check = !files.empty() && files.front() == "--check";
  if (check) files.erase(files.begin());
  return weir::cli::runSimulate(files, check, std::cout, std::cerr);
}
