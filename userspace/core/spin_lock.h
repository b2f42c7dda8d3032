// SPDX-License-Identifier: GPL-2.0-or-later
//
// A lock for critical sections of some ten nanoseconds that threads rarely meet in.
#pragma once

#include <atomic>
#include <thread>

namespace weir {

class SpinLock {
 public:
  void lock() noexcept {
    while (locked_.exchange(true, std::memory_order_acquire)) waitUntilFree();
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  void waitUntilFree() const noexcept {
    // A holder that was preempted needs a processor more than we do.
    constexpr int kSpinsBeforeYield = 128;
    for (int spins = 0; locked_.load(std::memory_order_relaxed); ++spins) {
      if (spins >= kSpinsBeforeYield) {
        std::this_thread::yield();
      } else {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
      }
    }
  }

  std::atomic<bool> locked_{false};
};

}  // namespace weir
