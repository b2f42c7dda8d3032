// SPDX-License-Identifier: GPL-2.0-or-later
//
// Events of the TCP proxy (C3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/schema.h"
#include "weir/proxy_world.h"

namespace weir::cli {

// A client connects, and stays until a CloseEvent or until its backend has drained.
struct ConnectionEvent {
  std::string id;
  ProxyConnection ends;
  std::optional<std::string> sni;  // as the client sends it
  std::vector<std::string> alpn;
  config::Mark place;  // of the id
};
// Both sides are done with a connection.
struct CloseEvent {
  std::string id;
  config::Mark place;
};
// How many connections would lie where (S3).
struct LoadEvent {
  std::string service;
  double connections = 0;
  config::Mark place;  // of the service
};

ConnectionEvent readConnection(const config::Value&, config::Reader&);
CloseEvent readClose(const config::Value&, config::Reader&);
LoadEvent readLoad(const config::Value&, config::Reader&);

}  // namespace weir::cli
