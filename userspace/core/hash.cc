// SPDX-License-Identifier: GPL-2.0-or-later
#include "hash.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace weir {

std::uint64_t hashText(std::string_view text, std::uint64_t seed) noexcept {
  const std::uint64_t factor = (std::rotl(seed, 32) ^ kPi5) | 1;
  std::uint64_t hash = seed ^ kPi4;
  for (std::size_t at = 0; at < text.size(); at += 8) {
    // Assembled byte by byte, so that the value does not depend on the machine's byte order.
    std::uint64_t word = 0;
    const std::size_t count = std::min<std::size_t>(8, text.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
    }
    hash = foldMultiply(hash ^ word, factor);
  }
  return foldMultiply(hash ^ text.size(), (std::rotl(seed, 48) ^ kPi3) | 1);
}

}  // namespace weir
