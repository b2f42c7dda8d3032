// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::config {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Error cannotRead(int error) {
  return Error{fmt::format("cannot be read: {}", std::strerror(error))};
}

// The kernel's own files claim to be regular and empty; some wait for content or never end, and of
// some what is read is gone.
bool isOfTheKernel(int file) noexcept {
  struct statfs system {};
  if (::fstatfs(file, &system) != 0) return false;
  const auto type = static_cast<unsigned long>(system.f_type);
  return type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC || type == DEBUGFS_MAGIC ||
         type == TRACEFS_MAGIC;
}

Error tooLarge(std::size_t most) {
  return Error{fmt::format("the file is larger than {} MiB; split it", most >> 20)};
}

}  // namespace

Result<std::string> readWholeFile(const std::filesystem::path& path, std::size_t most) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  // Sockets, and devices without a driver.
  if (file.get() < 0 && errno == ENXIO) return Error{"is not a regular file"};
  if (file.get() < 0) return cannotRead(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannotRead(errno);
  if (S_ISDIR(status.st_mode)) return Error{"is a directory, not a file"};
  if (!S_ISREG(status.st_mode) || isOfTheKernel(file.get())) return Error{"is not a regular file"};
  if (static_cast<std::size_t>(status.st_size) > most) return tooLarge(most);

  // The file may grow meanwhile.
  std::string text;
  text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t length = 0;
  for (;;) {
    if (length == text.size()) text.resize(std::min(length + 4096, most + 1));
    const ::ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannotRead(errno);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length > most) return tooLarge(most);
  }
  text.resize(length);
  return text;
}

}  // namespace weir::config
