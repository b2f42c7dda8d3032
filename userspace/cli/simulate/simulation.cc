// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/simulation.h"

#include <algorithm>
#include <cmath>

namespace weir::cli {
namespace {

Time timeOf(double seconds) {
  return Time(std::chrono::milliseconds(std::llround(seconds * 1000.0)));
}

// Room for an entry per packet, with a margin because shards do not fill evenly.
TrackingTableOptions roomFor(const std::deque<Event>& events) {
  std::size_t ipv4 = 0;
  std::size_t ipv6 = 0;
  for (const Event& event : events)
    if (const auto* packet = std::get_if<Packet>(&event.what))
      ++(packet->tuple.source.isIpv4() ? ipv4 : ipv6);
  const auto withMargin = [](std::size_t flows) {
    constexpr std::size_t kSmallest = std::size_t{1} << 14;
    return flows == 0 ? kSmallest : flows + flows / 2 + kSmallest;
  };
  TrackingTableOptions options;
  options.ipv4Entries = withMargin(ipv4);
  options.ipv6Entries = withMargin(ipv6);
  return options;
}

}  // namespace

// What an event other than a packet does to the control plane.
struct Simulation::Happening {
  Simulation& simulation;
  Time now;
  config::Problems unexpected;  // checkEvents() has been through all events

  // Members as the control plane knows them: one whose drain has ended is gone.
  std::vector<EndpointRef> known(const EndpointKey& key) {
    auto members = simulation.timeline_.membersOf(key, unexpected);
    std::erase_if(members, [&](const EndpointRef& ref) { return !simulation.plane_.health(ref); });
    return members;
  }

  // They change nothing.
  Result<Changes> operator()(const Packet&) { return Changes{}; }
  Result<Changes> operator()(const ConnectionEvent&) { return Changes{}; }
  Result<Changes> operator()(const LoadEvent&) { return Changes{}; }

  Result<Changes> operator()(const CloseEvent& event) {
    simulation.proxies_.close(event, now);
    return Changes{};
  }
  Result<Changes> operator()(const UtilizationEvent& event) {
    std::vector<ProxyPlane::UtilizationUpdate> updates;
    for (const auto& item : event.items)
      for (EndpointRef& ref : known(item.endpoint))
        updates.push_back({std::move(ref), item.utilization, now});
    simulation.proxies_.setUtilization(updates, now);
    return Changes{};
  }
  Result<Changes> operator()(const HealthEvent& event) {
    std::vector<ControlPlane::HealthUpdate> updates;
    for (const auto& item : event.items)
      for (EndpointRef& ref : known(item.endpoint))
        updates.push_back({std::move(ref), item.health});
    simulation.proxies_.setHealth(updates, now);
    return simulation.plane_.setHealth(updates, now);
  }
  Result<Changes> operator()(const WeightEvent& event) {
    std::vector<ControlPlane::WeightUpdate> updates;
    for (const auto& item : event.items)
      for (EndpointRef& ref : known(item.endpoint))
        updates.push_back({std::move(ref), item.weight});
    simulation.proxies_.setWeight(updates, now);
    return simulation.plane_.setWeight(updates, now);
  }
  template <class Change>
  Result<Changes> operator()(const Change& event) {
    simulation.timeline_.change(event, unexpected);
    simulation.proxies_.apply(simulation.timeline_.configuration(), now);
    return simulation.plane_.apply(simulation.timeline_.configuration(), now);
  }
};

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario),
      timeline_(scenario.configuration, *scenario.text),
      table_(roomFor(scenario.events)) {}

Status Simulation::begin() {
  auto changes = plane_.apply(scenario_.configuration, now_);
  if (!changes) return changes.error();
  tell(*changes);
  proxies_.apply(scenario_.configuration, now_);
  return success();
}

void Simulation::tell(const Changes& changes) {
  for (const ServiceSnapshot& service : changes.services) world_ = world_->after(service);
  if (changes.rules) world_ = world_->after(*changes.rules);
  for (const ServiceId id : changes.removed) world_ = world_->after(ServiceRemoved{id});
}

void Simulation::advanceTo(Time now) {
  if (now == now_) return;
  now_ = now;
  tell(plane_.advance(now));
  proxies_.advance(now);
  while (table_.advance(now)) {
  }
}

Result<std::optional<Line>> Simulation::step(std::size_t index) {
  const Event& event = scenario_.events[index];
  advanceTo(timeOf(event.at));
  if (const auto* packet = std::get_if<Packet>(&event.what))
    return std::optional(decideOn(*packet, event, index, now_));
  std::optional<Line> line;
  if (const auto* connection = std::get_if<ConnectionEvent>(&event.what))
    line = proxies_.connect(*connection, now_);
  else if (const auto* load = std::get_if<LoadEvent>(&event.what))
    line = proxies_.load(*load);
  if (line) {
    line->event = index;
    line->at = event.at;
    return line;
  }
  auto changes = std::visit(Happening{*this, now_, {}}, event.what);
  if (!changes) return changes.error();
  tell(*changes);
  return std::optional<Line>();
}

Line Simulation::decideOn(const Packet& packet, const Event& event, std::size_t index, Time now) {
  const Decision decision = decide(*world_, table_, prepare(*world_, table_, packet), now);
  Line line;
  line.event = index;
  line.at = event.at;
  line.action = toString(decision.action);
  if (decision.action == Action::pass) return line;

  const RulesSnapshot& rules = world_->rules().snapshot();
  if (decision.match.byRoute) {
    line.route = rules.routes[decision.match.index].name;
    line.forwardingRule = rules.routes[decision.match.index].rule;
  } else {
    line.forwardingRule = rules.rules[decision.match.index].name;
  }
  if (decision.service != nullptr) line.service = decision.service->snapshot().name;
  if (decision.set != nullptr) line.rule = decision.set->rule;
  if (decision.action == Action::drop) {
    line.reason = toString(decision.reason);
    return line;
  }
  const SnapshotBackend& backend = *decision.service->describe(decision.backend);
  line.group = backend.group;
  line.endpoint = backend.endpoint;
  line.connection = toString(decision.connection);
  return line;
}

}  // namespace weir::cli
