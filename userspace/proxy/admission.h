// SPDX-License-Identifier: GPL-2.0-or-later
//
// How many clients there is room for (X5.6). A connection needs two descriptors, the client's and
// the backend's, and nobody is let in who could have only the first: accepting pauses before the
// process runs out, so that those that are open find what they need. A share is for the pipes that
// bytes are spliced through; without a pipe they are copied.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "proxy/counters.h"

namespace weir::proxy {

class Admission {
 public:
  // Before the threads start: how many descriptors the process may have, and how many threads.
  void begin(std::uint64_t descriptors, std::size_t threads) noexcept {
    threads_.clear();
    descriptors_ = descriptors;
    pipesPerThread_ =
        std::clamp<std::uint64_t>(descriptors / kDescriptorsForAPipe / threads, 1, kMostPipes);
    forPipes_ = 2 * pipesPerThread_ * threads;
  }
  // Before it accepts.
  void add(const ThreadCounters& thread) { threads_.push_back(&thread); }

  // Control thread: how many descriptors are open while there is no connection and no pipe.
  void setOthers(std::uint64_t others) noexcept {
    const std::uint64_t taken = others + forPipes_ + kReserve;
    most_.store(descriptors_ > taken ? (descriptors_ - taken) / kPerConnection : 0,
                std::memory_order_relaxed);
  }

  // Any thread. Threads that ask at the same moment may each let one more in; the reserve is for
  // them, too.
  bool hasRoom() const noexcept { return open() < most_.load(std::memory_order_relaxed); }
  std::uint64_t most() const noexcept { return most_.load(std::memory_order_relaxed); }
  std::uint64_t pipesPerThread() const noexcept { return pipesPerThread_; }

 private:
  static constexpr std::uint64_t kPerConnection = 2;
  static constexpr std::uint64_t kDescriptorsForAPipe = 16;
  // More are hardly ever in use at once, and connections have a better use for descriptors.
  static constexpr std::uint64_t kMostPipes = 256;  // of a thread
  // For name servers, the manager, a successor, a log.
  static constexpr std::uint64_t kReserve = 12;

  std::uint64_t open() const noexcept {
    std::uint64_t sum = 0;
    for (const ThreadCounters* thread : threads_)
      sum += thread->open.load(std::memory_order_relaxed);
    return sum;
  }

  std::uint64_t descriptors_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pipesPerThread_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t forPipes_ = 0;
  std::vector<const ThreadCounters*> threads_;
  std::atomic<std::uint64_t> most_{std::numeric_limits<std::uint64_t>::max()};
};

}  // namespace weir::proxy
