// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weir::log {

// As long as one exists, the program's lines are written by a thread of its own, so that nobody who
// logs waits for a journal, a pipe or a disk that is slow. What finds the queue full is lost, and
// counted; a warning tells of it when lines are written again. Keys of fields must be literals.
//
// At most one at a time, made after setup() and after signals have been blocked.
class BackgroundWriter {
 public:
  // The queue's length in lines. Twice as many may be in memory: the thread takes a queue as a
  // whole.
  static constexpr std::size_t kMostWaiting = 16'384;
  // For so long the destructor waits for lines to be written; what is left is lost.
  static constexpr std::chrono::seconds kPatience{2};

  BackgroundWriter();
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Lines since the program started. Any thread.
  static std::uint64_t lost() noexcept;
};

// Has a line written: by the background writer if there is one, else before this returns.
void deliver(std::function<void()> writeLine);

}  // namespace weir::log
