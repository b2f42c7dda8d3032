// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>

#include "manager/health/outcome.h"
#include "weir/eligibility.h"

namespace weir::manager {

struct Thresholds {
  unsigned healthy = 2;    // successes in a row that make a backend healthy, at least 1
  unsigned unhealthy = 2;  // failures in a row that make it unhealthy, at least 1
};

// From the outcomes of one target's probes to its state (H2). Only consecutive outcomes count, and
// a probe that was not made is none:
//   unknown            first success: healthy; unhealthy.threshold failures: unhealthy or timeout
//   healthy            threshold failures of any kind: unhealthy or timeout, by the last one
//   unhealthy, timeout threshold successes: healthy; threshold failures of the other kind: that one
class ThresholdCounter {
 public:
  // A state known from before goes on; draining says nothing of the backend and is unknown.
  explicit ThresholdCounter(Health initial) noexcept
      : state_(initial == Health::draining ? Health::unknown : initial) {}

  // The new state, when this outcome changes it.
  std::optional<Health> record(Outcome::Kind, const Thresholds&) noexcept;
  Health state() const noexcept { return state_; }

 private:
  Health state_;
  unsigned successes_ = 0;
  unsigned failures_ = 0;     // in a row, of any kind
  unsigned sameFailure_ = 0;  // in a row, of the kind of the last one
  Outcome::Kind last_ = Outcome::Kind::success;
};

}  // namespace weir::manager
