// SPDX-License-Identifier: GPL-2.0-or-later
//
// libcurl's transfers on the event loop (its multi-socket interface): any number of them at once,
// none of them waits for another.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

typedef void CURL;

namespace weir::manager {

class CurlLoop {
 public:
  explicit CurlLoop(boost::asio::io_context&);
  ~CurlLoop();

  // Runs `easy`, which stays the caller's, until `done` is called with its CURLcode, from the
  // event loop. Sockets must be opened and closed through libcurl's callbacks or by libcurl itself.
  void add(CURL* easy, std::function<void(int result)> done);
  // Ends a transfer early; its `done` is not called. Not from inside a callback of libcurl's.
  void remove(CURL* easy) noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir::manager
