// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counter.h"
#include "weir/close_reason.h"

namespace weir::proxy {

// What one thread of the proxy counts; written by that thread only.
struct alignas(64) ThreadCounters {
  Counter accepted;
  Counter acceptPaused;  // out of descriptors or memory (X5.6)
  Counter acceptErrors;
  std::array<Counter, kCloseReasons> closed;   // by CloseReason
  Counter bytesUp, bytesDown;                  // to backends, to clients
  Counter connects, connectFailures, retries;  // of connections to backends
  std::atomic<std::uint64_t> open{0};
};

}  // namespace weir::proxy
