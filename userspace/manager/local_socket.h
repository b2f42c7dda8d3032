// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <optional>
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

// Groups that may connect to a socket; nullopt: there is no such group.
struct SocketGroups {
  std::optional<gid_t> owner;
  std::optional<gid_t> viewers;

  // By name, as the system knows them now; an empty name is nobody's.
  static SocketGroups named(const std::string& owner, const std::string& viewers = "");
};

// A listening socket at `path` that only this user, root and the groups can connect to: mode 0660
// with `owner` as its group, an access control list entry for `viewers`. A mode for everybody
// would let anybody fill the queue of those who wait to be accepted, whatever is checked then. An
// old socket there is replaced: the instance lock says that nobody listens on it.
Result<LocalListener> listenLocal(boost::asio::io_context&, const std::filesystem::path& path,
                                  const SocketGroups& groups);

}  // namespace weir::manager
