// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/kernel_counters.h"

#include <fstream>
#include <sstream>
#include <string>

namespace weir::engine {

std::map<std::uint16_t, KernelCounters> parseKernelCounters(std::string_view text) {
  std::map<std::uint16_t, KernelCounters> counters;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    unsigned queue = 0, copyMode = 0, copyRange = 0;
    KernelCounters c;
    if (fields >> queue >> c.owner >> c.waiting >> copyMode >> copyRange >> c.dropped >>
            c.userDropped &&
        queue <= 0xffff)
      counters[static_cast<std::uint16_t>(queue)] = c;
  }
  return counters;
}

std::map<std::uint16_t, KernelCounters> readKernelCounters() {
  std::ifstream file("/proc/net/netfilter/nfnetlink_queue");
  std::ostringstream text;
  text << file.rdbuf();
  return parseKernelCounters(text.str());
}

std::optional<KernelCounters> readKernelCounters(std::uint16_t queue) {
  const auto counters = readKernelCounters();
  const auto found = counters.find(queue);
  if (found == counters.end()) return std::nullopt;
  return found->second;
}

}  // namespace weir::engine
