// SPDX-License-Identifier: GPL-2.0-or-later
//
// The answer to {"op":"stats"}. Counters count since the proxy started.
//
//   {"program": "weir-proxy", "version": "0.1.0", "pid": 123, "uptimeSec": 17, "generation": 42,
//    "draining": false,             true: a successor has taken over
//    "totals": {"accepted", "acceptPaused", "acceptErrors", "open", "bytesUp", "bytesDown",
//               "connects", "connectFailures", "retries",
//               "closed": {"": 5, "connection_refused": 0, ...}},   by reason; "": served
//    "services": [{"service": "shop", "open": 3,
//                  "groups": [{"group", "connections", "load", "usable", "fill"}]}]}
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "proxy/backends.h"
#include "proxy/counters.h"

namespace weir::proxy {

struct StatsInput {
  std::chrono::seconds uptime{0};
  Generation generation;
  bool draining = false;
  std::vector<const ThreadCounters*> threads;
  std::vector<std::shared_ptr<Backends>> services;
  Time now;
};

// JSON text as described above.
std::string statsJson(const StatsInput&);

}  // namespace weir::proxy
