// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/prober.h"

#include <fmt/format.h>

#include "manager/clock.h"
#include "manager/health/schedule.h"

namespace weir::manager {

namespace {

std::string nameOf(const ProbeTarget& target) {
  return fmt::format("{}/{}/{}/{}", target.endpoint.group, target.endpoint.endpoint,
                     target.check->name, target.destination());
}

}  // namespace

Prober::Prober(ProbeContext context, ProbeTarget target, Health known, Heard heard)
    : context_(context),
      target_(std::move(target)),
      name_(nameOf(target_)),
      counter_(known),
      previous_(counter_.state()),
      heard_(std::move(heard)),
      timer_(context.io) {
  forgetTls();
}

void Prober::forgetTls() {
  context_.resumption =
      std::make_shared<Resumption>(target_.check->checkInterval, std::hash<std::string>{}(name_));
}

void Prober::start() { schedule(firstStart(now(), name_, target_.check->checkInterval)); }

void Prober::stop() {
  heard_ = nullptr;
  ++round_;
  timer_.cancel();
  probe_.reset();
}

void Prober::update(ProbeTarget target) {
  const bool sameTiming = target.check->checkInterval == target_.check->checkInterval;
  const bool sameCheck = *target.check == *target_.check;
  target_ = std::move(target);
  if (!sameCheck) forgetTls();
  if (!sameTiming && !probe_) schedule(firstStart(now(), name_, target_.check->checkInterval));
}

void Prober::schedule(Time at) {
  const Time present = now();
  timer_.expires_after(at > present ? at - present : Clock::duration(0));
  timer_.async_wait(
      [self = shared_from_this(), round = ++round_](const boost::system::error_code&) {
        if (self->round_ == round) self->probe();
      });
}

void Prober::probe() {
  started_ = now();
  begun_ = std::chrono::steady_clock::now();
  const std::uint64_t round = ++round_;
  timer_.expires_after(target_.check->timeout);
  timer_.async_wait([self = shared_from_this(), round](const boost::system::error_code&) {
    if (self->round_ == round) self->expire();
  });
  probe_ = startProbe(context_, target_, [weak = weak_from_this(), round](Outcome outcome) {
    const auto self = weak.lock();
    if (self && self->round_ == round) self->finish(std::move(outcome));
  });
}

void Prober::expire() { finish(timedOut(*probe_, *target_.check)); }

void Prober::finish(Outcome outcome) {
  ++round_;
  probe_.reset();
  const Time present = now();
  lastDuration_ = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begun_);
  reason_ = outcome.reason;
  if (outcome.kind != Outcome::Kind::notMade) weight_ = outcome.weight;
  if (outcome.utilization) utilization_ = Utilization{*outcome.utilization, present};
  if (outcome.connectTime) connectTime_ = outcome.connectTime;
  schedule(nextStart(started_, present, name_, target_.check->checkInterval));
  previous_ = counter_.state();
  const bool changed = counter_
                           .record(outcome.kind, {target_.check->healthyThreshold,
                                                  target_.check->unhealthyThreshold})
                           .has_value();
  if (heard_) heard_(*this, outcome, changed);
}

}  // namespace weir::manager
