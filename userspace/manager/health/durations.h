// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "manager/health/outcome.h"

namespace weir::manager {

// How long probes took, for a histogram metric. Counts only rise.
class DurationHistogram {
 public:
  // Upper bounds of the buckets, each inclusive; one more bucket has no bound.
  static constexpr std::array<std::chrono::microseconds, 14> kBounds{
      std::chrono::microseconds(250),  std::chrono::microseconds(500),
      std::chrono::milliseconds(1),    std::chrono::microseconds(2500),
      std::chrono::milliseconds(5),    std::chrono::milliseconds(10),
      std::chrono::milliseconds(25),   std::chrono::milliseconds(50),
      std::chrono::milliseconds(100),  std::chrono::milliseconds(250),
      std::chrono::milliseconds(500),  std::chrono::seconds(1),
      std::chrono::milliseconds(2500), std::chrono::seconds(5)};
  using Counts = std::array<std::uint64_t, kBounds.size() + 1>;

  void add(std::chrono::microseconds duration) noexcept {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && duration > kBounds[bucket]) ++bucket;
    ++counts_[bucket];
    ++count_;
    sum_ += duration;
  }
  // Probes of each bucket alone; Prometheus wants them summed up from the first.
  const Counts& counts() const noexcept { return counts_; }
  std::uint64_t count() const noexcept { return count_; }
  std::chrono::microseconds sum() const noexcept { return sum_; }

 private:
  Counts counts_{};
  std::uint64_t count_ = 0;
  std::chrono::microseconds sum_{0};
};

// Of one service, by how the probes ended.
struct ProbeDurations {
  DurationHistogram succeeded, failed, timedOut;

  DurationHistogram& of(Outcome::Kind kind) noexcept {
    switch (kind) {
      case Outcome::Kind::success:
        return succeeded;
      case Outcome::Kind::wrongAnswer:
        return failed;
      case Outcome::Kind::noAnswer:
      case Outcome::Kind::notMade:  // not to be asked for
        break;
    }
    return timedOut;
  }
};

}  // namespace weir::manager
