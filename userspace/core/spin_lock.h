// SPDX-License-Identifier: GPL-2.0-or-later
//
// A lock of four bytes for critical sections of some ten nanoseconds that threads rarely meet in.
// It spins for about as long as such a section takes; a thread that still waits then sleeps, since
// the holder must have been preempted and needs a processor more than we do.
#pragma once

#include <atomic>

namespace weir {

class SpinLock {
 public:
  void lock() noexcept {
    int expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lockSlowly();
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

 private:
  static constexpr int kFree = 0;
  static constexpr int kHeld = 1;
  static constexpr int kAwaited = 2;  // held, and somebody may be asleep

  void lockSlowly() noexcept {
    constexpr int kSpins = 128;
    for (int spins = 0; spins < kSpins; ++spins) {
      int expected = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
        return;
      }
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    // From here on as if others slept too: one needless wake-up at most.
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) state_.wait(kAwaited);
  }

  std::atomic<int> state_{kFree};
};

}  // namespace weir
