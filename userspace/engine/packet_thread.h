// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/boot_time.h"
#include "engine/counters.h"
#include "engine/queue.h"
#include "engine/world_cell.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// One queue and the thread that serves it: receive, decide, send, until it is told to stop. It
// survives every error of its socket: a queue that fails for good is bound anew.
class PacketThread {
 public:
  // How long an idle thread sleeps: bounds the time to stop and the age of its heartbeat.
  static constexpr std::chrono::milliseconds kIdleWait{200};

  // `world` and `table` must outlive the thread. It stays on `processor`, if there is one.
  PacketThread(Queue queue, const WorldCell& world, TrackingTable& table, std::uint32_t fwmarkMask,
               std::optional<unsigned> processor = std::nullopt);
  ~PacketThread();  // stops, joins, unbinds

  void requestStop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  std::uint16_t queueNumber() const noexcept { return number_; }
  const ThreadCounters& counters() const noexcept { return *counters_; }
  // When the thread last took a turn.
  Time heartbeat() const noexcept;
  // Odd while the thread decides and sends verdicts. When it is even, or has changed, the thread's
  // next decision is by the world that was published before this was read.
  std::uint64_t turn() const noexcept;

 private:
  void run();
  void serve(Queue&);
  void reopen(Queue&);

  std::uint16_t number_;
  const WorldCell* world_;
  TrackingTable* table_;
  std::uint32_t mask_;
  std::unique_ptr<ThreadCounters> counters_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> turn_{0};
  Queue queue_;
  std::thread thread_;
};

}  // namespace weir::engine
