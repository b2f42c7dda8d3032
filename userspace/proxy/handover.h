// SPDX-License-Identifier: GPL-2.0-or-later
//
// Listening sockets go from a running weir-proxy to the one that takes its place (X5.5): the
// sockets stay open all the time, so that clients wait in their queues for a moment instead of
// being refused. Over "<runDir>/proxy-handover.sock", for root and the proxy's own user alone.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "weir/proxy_header.h"
#include "weir/result.h"

namespace weir::proxy {

using ListeningSockets = std::map<SocketAddress, std::vector<std::shared_ptr<const Fd>>>;

// The successor's side: all sockets of the proxy that runs now, which stops accepting. nullopt:
// none runs. Waits a few seconds at most.
Result<std::optional<ListeningSockets>> takeOver(const std::filesystem::path& runDir);

// Those that systemd kept of a predecessor that is gone. What is no listening socket is closed.
ListeningSockets fromStore(std::vector<Fd> stored);
// Under which systemd keeps the sockets of a front.
std::string storeName(const SocketAddress& front);

// The predecessor's side: waits for a successor.
class HandoverServer {
 public:
  static Result<HandoverServer> listen(const std::filesystem::path& runDir);
  int fd() const noexcept { return fd_.get(); }  // readable: a successor is there
  // Sends the sockets to it. Before this the caller has stopped accepting.
  Status give(const ListeningSockets&);

 private:
  explicit HandoverServer(Fd fd) noexcept : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace weir::proxy
