// SPDX-License-Identifier: GPL-2.0-or-later
//
// weir's own stable hashing. Values leave the process (every node must choose the same backend), so
// the functions are defined on integers, not on memory, and never change; docs/hashing.md is the
// definition, with the test vectors.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// 64-bit words of the fraction of pi: constants without a hidden purpose.
inline constexpr std::uint64_t kPi0 = 0x243f6a8885a308d3ull;
inline constexpr std::uint64_t kPi1 = 0x13198a2e03707344ull;
inline constexpr std::uint64_t kPi2 = 0xa4093822299f31d0ull;
inline constexpr std::uint64_t kPi3 = 0x082efa98ec4e6c89ull;
inline constexpr std::uint64_t kPi4 = 0x452821e638d01377ull;
inline constexpr std::uint64_t kPi5 = 0xbe5466cf34e90c6cull;
inline constexpr std::uint64_t kPi6 = 0xc0ac29b7c97c50ddull;

// The two halves of the 128-bit product, folded together: every bit of either factor reaches every
// bit of the result.
constexpr std::uint64_t foldMultiply(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// A stable hash of a text's bytes.
std::uint64_t hashText(std::string_view text, std::uint64_t seed) noexcept;

}  // namespace weir
