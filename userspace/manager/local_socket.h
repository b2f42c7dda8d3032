// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "weir/result.h"

namespace weir::manager {

// A listening Unix socket and its name in the file system, which goes with it.
class LocalListener {
 public:
  using Acceptor = boost::asio::local::stream_protocol::acceptor;
  LocalListener(Acceptor acceptor, std::filesystem::path path)
      : acceptor_(std::move(acceptor)), path_(std::move(path)) {}
  ~LocalListener();
  LocalListener(LocalListener&& other) noexcept
      : acceptor_(std::move(other.acceptor_)), path_(std::exchange(other.path_, {})) {}
  LocalListener& operator=(LocalListener&&) = delete;

  Acceptor& acceptor() noexcept { return acceptor_; }

 private:
  Acceptor acceptor_;
  std::filesystem::path path_;  // empty: moved from
};

// A listening socket at `path`, mode 0660, of the system group `group` where that exists. An
// old socket there is replaced: the instance lock says that nobody listens on it.
Result<LocalListener> listenLocal(boost::asio::io_context&, const std::filesystem::path& path,
                                  const std::string& group);

}  // namespace weir::manager
