// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <initializer_list>
#include <optional>

#include "base/fd.h"
#include "weir/result.h"

namespace weir {

// Signals as a readable descriptor, so that an event loop meets them like any other input.
class Signals {
 public:
  // Blocks `numbers` in the calling thread and in all threads it starts later: call it before any
  // other thread exists. SIGPIPE is ignored as well; writes to closed sockets fail with EPIPE.
  static Result<Signals> block(std::initializer_list<int> numbers);

  // Non-blocking; readable while a signal waits.
  int fd() const noexcept { return fd_.get(); }
  // The next signal that waits, or nullopt.
  std::optional<int> next() noexcept;

 private:
  explicit Signals(Fd fd) noexcept : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace weir
