// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/instance_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace weir {

namespace {

std::string ownerOf(int fd) {
  char text[32] = {};
  const ssize_t length = ::pread(fd, text, sizeof text - 1, 0);
  std::string owner(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  return owner.empty() ? "?" : owner;
}

// Who listens at the address; "?" when it cannot be asked.
std::string listenerAt(const sockaddr_un& address, socklen_t length) {
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred owner{};
  socklen_t size = sizeof owner;
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0)
    return "?";
  return std::to_string(owner.pid);
}

}  // namespace

Result<InstanceLock> InstanceLock::acquire(const std::filesystem::path& runDir,
                                           std::string_view program) {
  std::error_code failure;
  std::filesystem::create_directories(runDir, failure);
  if (failure)
    return Error{fmt::format("cannot create {}: {}", runDir.string(), failure.message())};
  const std::string path = (runDir / fmt::format("{}.lock", program)).string();
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return Error{fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return Error{fmt::format("cannot lock {}: {}", path, std::strerror(errno))};
    return Error{fmt::format("{} is running already (process {}, lock {}); stop it first", program,
                             ownerOf(fd.get()), path)};
  }
  const std::string owner = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size()))
    return Error{fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  return InstanceLock(std::move(fd));
}

Result<NamespaceLock> NamespaceLock::acquire(std::string_view program) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // An abstract name: a zero byte, then the text.
  program.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + program.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return Error{fmt::format("cannot open a socket: {}", std::strerror(errno))};
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    if (errno != EADDRINUSE)
      return Error{fmt::format("cannot bind @{}: {}", program, std::strerror(errno))};
    return Error{fmt::format(
        "another {} is running in this network namespace already (process {}), with another run "
        "directory; each of them would undo the other's kernel state, so stop it first",
        program, listenerAt(address, length))};
  }
  // Nobody is accepted; the listening socket tells whose it is.
  if (::listen(fd.get(), 8) != 0)
    return Error{fmt::format("cannot listen at @{}: {}", program, std::strerror(errno))};
  return NamespaceLock(std::move(fd));
}

}  // namespace weir
