// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

#include "base/fd.h"
#include "weir/result.h"

namespace weir {

// Holds "<runDir>/<program>.lock" so that a second instance refuses to start. The kernel releases
// it when the process ends, however it ends; the file stays and holds the owner's process id.
class InstanceLock {
 public:
  // Creates runDir (mode 0755) when it is missing. The error names the process that has the lock.
  static Result<InstanceLock> acquire(const std::filesystem::path& runDir,
                                      std::string_view program);

 private:
  explicit InstanceLock(Fd fd) noexcept : fd_(std::move(fd)) {}
  Fd fd_;
};

// Holds a name in this network namespace, so that a second instance refuses to start there even
// with another run directory: both would keep undoing each other's changes of the kernel. An
// abstract Unix socket, which lives in the namespace and goes with the process.
class NamespaceLock {
 public:
  // The error names the process that has the name.
  static Result<NamespaceLock> acquire(std::string_view program);

 private:
  explicit NamespaceLock(Fd fd) noexcept : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace weir
