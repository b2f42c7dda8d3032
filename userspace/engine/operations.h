// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weir/data_plane.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// What an operation may look at. Operations run on the control thread; packet threads go on, and
// meet them only at the lock of the shard that is being visited.
struct OperationContext {
  const World* world = nullptr;
  TrackingTable* table = nullptr;  // nullptr: not open yet
  Time now{};
  std::function<std::string()> stats;  // the answer to "stats"
  // Told of the entries that a flush has removed; may be empty.
  std::function<void(const std::vector<TrackingTable::Visited>&)> onFlushed = {};
};

// Carries out the request of a frame (base/channel.h) and gives the answer, JSON text; any bytes
// are allowed, what is not understood is answered by {"error": "..."}.
//
// A connection of "list":
//   {"service": "web", "tuple": "5-tuple", "source": "10.1.0.7", "destination": "10.9.9.9",
//    "sourcePort": 40000, "destinationPort": 80, "protocol": 6,      those that the key has
//    "backend": "10.2.0.11", "group": "web-a", "generation": 7, "idleSec": 3,
//    "state": "established"}            or "new": only a SYN was seen
// Limit: 1,000 unless given, at most 100,000. Entries that are no longer valid are not shown.
std::string answerRequest(std::span<const std::uint8_t> request, const OperationContext&);

}  // namespace weir::engine
