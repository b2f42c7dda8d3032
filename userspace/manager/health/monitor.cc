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
  struct EndpointState {
    std::set<Prober*> probers;
    Health reported = Health::unknown;
    std::optional<ReportedWeight> reportedWeight;
    std::optional<Utilization> utilization;  // not reported yet
  };

  Impl(asio::io_context& io, std::function<Health(const EndpointRef&)> knownHealth,
       std::function<void(Report)> reportTo)
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
    if (outcome.utilization) endpoints[endpoint].utilization = prober.utilization();
    if (changed || outcome.weight || outcome.utilization) touch(endpoint);
  }

  // The endpoint may have another state than the one reported: look at the next report.
  void touch(const EndpointRef& endpoint) {
    touched.insert(endpoint);
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
    for (const auto& ref : std::exchange(touched, {})) {
      const auto found = endpoints.find(ref);
      if (found == endpoints.end() || found->second.probers.empty()) continue;
      EndpointState& endpoint = found->second;
      if (const Health health = combinedHealth(endpoint); health != endpoint.reported) {
        endpoint.reported = health;
        changes.health.push_back({ref, health});
      }
      const auto weight = combinedWeight(endpoint);
      if (weight && weight != endpoint.reportedWeight) {
        endpoint.reportedWeight = weight;
        changes.weights.push_back({ref, *weight});
      }
      if (const auto utilization = std::exchange(endpoint.utilization, std::nullopt))
        changes.utilizations.push_back({ref, *utilization});
    }
    if (changes.health.empty() && changes.weights.empty() && changes.utilizations.empty()) return;
    lastReport = now();
    report(std::move(changes));
  }

  Health combinedHealth(const EndpointState& endpoint) const {
    std::vector<Health> states;
    for (const Prober* prober : endpoint.probers)
      states.push_back(unreachableReason(prober->target()) ? Health::unhealthy : prober->state());
    return combineHealth(states);
  }

  static std::optional<ReportedWeight> combinedWeight(const EndpointState& endpoint) {
    std::vector<ReportedWeight> weights;
    for (const Prober* prober : endpoint.probers)
      if (prober->weight()) weights.push_back(*prober->weight());
    if (weights.empty()) return std::nullopt;
    return combineWeights(weights);
  }

  void add(const ProbeTarget& target) {
    const Health before = known(target.endpoint);
    auto prober = std::make_shared<Prober>(
        context, target, before,
        [this](Prober& p, const Outcome& outcome, bool changed) { heard(p, outcome, changed); });
    EndpointState& endpoint = endpoints[target.endpoint];
    if (endpoint.probers.empty()) endpoint.reported = before;
    endpoint.probers.insert(prober.get());
    probers.emplace(keyOf(target), prober);
    prober->start();
    touch(target.endpoint);
  }

  void remove(std::map<TargetKey, std::shared_ptr<Prober>>::iterator position) {
    Prober& prober = *position->second;
    prober.stop();
    const auto endpoint = endpoints.find(prober.target().endpoint);
    endpoint->second.probers.erase(&prober);
    touch(endpoint->first);
    if (endpoint->second.probers.empty()) endpoints.erase(endpoint);
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
    // New ones first: an endpoint that keeps at least one prober keeps its state.
    for (const auto& [key, target] : wanted) {
      const auto found = probers.find(key);
      if (found == probers.end())
        add(*target);
      else
        found->second->update(*target);
    }
    for (auto it = probers.begin(); it != probers.end();) {
      const auto next = std::next(it);
      if (wanted.find(it->first) == wanted.end()) remove(it);
      it = next;
    }
  }

  ProbeContext context;
  TlsContext tls;
  std::function<Health(const EndpointRef&)> known;
  std::function<void(Report)> report;
  asio::steady_timer timer;
  bool timerRuns = false;
  Time lastReport;
  std::set<EndpointRef> touched;
  Unreachable unreachable;
  std::map<EndpointRef, EndpointState> endpoints;
  std::map<TargetKey, std::shared_ptr<Prober>> probers;
  std::map<std::string, ProbeDurations> durations;
  Counters counters;
};

HealthMonitor::HealthMonitor(asio::io_context& io, std::function<Health(const EndpointRef&)> known,
                             std::function<void(Report)> report)
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
  for (const auto& [ref, state] : impl_->endpoints) impl_->touch(ref);
}

std::string HealthMonitor::reason(const EndpointRef& ref) const {
  const auto found = impl_->endpoints.find(ref);
  if (found == impl_->endpoints.end()) return {};
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
  const auto found = impl_->endpoints.find(ref);
  if (found == impl_->endpoints.end()) return std::nullopt;
  std::optional<std::chrono::microseconds> shortest;
  for (const Prober* prober : found->second.probers)
    if (const auto& time = prober->connectTime(); time && (!shortest || *time < *shortest))
      shortest = time;
  return shortest;
}

std::size_t HealthMonitor::probers() const noexcept { return impl_->probers.size(); }

}  // namespace weir::manager
