// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "manager/health/outcome.h"
#include "manager/health/probe.h"
#include "manager/health/threshold.h"

namespace weir::manager {

// What a backend said of its load (H13), and when.
struct Utilization {
  double value = 0;
  Time at;
};

// Probes one target for ever: start to start at the check's interval, each probe at most for its
// timeout, outcomes counted against the thresholds.
class Prober : public std::enable_shared_from_this<Prober> {
 public:
  // After every probe; `changed`: the prober's state is another one than before it.
  using Heard = std::function<void(Prober&, const Outcome&, bool changed)>;

  Prober(ProbeContext, ProbeTarget, Health known, Heard);
  void start();
  // No call back from now on.
  void stop();
  // The same target with another check of the same name, or another mark.
  void update(ProbeTarget);

  const ProbeTarget& target() const noexcept { return target_; }
  Health state() const noexcept { return counter_.state(); }
  Health previousState() const noexcept { return previous_; }
  // Of the last probe; empty after a success and before the first.
  const std::string& reason() const noexcept { return reason_; }
  const std::optional<ReportedWeight>& weight() const noexcept { return weight_; }
  const std::optional<Utilization>& utilization() const noexcept { return utilization_; }
  // Of the last probe, from its start to its verdict.
  std::chrono::microseconds lastDuration() const noexcept { return lastDuration_; }
  // Of the last connection that came up: the round trip to the backend.
  const std::optional<std::chrono::microseconds>& connectTime() const noexcept {
    return connectTime_;
  }

 private:
  void schedule(Time at);
  void probe();
  void expire();
  void forgetTls();
  void finish(Outcome);

  ProbeContext context_;  // with what is remembered of this target
  ProbeTarget target_;
  std::string name_;  // what its phase is made from
  ThresholdCounter counter_;
  Health previous_;
  Heard heard_;
  boost::asio::steady_timer timer_;  // to the next start, or to the timeout of the running probe
  std::unique_ptr<Probe> probe_;
  Time started_;
  std::chrono::steady_clock::time_point begun_;
  std::uint64_t round_ = 0;
  std::string reason_;
  std::optional<ReportedWeight> weight_;
  std::optional<Utilization> utilization_;
  std::chrono::microseconds lastDuration_{0};
  std::optional<std::chrono::microseconds> connectTime_;
};

}  // namespace weir::manager
