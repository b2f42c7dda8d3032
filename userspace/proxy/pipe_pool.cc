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
  if (made_ >= most_) return nullptr;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return nullptr;
  auto pipe = std::make_unique<Pipe>();
  pipe->readEnd = Fd(ends[0]);
  pipe->writeEnd = Fd(ends[1]);
  // Beyond the user's share of pipe memory it stays as small as it is, which works too.
  const bool largeWanted = large_ < kMaxLarge;
  pipe->large = largeWanted && ::fcntl(ends[1], F_SETPIPE_SZ, kLargePipeBytes) > 0;
  if (pipe->large)
    ++large_;
  else
    ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  ++made_;
  return pipe;
}

void PipePool::giveBack(std::unique_ptr<Pipe> pipe) {
  if (pipe == nullptr) return;
  if (pipe->held == 0 && (pipe->large || idle_.size() < kMaxIdle)) {
    idle_.insert(pipe->large ? idle_.end() : idle_.begin(), std::move(pipe));
    return;
  }
  --made_;
  if (pipe->large) --large_;
}

}  // namespace weir::proxy
