// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "hash.h"

namespace weir {

// Numbers that look random and are the same for the same seed everywhere: a counter, mixed. For
// choices, not for secrets.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += kPi1 | 1;
    return foldMultiply(foldMultiply(state_ ^ kPi0, kPi2 | 1) ^ state_, kPi3 | 1);
  }
  // 0..count-1; count: 1..2^32.
  std::size_t below(std::size_t count) noexcept {
    return static_cast<std::size_t>(((next() >> 32) * count) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir
