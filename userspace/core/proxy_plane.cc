// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_plane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "proxy_plane_state.h"

namespace weir {

using namespace proxy_plane;
using control::OperatorDrain;

struct ProxyPlane::Impl {
  Health initialHealth = Health::unknown;
  State state;
  Index index;
  std::optional<Time> deadline;

  // Rebuilds the named services after an event.
  ProxyChanges rebuild(const std::set<std::string>& names, Time now) {
    ProxyChanges changes;
    const Generation next(state.generation.value() + 1);
    for (const std::string& name : names) {
      ServiceState& service = state.services.at(name);
      if (rebuildService(state, index, *index.services.at(name), service, next, now))
        changes.services.push_back(withReports(state, service.snapshot));
    }
    if (!changes.empty()) state.generation = next;
    findDeadline();
    return changes;
  }

  // The services that use the group; `only`: if not empty, of these the one of that name.
  void addServicesOf(const std::string& group, std::string_view only,
                     std::set<std::string>& affected) const {
    const auto users = index.servicesOfGroup.find(group);
    if (users == index.servicesOfGroup.end()) return;
    for (const BackendService* service : users->second)
      if (only.empty() || service->name == only) affected.insert(service->name);
  }

  // Ends what is due; the services that must be rebuilt.
  std::set<std::string> expire(Time now) {
    std::set<std::string> affected;
    if (!deadline || *deadline > now) return affected;
    for (auto it = state.endpoints.begin(); it != state.endpoints.end();) {
      const bool due = it->second.leaves && *it->second.leaves <= now;
      if (due) addServicesOf(it->first.group, {}, affected);
      it = due ? state.endpoints.erase(it) : std::next(it);
    }
    for (auto& [name, service] : state.services) {
      // In whole milliseconds, as callers wait for it: a sum of seconds may be a hair later.
      if (const double due = service.capacityDrain.nextDeadline();
          std::isfinite(due) && timeAt(due) <= now)
        affected.insert(name);
      for (auto& [endpoint, drain] : service.drains) drain.ended |= drain.deadline <= now;
    }
    forgetDrainsOfGone();
    return affected;
  }

  // Drains by command are about members; those that are gone take them along.
  void forgetDrainsOfGone() {
    for (auto& [name, service] : state.services) {
      const BackendService* const configured = index.services.at(name);
      std::erase_if(service.drains, [&](const auto& drain) {
        return std::none_of(configured->backends.begin(), configured->backends.end(),
                            [&](const ServiceBackend& backend) {
                              return state.endpoints.contains({backend.group, drain.first});
                            });
      });
    }
  }

  void findDeadline() {
    deadline.reset();
    const auto consider = [&](Time time) {
      if (!deadline || time < *deadline) deadline = time;
    };
    for (const auto& [ref, endpoint] : state.endpoints)
      if (endpoint.leaves) consider(*endpoint.leaves);
    for (const auto& [name, service] : state.services) {
      for (const auto& [endpoint, drain] : service.drains)
        if (!drain.ended) consider(drain.deadline);
      if (const double due = service.capacityDrain.nextDeadline(); std::isfinite(due))
        consider(timeAt(due));
    }
  }

