// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/instance_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
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

}  // namespace weir
