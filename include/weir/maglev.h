// SPDX-License-Identifier: GPL-2.0-or-later
//
// Consistent hashing by Maglev's permutation filling (Eisenbud et al., NSDI 2016, section 3.4),
// extended by weights: each backend has a quota of slots, its share of the table rounded so that
// all quotas add up to the size (largest remainder), and backends take turns in proportion to
// their quotas. With equal weights this is the paper's algorithm to the letter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr std::uint32_t kMaglevSlots = 65537;

// A backend's place in the permutation, from a stable identity (its address in canonical text).
struct MaglevBackend {
  std::uint32_t offset = 0;  // 0..slots-1
  std::uint32_t skip = 1;    // 1..slots-1
  std::uint32_t weight = 1;  // 0: gets no slot
};
MaglevBackend maglevBackend(std::string_view identity, std::uint32_t weight, std::uint64_t seed,
                            std::uint32_t slots = kMaglevSlots) noexcept;

class MaglevTable {
 public:
  MaglevTable() = default;  // empty: no backend
  // Backends in an order that does not depend on the configuration's (sorted by identity); at most
  // 65,535 of them. `slots` is a prime larger than 2. All weights zero: equal weights (P9.5).
  // About a millisecond for 1,000 backends: call it off the packet path.
  explicit MaglevTable(std::span<const MaglevBackend> backends, std::uint32_t slots = kMaglevSlots);

  bool empty() const noexcept { return table_.empty(); }
  // Index into `backends` for a key's hash; not on an empty table.
  std::uint16_t pick(std::uint64_t hash) const noexcept {
    // Multiply-shift maps the hash's upper 32 bits onto the slots without a division.
    return table_[static_cast<std::size_t>(((hash >> 32) * table_.size()) >> 32)];
  }
  std::span<const std::uint16_t> slots() const noexcept { return table_; }

 private:
  std::vector<std::uint16_t> table_;
};

}  // namespace weir
