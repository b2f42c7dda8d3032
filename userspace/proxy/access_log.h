// SPDX-License-Identifier: GPL-2.0-or-later
//
// One line per connection (X7.1).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/close_reason.h"
#include "weir/proxy_snapshot.h"
#include "weir/proxy_world.h"

namespace weir::proxy {

// Where a connection went; empty: it did not come so far.
struct AccessRecord {
  std::string rule;
  std::string service;
  std::string group;
  std::string endpoint;
  std::string tlsRoute;
  std::string serverName;
  std::string_view decidedBy;  // the number of the rule that chose the backend, or closed
};

// How it ended.
struct AccessEnd {
  const ProxyConnection& connection;
  std::chrono::milliseconds duration{0};
  std::uint64_t bytesUp = 0, bytesDown = 0;  // to the backend, to the client
  CloseReason reason = CloseReason::none;
  std::string_view detail;
};

void logConnection(const AccessRecord&, const AccessEnd&);

// Does the service want this connection in its log?
bool isSampled(const ProxyServiceSnapshot&);

}  // namespace weir::proxy
