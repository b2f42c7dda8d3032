// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "manager/api/http.h"
#include "manager/local_socket.h"
#include "weir/result.h"

namespace weir::manager {

// HTTP/1.1 on a Unix or a TCP socket. Whatever a client sends, or does not send, it gets a clear
// error or is disconnected, and disturbs nobody else:
//   malformed 400, not allowed to connect 403, too slow 408, body over kMaxBody 413, headers over
//   kMaxHeader 431, more connections than ConnectionLimit has 503.
class HttpServer {
 public:
  static constexpr std::size_t kMaxBody = 8u << 20;
  static constexpr unsigned kMaxHeader = 16u << 10;

  // `patience`: how long a request may take to arrive, an answer to be taken, and a connection to
  // stay open between two requests.
  HttpServer(boost::asio::io_context&, HttpHandler,
             std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~HttpServer();

  // For root, this program's user, the members of `group`, who may do everything, and those of
  // `viewGroup`, who may look. Groups that do not exist are nobody's.
  Status listenLocal(const std::filesystem::path&, const std::string& group,
                     const std::string& viewGroup = "");
  Status listenLocal(const std::filesystem::path&, const SocketGroups&);
  // "127.0.0.1:9147" or "[::1]:9147".
  Status listenTcp(const std::string& address);
  // The TCP port; tests listen on port 0.
  unsigned short port() const;
  // No connection is accepted any more; those that are open are closed.
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir::manager