  Result<const BackendService*> serviceWith(std::string_view name,
                                            std::string_view endpoint) const {
    const auto found = index.services.find(std::string(name));
    if (found == index.services.end())
      return Error{fmt::format("no backend service of a proxy is named '{}'", name)};
    if (const Status drainable = checkDrainable(*found->second, state.endpoints, endpoint);
        !drainable)
      return drainable.error();
    return found->second;
  }
};

std::vector<SnapshotMessage> messagesOf(ProxyChanges changes) {
  std::vector<SnapshotMessage> messages;
  for (auto& service : changes.services) messages.emplace_back(std::move(service));
  if (changes.node) messages.emplace_back(std::move(*changes.node));
  for (auto& report : changes.reports) messages.emplace_back(std::move(report));
  for (auto& name : changes.removed) messages.emplace_back(ProxyServiceRemoved{std::move(name)});
  return messages;
}

ProxyPlane::ProxyPlane(Health initialHealth) : impl_(std::make_unique<Impl>()) {
  impl_->initialHealth = initialHealth;
}
ProxyPlane::~ProxyPlane() = default;

ProxyChanges ProxyPlane::apply(Configuration configuration, Time now) {
  State& state = impl_->state;
  impl_->expire(now);  // every service is rebuilt below
  state.configuration = std::move(configuration);
  impl_->index = Index(state.configuration);
  control::updateEndpoints(state.configuration, state.endpoints, impl_->initialHealth, now);

  ProxyChanges removals;
  std::set<std::string> names;
  for (const auto& [name, service] : impl_->index.services) names.insert(name);
  for (auto it = state.services.begin(); it != state.services.end();) {
    const bool stays = names.contains(it->first);
    if (!stays && it->second.told) removals.removed.push_back(it->first);
    it = stays ? std::next(it) : state.services.erase(it);
  }
  for (const std::string& name : names) state.services.try_emplace(name);
  impl_->forgetDrainsOfGone();
  std::erase_if(state.utilizations,
                [&](const auto& known) { return !state.endpoints.contains(known.first); });
  std::map<EndpointRef, std::string> zones;
  for (const NetworkEndpointGroup& group : state.configuration.groups)
    for (const Endpoint& endpoint : group.endpoints)
      if (!group.zone.empty())
        zones.emplace(EndpointRef{group.name, endpoint.identity()}, group.zone);
  state.distances.setZones(std::move(zones));

  const Generation next(state.generation.value() + 1);
  ProxyChanges changes = impl_->rebuild(names, now);
  changes.removed = std::move(removals.removed);
  if (rebuildNode(state, next)) changes.node = state.node;
  if (!changes.empty()) state.generation = next;
  state.applied = true;
  return changes;
}

ProxyChanges ProxyPlane::setHealth(std::span<const ControlPlane::HealthUpdate> updates, Time now) {
  std::set<std::string> affected = impl_->expire(now);
  for (const auto& update : updates) {
    const auto endpoint = impl_->state.endpoints.find(update.endpoint);
    if (endpoint == impl_->state.endpoints.end() || update.health == Health::draining) continue;
    if (note(endpoint->second, update))
      impl_->addServicesOf(update.endpoint.group, update.service, affected);
  }
  return impl_->rebuild(affected, now);
}

ProxyChanges ProxyPlane::setWeight(std::span<const ControlPlane::WeightUpdate> updates, Time now) {
  std::set<std::string> affected = impl_->expire(now);
  for (const auto& update : updates) {
    const auto endpoint = impl_->state.endpoints.find(update.endpoint);
    if (endpoint == impl_->state.endpoints.end()) continue;
    if (note(endpoint->second, update))
      impl_->addServicesOf(update.endpoint.group, update.service, affected);
  }
  return impl_->rebuild(affected, now);
}

ProxyChanges ProxyPlane::setUtilization(std::span<const UtilizationUpdate> updates, Time now) {
  State& state = impl_->state;
  ProxyChanges changes = impl_->rebuild(impl_->expire(now), now);
  const Generation next(state.generation.value() + 1);
  std::map<std::string, ProxyLoadReport> reports;
  for (const UtilizationUpdate& update : updates) {
    const auto users = impl_->index.servicesOfGroup.find(update.endpoint.group);
    if (users == impl_->index.servicesOfGroup.end() || !state.endpoints.contains(update.endpoint))
      continue;
    const ProxyUtilization utilization{update.value,
                                       update.at + trustOf(impl_->index, update.endpoint.group)};
    for (const BackendService* service : users->second) {
      const bool wanted = std::any_of(service->backends.begin(), service->backends.end(),
                                      [&](const ServiceBackend& backend) {
                                        return backend.group == update.endpoint.group &&
                                               backend.capacity.mode == BalancingMode::utilization;
                                      });
      if (!wanted) continue;
      state.utilizations.insert_or_assign(update.endpoint, utilization);
      ProxyLoadReport& report = reports[service->name];
      report.service = service->name;
      report.generation = next;
      report.items.push_back({update.endpoint.group, update.endpoint.endpoint, utilization});
    }
  }
  for (auto& [name, report] : reports) changes.reports.push_back(std::move(report));
  if (!reports.empty()) state.generation = next;
  return changes;
}

ProxyChanges ProxyPlane::setRoundTrips(std::span<const RoundTripUpdate> updates, Time now) {
  State& state = impl_->state;
  ProxyChanges changes = impl_->rebuild(impl_->expire(now), now);
  std::set<std::string> zones;
  for (const RoundTripUpdate& update : updates) {
    const std::string& zone = state.distances.zoneOf(update.endpoint);
    if (zone.empty()) continue;
    state.distances.measure(update.endpoint, update.roundTrip);
    zones.insert(zone);
  }
  bool moved = false;
  for (const std::string& zone : zones) moved = state.distances.update(zone) || moved;
  const Generation next(state.generation.value() + 1);
  if (moved && rebuildNode(state, next)) {
    changes.node = state.node;
    state.generation = next;
  }
  return changes;
}

Result<ProxyChanges> ProxyPlane::drain(std::string_view service, std::string_view endpoint,
                                       std::optional<std::chrono::seconds> timeout, Time now) {
  const auto configured = impl_->serviceWith(service, endpoint);
  if (!configured) return configured.error();
  const Result<Time> deadline = control::drainDeadline(**configured, timeout, now);
  if (!deadline) return deadline.error();
  std::set<std::string> affected = impl_->expire(now);
  affected.emplace(service);
  impl_->state.services.at(std::string(service)).drains[std::string(endpoint)] = {*deadline,
                                                                                  *deadline == now};
  return impl_->rebuild(affected, now);
}

Result<ProxyChanges> ProxyPlane::undrain(std::string_view service, std::string_view endpoint,
                                         Time now) {
  const auto configured = impl_->serviceWith(service, endpoint);
  if (!configured) return configured.error();
  std::set<std::string> affected = impl_->expire(now);
  affected.emplace(service);
  if (impl_->state.services.at(std::string(service)).drains.erase(std::string(endpoint)) == 0)
    return Error{
        fmt::format("'{}' of backend service '{}' is not draining by command", endpoint, service)};
  return impl_->rebuild(affected, now);
}

ProxyChanges ProxyPlane::advance(Time now) {
  if (!impl_->deadline || *impl_->deadline > now) return {};
  return impl_->rebuild(impl_->expire(now), now);
}

std::optional<Time> ProxyPlane::nextDeadline() const { return impl_->deadline; }

ProxyChanges ProxyPlane::everything() const {
  ProxyChanges all;
  if (!impl_->state.applied) return all;
  for (const auto& [name, service] : impl_->state.services)
    all.services.push_back(withReports(impl_->state, service.snapshot));
  all.node = impl_->state.node;
  return all;
}

std::optional<ProxyServiceView> ProxyPlane::view(std::string_view name, Time now) const {
  const auto service = impl_->index.services.find(std::string(name));
  if (service == impl_->index.services.end()) return std::nullopt;
  return viewOf(impl_->state, *service->second, impl_->state.services.at(service->first), now);
}

std::optional<Health> ProxyPlane::health(const EndpointRef& ref, std::string_view service) const {
  const auto endpoint = impl_->state.endpoints.find(ref);
  if (endpoint == impl_->state.endpoints.end()) return std::nullopt;
  return endpoint->second.leaves ? Health::draining : endpoint->second.verdict(service).health;
}

const ZoneOrder& ProxyPlane::zoneOrder() const noexcept { return impl_->state.order; }

std::string ProxyPlane::save() const { return toJson(impl_->state); }

Status ProxyPlane::restore(std::string_view text) {
  Result<State> state = fromJson(text);
  if (!state) return state.error();
  impl_->state = std::move(*state);
  impl_->index = Index();
  impl_->deadline.reset();
  return success();
}

}  // namespace weir
