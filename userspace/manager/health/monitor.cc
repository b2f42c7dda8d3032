// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <tuple>

#include "base/log.h"
#include "manager/clock.h"
#include "manager/health/answer.h"

namespace weir::manager {

namespace asio = boost::asio;

namespace {

using TargetKey = std::tuple<EndpointRef, std::string, Address, std::uint16_t>;

TargetKey keyOf(const ProbeTarget& target) {
  return {target.endpoint, target.check->name, target.address, target.port};
}

void logTransition(const Prober& prober) {
  const ProbeTarget& target = prober.target();
  const auto level = target.check->logEnable ? log::Level::info : log::Level::debug;
  log::write(level, "health changed",
             {{"GROUP", target.endpoint.group},
              {"BACKEND", target.endpoint.endpoint},
              {"SERVICE", fmt::format("{}", fmt::join(target.services, ","))},
              {"HEALTH_CHECK", target.check->name},
              {"TARGET", target.destination()},
              {"OLD_STATE", std::string(toString(prober.previousState()))},
              {"NEW_STATE", std::string(toString(prober.state()))},
              {"PROBE_DURATION_MS",
               fmt::format("{:.3f}", static_cast<double>(prober.lastDuration().count()) / 1000)},
              {"REASON", prober.reason().empty() ? "probe succeeded" : prober.reason()}});
}

}  // namespace

struct HealthMonitor::Impl : std::enable_shared_from_this<HealthMonitor::Impl> {
  // An endpoint as a backend of a service; in the order of endpoints.
  struct Member {
    EndpointRef endpoint;
    std::string service;
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  struct MemberState {
    std::set<Prober*> probers;
    Health reported = Health::unknown;
    std::optional<ReportedWeight> reportedWeight;
  };

  Impl(asio::io_context& io, Known knownHealth, std::function<void(Report)> reportTo)
      : context{io, tls}, known(std::move(knownHealth)), report(std::move(reportTo)), timer(io) {}

  const std::string* unreachableReason(const ProbeTarget& target) const {
    const auto found = unreachable.find({target.backend, target.address.family()});
    return found == unreachable.end() ? nullptr : &found->second;
  }

  void heard(Prober& prober, const Outcome& outcome, bool changed) {
    if (outcome.kind == Outcome::Kind::notMade) {
      ++counters.notMade;
      return log::warning("a health probe could not be made; its backend keeps its state",
                          {{"BACKEND", prober.target().endpoint.endpoint},
                           {"TARGET", prober.target().destination()},
                           {"REASON", outcome.reason}});
    }
    switch (outcome.kind) {
      case Outcome::Kind::success:
        ++counters.succeeded;
        break;
      case Outcome::Kind::wrongAnswer:
        ++counters.failed;
        break;
      case Outcome::Kind::noAnswer:
        ++counters.timedOut;
        break;
      case Outcome::Kind::notMade:
        break;
    }
    for (const auto& service : prober.target().services)
      durations[service].of(outcome.kind).add(prober.lastDuration());
    if (changed) logTransition(prober);
    const EndpointRef& endpoint = prober.target().endpoint;
    if (outcome.utilization)
      if (const auto utilization = prober.utilization()) readings[endpoint] = *utilization;
    if (changed || outcome.weight)
      for (const auto& service : prober.target().services) touched.insert({endpoint, service});
    if (changed || outcome.weight || outcome.utilization) reportSoon();
  }

  // The member may have another state than the one reported: look at the next report.
  void touch(const Member& member) {
    touched.insert(member);
    reportSoon();
  }

  void reportSoon() {
    if (timerRuns) return;
    timerRuns = true;
    const Time earliest = lastReport + kReportInterval;
    const Time present = now();
    timer.expires_after(earliest > present ? earliest - present : Clock::duration(0));
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!error && self) self->flush();
    });
  }

  void flush() {
    timerRuns = false;
    Report changes;
    for (const auto& member : std::exchange(touched, {})) {
      const auto found = members.find(member);
      if (found == members.end()) continue;
      MemberState& state = found->second;
      if (const Health health = combinedHealth(state); health != state.reported) {
        state.reported = health;
        changes.health.push_back({member.endpoint, health, member.service});
      }
      const auto weight = combinedWeight(state);
      if (weight && weight != state.reportedWeight) {
        state.reportedWeight = weight;
        changes.weights.push_back({member.endpoint, *weight, member.service});
      }
    }
    for (const auto& [ref, reading] : std::exchange(readings, {}))
      changes.utilizations.push_back({ref, reading});
    if (changes.health.empty() && changes.weights.empty() && changes.utilizations.empty()) return;
    lastReport = now();
    report(std::move(changes));
  }

  Health combinedHealth(const MemberState& member) const {
    std::vector<Health> states;
    for (const Prober* prober : member.probers)
      states.push_back(unreachableReason(prober->target()) ? Health::unhealthy : prober->state());
    return combineHealth(states);
  }

  static std::optional<ReportedWeight> combinedWeight(const MemberState& member) {
    std::vector<ReportedWeight> weights;
    for (const Prober* prober : member.probers)
      if (prober->weight()) weights.push_back(*prober->weight());
    if (weights.empty()) return std::nullopt;
    return combineWeights(weights);
  }

  void join(Prober& prober, const std::string& service) {
    const Member member{prober.target().endpoint, service};
    const auto [state, isNew] = members.try_emplace(member);
    if (isNew) state->second.reported = known(member.endpoint, service);
    state->second.probers.insert(&prober);
    touch(member);
  }

  void leave(Prober& prober, const std::string& service) {
    const auto state = members.find({prober.target().endpoint, service});
    state->second.probers.erase(&prober);
    touch(state->first);
    if (state->second.probers.empty()) members.erase(state);
  }

  // The worst state that the services of the target know: a prober continues where one has been.
  Health knownOf(const ProbeTarget& target) const {
    std::vector<Health> states;
    for (const auto& service : target.services) states.push_back(known(target.endpoint, service));
    return combineHealth(states);
  }

  void add(const ProbeTarget& target) {
    auto prober = std::make_shared<Prober>(
        context, target, knownOf(target),
        [this](Prober& p, const Outcome& outcome, bool changed) { heard(p, outcome, changed); });
    for (const auto& service : target.services) join(*prober, service);
    probers.emplace(keyOf(target), prober);
    prober->start();
  }

  // Services come to share the prober before others leave it.
  void update(Prober& prober, const ProbeTarget& target) {
    const std::vector<std::string> before = prober.target().services;
    prober.update(target);
    for (const auto& service : target.services)
      if (!std::ranges::binary_search(before, service)) join(prober, service);
    for (const auto& service : before)
      if (!std::ranges::binary_search(target.services, service)) leave(prober, service);
  }

  void remove(std::map<TargetKey, std::shared_ptr<Prober>>::iterator position) {
    Prober& prober = *position->second;
    prober.stop();
    for (const auto& service : prober.target().services) leave(prober, service);
    probers.erase(position);
  }

  void setTargets(const std::vector<ProbeTarget>& targets) {
    std::map<TargetKey, const ProbeTarget*> wanted;
    std::set<std::string_view> services;
    for (const auto& target : targets) {
      wanted.emplace(keyOf(target), &target);
      services.insert(target.services.begin(), target.services.end());
    }
    std::erase_if(durations, [&](const auto& entry) { return services.count(entry.first) == 0; });
    // New ones first: a member that keeps at least one prober keeps its state.
    for (const auto& [key, target] : wanted) {
      const auto found = probers.find(key);
      if (found == probers.end())
        add(*target);
      else
        update(*found->second, *target);
    }
    for (auto it = probers.begin(); it != probers.end();) {
      const auto next = std::next(it);
      if (wanted.find(it->first) == wanted.end()) remove(it);
      it = next;
    }
  }

  ProbeContext context;
  TlsContext tls;
  Known known;
  std::function<void(Report)> report;
  asio::steady_timer timer;
  bool timerRuns = false;
  Time lastReport;
  std::set<Member> touched;
  std::map<EndpointRef, Utilization> readings;  // not reported yet
  Unreachable unreachable;
  std::map<Member, MemberState> members;
  std::map<TargetKey, std::shared_ptr<Prober>> probers;
  std::map<std::string, ProbeDurations> durations;
  Counters counters;
};

HealthMonitor::HealthMonitor(asio::io_context& io, Known known, std::function<void(Report)> report)
    : impl_(std::make_shared<Impl>(io, std::move(known), std::move(report))) {}

HealthMonitor::~HealthMonitor() {
  for (const auto& [key, prober] : impl_->probers) prober->stop();
}

void HealthMonitor::setTargets(const std::vector<ProbeTarget>& targets) {
  impl_->setTargets(targets);
}

void HealthMonitor::setUnreachable(Unreachable unreachable) {
  if (unreachable == impl_->unreachable) return;
  impl_->unreachable = std::move(unreachable);
  for (const auto& [member, state] : impl_->members) impl_->touch(member);
}

std::string HealthMonitor::reason(const EndpointRef& ref, const std::string& service) const {
  const auto found = impl_->members.find({ref, service});
  if (found == impl_->members.end()) return {};
  std::string reasons;
  for (const Prober* prober : found->second.probers) {
    const std::string* unreachable = impl_->unreachableReason(prober->target());
    const std::string& reason = unreachable ? *unreachable : prober->reason();
    if (reason.empty()) continue;
    if (!reasons.empty()) reasons += "; ";
    reasons += fmt::format("{}: {}", prober->target().destination(), reason);
  }
  return reasons;
}

HealthMonitor::Counters HealthMonitor::counters() const noexcept { return impl_->counters; }
const std::map<std::string, ProbeDurations>& HealthMonitor::durations() const noexcept {
  return impl_->durations;
}

std::optional<std::chrono::microseconds> HealthMonitor::roundTrip(const EndpointRef& ref) const {
  std::optional<std::chrono::microseconds> shortest;
  for (auto member = impl_->members.lower_bound({ref, ""});
       member != impl_->members.end() && member->first.endpoint == ref; ++member)
    for (const Prober* prober : member->second.probers)
      if (const auto& time = prober->connectTime(); time && (!shortest || *time < *shortest))
        shortest = time;
  return shortest;
}

std::size_t HealthMonitor::probers() const noexcept { return impl_->probers.size(); }

}  // namespace weir::manager
