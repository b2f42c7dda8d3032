// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "weir/data_plane.h"

namespace weir::engine {

// What went to one backend of a service.
struct BackendCounters {
  Counter fresh;  // packets that chose it anew: new connections
  Counter packets, bytes;
};

// Packets of one service.
struct ServiceCounters {
  Counter fresh, known, related, dropped;
  Counter bytes;  // of the forwarded ones
  std::atomic<BackendCounters*> backends{nullptr};
};

// What one packet thread counts; written by that thread only.
struct alignas(64) ThreadCounters {
  ThreadCounters();  // throws bad_alloc without memory for the services
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
  ServiceCounters& service(ServiceId id) const noexcept {
    return static_cast<ServiceCounters*>(services_.get())[id.value()];
  }

  // The writer's: one for each possible slot, made at the service's first packet. nullptr without
  // memory for it: then its backends are not counted, the service still is.
  static constexpr std::size_t kBackends = 1u << 16;
  BackendCounters* backendsOf(ServiceCounters& service) noexcept {
    BackendCounters* made = service.backends.load(std::memory_order_relaxed);
    return made != nullptr ? made : makeBackends(service);
  }
  // A reader's; nullptr as long as the service had no packet.
  const BackendCounters* backends(ServiceId id) const noexcept {
    return service(id).backends.load(std::memory_order_acquire);
  }

 private:
  // Anonymous memory: zero, which is what a counter starts with, and not there until it is touched.
  class Mapped {
   public:
    explicit Mapped(std::size_t bytes) noexcept;
    Mapped(Mapped&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Mapped& operator=(Mapped&&) = delete;
    ~Mapped();
    void* get() const noexcept { return memory_; }  // nullptr: no memory

   private:
    void* memory_;
    std::size_t bytes_;
  };
  BackendCounters* makeBackends(ServiceCounters&) noexcept;

  Mapped services_;
  std::vector<Mapped> backends_;
};

}  // namespace weir::engine
