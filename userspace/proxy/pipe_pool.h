// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/fd.h"

namespace weir::proxy {

// A pipe that bytes are spliced through, never read or written by weir.
struct Pipe {
  Fd readEnd;
  Fd writeEnd;
  std::size_t held = 0;  // bytes inside
  bool large = false;
};

// Pipes of one thread. A connection has one only while bytes are in flight; making and sizing a
// pipe costs three system calls, so that used ones are kept for the next.
class PipePool {
 public:
  static constexpr int kPipeBytes = 256 * 1024;
  // A few are larger. They are always taken first, and one that has been emptied is free at once,
  // so that as long as receivers keep up these few carry all connections' bytes: in fewer steps,
  // and through memory that the processor has at hand.
  static constexpr int kLargePipeBytes = 1024 * 1024;
  static constexpr std::size_t kMaxLarge = 8;
  static constexpr std::size_t kMaxIdle = 64;

  // There are never more of them, taken and idle.
  void setMost(std::uint64_t most) noexcept { most_ = most; }
  // nullptr: there are as many as there may be, or the process is out of descriptors.
  std::unique_ptr<Pipe> take();
  // One that still holds bytes is closed with them.
  void giveBack(std::unique_ptr<Pipe>);

 private:
  std::vector<std::unique_ptr<Pipe>> idle_;
  std::uint64_t most_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t made_ = 0;  // those that exist
  std::size_t large_ = 0;   // of these, the large ones
};

}  // namespace weir::proxy
