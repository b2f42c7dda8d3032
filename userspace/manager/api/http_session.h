// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "manager/api/http.h"

namespace weir::manager {

// One client's connection: requests one after the other until it closes, errs or is too slow.
class HttpSession {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  virtual ~HttpSession() = default;
  virtual void start() = 0;
  // Answers one request that was never read, and closes.
  virtual void refuse(HttpResponse) = 0;
  virtual void close() = 0;
};

// Lives until its connection is closed; `closed` is called then, once.
std::shared_ptr<HttpSession> makeHttpSession(HttpSession::Socket, HttpHandler, Access,
                                             std::chrono::milliseconds patience,
                                             std::function<void(HttpSession*)> closed);

}  // namespace weir::manager
