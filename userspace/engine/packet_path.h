// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/counters.h"
#include "engine/queue.h"
#include "engine/queue_message.h"
#include "engine/verdict_writer.h"
#include "weir/data_plane.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// From the packets of a batch to their verdicts, without system calls: read, prepare all, decide
// all, in arrival order. Used by one thread.
//
//   forward    accepted, with the backend's mark in the bits of the mask; other bits kept
//   pass       accepted, mark unchanged
//   drop       dropped; malformed packets likewise; both counted by reason
class PacketPath {
 public:
  PacketPath(TrackingTable& table, std::uint32_t fwmarkMask, ThreadCounters& counters)
      : table_(&table), mask_(fwmarkMask), counters_(&counters) {}

  // At most Queue::kBatch packets, ids rising.
  void decide(const World&, std::span<const QueuedPacket>, Time now, VerdictWriter&) noexcept;

 private:
  Verdict verdictOf(const Decision&, const QueuedPacket&) noexcept;
  void countForwarded(const Decision&, std::uint64_t bytes) noexcept;
  void countMalformed(Malformed) noexcept;

  TrackingTable* table_;
  std::uint32_t mask_;
  ThreadCounters* counters_;
  std::array<Prepared, Queue::kBatch> prepared_;
  std::array<Malformed, Queue::kBatch> malformed_{};
};

}  // namespace weir::engine
