// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace weir::proxy {

std::unique_ptr<Pipe> PipePool::take() {
  if (!idle_.empty()) {
    auto pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return nullptr;
  auto pipe = std::make_unique<Pipe>();
  pipe->readEnd = Fd(ends[0]);
  pipe->writeEnd = Fd(ends[1]);
  // Beyond the user's share of pipe memory it stays as small as it is, which works too.
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

void PipePool::giveBack(std::unique_ptr<Pipe> pipe) {
  if (pipe != nullptr && pipe->held == 0 && idle_.size() < kMaxIdle)
    idle_.push_back(std::move(pipe));
}

}  // namespace weir::proxy
