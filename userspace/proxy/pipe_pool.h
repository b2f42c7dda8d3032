// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/fd.h"

namespace weir::proxy {

// A pipe that bytes are spliced through, never read or written by weir.
struct Pipe {
  Fd readEnd;
  Fd writeEnd;
  std::size_t held = 0;  // bytes inside
};

// Pipes of one thread. A connection has one only while bytes are in flight; making and sizing a
// pipe costs three system calls, so that used ones are kept for the next.
class PipePool {
 public:
  static constexpr int kPipeBytes = 256 * 1024;
  static constexpr std::size_t kMaxIdle = 64;

  // nullptr: the process is out of descriptors.
  std::unique_ptr<Pipe> take();
  // One that still holds bytes is closed with them.
  void giveBack(std::unique_ptr<Pipe>);

 private:
  std::vector<std::unique_ptr<Pipe>> idle_;
};

}  // namespace weir::proxy
