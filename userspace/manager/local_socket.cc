// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/local_socket.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace weir::manager {

namespace asio = boost::asio;
using asio::local::stream_protocol;

LocalListener::~LocalListener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<LocalListener> listenLocal(asio::io_context& io, const std::filesystem::path& path,
                                  const std::string& group) {
  const auto failure = [&](const std::string& what) {
    return Error{fmt::format("cannot listen on {}: {}", path.string(), what)};
  };
  sockaddr_un address{};
  if (path.native().size() >= sizeof address.sun_path) return failure("the path is too long");
  ::unlink(path.c_str());
  stream_protocol::acceptor acceptor(io);
  boost::system::error_code error;
  acceptor.open(stream_protocol(), error);
  if (error) return failure(error.message());
  // Nobody else may connect in the moment before the mode is set.
  const mode_t before = ::umask(0777);
  acceptor.bind(stream_protocol::endpoint(path.string()), error);
  ::umask(before);
  if (error) return failure(error.message());
  if (const ::group* entry = ::getgrnam(group.c_str()))
    if (::chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0)
      log::warning("cannot give the socket to its group",
                   {{"PATH", path.string()}, {"GROUP", group}, {"REASON", std::strerror(errno)}});
  if (::chmod(path.c_str(), 0660) != 0) return failure(std::strerror(errno));
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failure(error.message());
  return LocalListener(std::move(acceptor), path);
}

}  // namespace weir::manager
