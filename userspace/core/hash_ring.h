// SPDX-License-Identifier: GPL-2.0-or-later
//
// Consistent hashing by a ring (Karger et al., STOC 1997): every member stands at kPoints places of
// it, and a key belongs to the member that comes next. Removing a member moves its keys only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir {

class HashRing {
 public:
  // Shares of members differ by about 1/sqrt(kPoints), a twelfth, from each other.
  static constexpr std::size_t kPoints = 160;

  HashRing() = default;
  HashRing(std::span<const std::string> identities, std::uint64_t seed);

  // The first member from the hash on that `accepts(member)`; nullopt: none does.
  template <class Accepts>
  std::optional<std::size_t> pick(std::uint64_t hash, Accepts accepts) const {
    const std::size_t first = firstFrom(hash);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::size_t at = first + i < points_.size() ? first + i : first + i - points_.size();
      if (accepts(points_[at].member)) return points_[at].member;
    }
    return std::nullopt;
  }

 private:
  struct Point {
    std::uint64_t place;
    std::uint32_t member;
    friend auto operator<=>(const Point&, const Point&) = default;
  };
  std::size_t firstFrom(std::uint64_t hash) const noexcept;

  std::vector<Point> points_;  // ascending
};

}  // namespace weir
