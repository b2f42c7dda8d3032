// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "weir/types.h"

namespace weir {

// How many connections began in the last second, to the millisecond: at most a thousand numbers.
class RateWindow {
 public:
  static constexpr std::chrono::seconds kSpan{1};

  void add(Time now) {
    if (counts_.empty() || counts_.back().at != now) counts_.push_back({now, 0});
    ++counts_.back().count;
    ++sum_;
  }
  // Forgets what is a second old.
  void advance(Time now) {
    while (!counts_.empty() && counts_.front().at + kSpan <= now) {
      sum_ -= counts_.front().count;
      counts_.pop_front();
    }
  }
  std::uint64_t count() const noexcept { return sum_; }
  // When advance() will forget something next; nullopt: there is nothing.
  std::optional<Time> nextChange() const {
    return counts_.empty() ? std::nullopt : std::optional(counts_.front().at + kSpan);
  }

 private:
  struct Count {
    Time at;
    std::uint64_t count;
  };
  std::deque<Count> counts_;
  std::uint64_t sum_ = 0;
};

}  // namespace weir
