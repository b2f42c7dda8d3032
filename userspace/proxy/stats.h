// SPDX-License-Identifier: GPL-2.0-or-later
//
// The answer to {"op":"stats"}. Counters count since the proxy started.
//
//   {"program": "weir-proxy", "version": "0.1.0", "pid": 123, "uptimeSec": 17, "generation": 42,
//    "draining": false,             true: a successor has taken over
//    "mostConnections": 500000,     that there are descriptors for (X5.6)
//    "totals": {"accepted", "acceptPaused", "acceptErrors", "open", "bytesUp", "bytesDown",
//               "connects", "connectFailures", "retries",
//               "closed": {"": 5, "connection_refused": 0, ...}},   by reason; "": served
//    "logLinesLost": 0,             because the log is not taken fast enough
//    "fronts": {"open": 3, "failing": [{"address", "port", "reason"}]},
//    "names": {"names": 2, "unresolved": 0, "failing": 0, "queries": 9, "failures": 0},   X3.1
//    "services": [{"service": "shop", "open": 3,
//                  "groups": [{"group", "connections", "load", "usable", "fill"}]}]}
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proxy/backends.h"
#include "proxy/counters.h"
#include "proxy/resolver.h"

namespace weir::proxy {

struct StatsInput {
  std::chrono::seconds uptime{0};
  Generation generation;
  bool draining = false;
  std::vector<const ThreadCounters*> threads;
  std::vector<std::shared_ptr<Backends>> services;
  Time now;
  std::uint64_t mostConnections = 0;      // X5.6: that there are descriptors for
  std::optional<Resolver::Counts> names;  // while there are any
  std::size_t openFronts = 0;
  const std::map<SocketAddress, std::string>* failingFronts = nullptr;  // and why; nullptr: none
};

// The groups of a service with their loads, as above.
nlohmann::ordered_json groupLoads(Backends&, Time now);
// JSON text as described above.
std::string statsJson(const StatsInput&);

}  // namespace weir::proxy
