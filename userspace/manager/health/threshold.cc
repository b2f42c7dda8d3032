// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/threshold.h"

namespace weir::manager {

std::optional<Health> ThresholdCounter::record(Outcome::Kind kind,
                                               const Thresholds& thresholds) noexcept {
  if (kind == Outcome::Kind::notMade) return std::nullopt;
  if (kind == Outcome::Kind::success) {
    last_ = kind;
    failures_ = sameFailure_ = 0;
    ++successes_;
    if (state_ == Health::healthy) return std::nullopt;
    if (state_ != Health::unknown && successes_ < thresholds.healthy) return std::nullopt;
    return state_ = Health::healthy;
  }
  successes_ = 0;
  ++failures_;
  sameFailure_ = kind == last_ ? sameFailure_ + 1 : 1;
  last_ = kind;
  const Health next = kind == Outcome::Kind::noAnswer ? Health::timeout : Health::unhealthy;
  const bool alreadyDown = state_ == Health::unhealthy || state_ == Health::timeout;
  const unsigned count = alreadyDown ? sameFailure_ : failures_;
  if (state_ == next || count < thresholds.unhealthy) return std::nullopt;
  return state_ = next;
}

}  // namespace weir::manager
