// SPDX-License-Identifier: GPL-2.0-or-later
#include "hash_ring.h"

#include <algorithm>

#include "hash.h"

namespace weir {

HashRing::HashRing(std::span<const std::string> identities, std::uint64_t seed) {
  points_.reserve(identities.size() * kPoints);
  for (std::size_t member = 0; member < identities.size(); ++member) {
    const std::uint64_t start = hashText(identities[member], seed);
    for (std::size_t i = 0; i < kPoints; ++i)
      points_.push_back(
          {foldMultiply(start ^ (i * (kPi1 | 1)), kPi2 | 1) ^ foldMultiply(start + i, kPi3 | 1),
           static_cast<std::uint32_t>(member)});
  }
  std::sort(points_.begin(), points_.end());
}

std::size_t HashRing::firstFrom(std::uint64_t hash) const noexcept {
  const auto next = std::lower_bound(points_.begin(), points_.end(), Point{hash, 0});
  return next == points_.end() ? 0 : static_cast<std::size_t>(next - points_.begin());
}

}  // namespace weir
