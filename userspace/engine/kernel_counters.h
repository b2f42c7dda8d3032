// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace weir::engine {

// What the kernel counts for a queue, from /proc/net/netfilter/nfnetlink_queue.
struct KernelCounters {
  std::uint32_t owner = 0;        // netlink port of the socket that has the queue
  std::uint64_t waiting = 0;      // packets without a verdict yet
  std::uint64_t dropped = 0;      // since bound: the queue was full
  std::uint64_t userDropped = 0;  // since bound: the socket's buffer was full
};

// By queue number. Lines that do not look as expected are left out.
std::map<std::uint16_t, KernelCounters> parseKernelCounters(std::string_view text);
std::map<std::uint16_t, KernelCounters> readKernelCounters();
// nullopt: no program has the queue.
std::optional<KernelCounters> readKernelCounters(std::uint16_t queue);

}  // namespace weir::engine
