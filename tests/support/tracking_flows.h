// SPDX-License-Identifier: GPL-2.0-or-later
//
// Flows and memory for tests of the tracking table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "weir/tracking_table.h"

namespace weir::testing {

// Different keys for different numbers; every kind of tuple in turn.
inline FlowKey flowNumber(std::uint32_t i, Family family = Family::ipv4) {
  Tuple tuple;
  tuple.source = family == Family::ipv4 ? Address::ipv4(0x0a000000 + i)
                                        : Address::ipv6(0xfd00000000000000ull, i);
  tuple.destination =
      family == Family::ipv4 ? Address::ipv4(0x0a090909) : Address::ipv6(0xfd01000000000000ull, 9);
  tuple.protocol = Protocol::tcp;
  tuple.sourcePort = static_cast<std::uint16_t>(i);
  tuple.destinationPort = 80;
  return makeKey(static_cast<TupleKind>(i % 4), tuple);
}

// Zeroed memory for a table's slots, as a new file would be.
class SlotMemory {
 public:
  explicit SlotMemory(const TrackingTableOptions& options)
      : size_(TrackingTable::slotBytes(options)),
        memory_(static_cast<std::byte*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64 + 64))) {
    std::memset(memory_.get(), 0, size_);
  }
  std::span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace weir::testing
