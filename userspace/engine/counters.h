// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "weir/data_plane.h"

namespace weir::engine {

// A counter with one writer and any readers. Adding is a plain load and store, no locked
// instruction; a reader sees some recent value.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Packets of one service.
struct ServiceCounters {
  Counter fresh, known, related, dropped;
};

// What one packet thread counts; written by that thread only.
struct alignas(64) ThreadCounters {
  Counter packets;
  Counter bytes;  // of the packets at their true length
  Counter forwardedNew, forwardedKnown, forwardedRelated;
  Counter passed;
  std::array<Counter, kDropReasons> dropped;       // by DropReason
  std::array<Counter, kMalformedKinds> malformed;  // by Malformed; dropped too
  Counter batches;
  Counter receiveErrors;  // failed system calls
  Counter sendErrors;
  Counter verdictErrors;  // verdicts that the kernel refused
  Counter unreadable;     // messages that could not be read; their packets are dropped
  std::atomic<std::int64_t> heartbeatMs{0};  // Time of the thread's last turn

  // One for each possible service, so that the packet path never allocates or checks bounds. Pages
  // of services that do not exist are never touched and take no memory.
  static constexpr std::size_t kServices = 1u << 16;
  ServiceCounters& service(ServiceId id) const noexcept { return services_[id.value()]; }

 private:
  struct Unmap {
    void operator()(ServiceCounters*) const noexcept;
  };
  static std::unique_ptr<ServiceCounters[], Unmap> map();
  std::unique_ptr<ServiceCounters[], Unmap> services_ = map();
};

}  // namespace weir::engine
