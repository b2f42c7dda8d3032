// SPDX-License-Identifier: GPL-2.0-or-later
#include "endpoint_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace weir::control {
namespace {

// P7.3: the largest timeout among the services that use the group; 0 when none does.
std::chrono::seconds drainingTimeout(const Configuration& configuration, const std::string& group) {
  std::chrono::seconds largest{0};
  for (const BackendService& service : configuration.services)
    for (const ServiceBackend& backend : service.backends)
      if (backend.group == group) largest = std::max(largest, service.drainingTimeout);
  return largest;
}

void forgetVerdictsOfOthers(const Configuration& configuration, EndpointStates& endpoints) {
  std::set<std::pair<std::string_view, std::string_view>> users;  // group, service
  for (const BackendService& service : configuration.services)
    for (const ServiceBackend& backend : service.backends)
      users.emplace(backend.group, service.name);
  for (auto& [ref, state] : endpoints)
    std::erase_if(state.verdicts, [&, &group = ref.group](const auto& verdict) {
      return !users.contains({group, verdict.first});
    });
}

// The verdict that an update of the service is about; those of all services become one when it is
// about all.
Verdict& addressed(EndpointState& state, const std::string& service) {
  if (service.empty()) return state.common;
  return state.verdicts.try_emplace(service, state.common).first->second;
}

// Does `set` change the verdict that the update is about, or, about all, any?
template <class Set>
bool noteVerdict(EndpointState& state, const std::string& service, const Set& set) {
  bool changed = set(addressed(state, service));
  if (service.empty())
    for (auto& [name, verdict] : state.verdicts) changed = set(verdict) || changed;
  return changed;
}

}  // namespace

bool note(EndpointState& state, const ControlPlane::HealthUpdate& update) {
  return noteVerdict(state, update.service, [&](Verdict& verdict) {
    const bool first = !std::exchange(verdict.probed, true);
    return std::exchange(verdict.health, update.health) != update.health || first;
  });
}

bool note(EndpointState& state, const ControlPlane::WeightUpdate& update) {
  return noteVerdict(state, update.service, [&](Verdict& verdict) {
    if (verdict.reported == update.weight) return false;
    verdict.reported = update.weight;
    if (update.weight.kind == ReportedWeight::Kind::value)
      verdict.lastKnownWeight = update.weight.value;
    return true;
  });
}

const Verdict& EndpointState::verdict(std::string_view service) const noexcept {
  const auto own = verdicts.find(service);
  return own == verdicts.end() ? common : own->second;
}

void updateEndpoints(const Configuration& configuration, EndpointStates& endpoints,
                     Health initialHealth, Time now) {
  std::set<EndpointRef> configured;
  std::set<std::string_view> groups;
  for (const NetworkEndpointGroup& group : configuration.groups) {
    groups.insert(group.name);
    for (const Endpoint& endpoint : group.endpoints) {
      EndpointRef ref{group.name, endpoint.identity()};
      const auto [it, added] = endpoints.try_emplace(ref);
      // Names are not probed: whether they can be reached, the data plane finds out.
      if (added) it->second.common.health = endpoint.fqdn.empty() ? initialHealth : Health::healthy;
      it->second.definition = endpoint;
      it->second.leaves.reset();
      configured.insert(std::move(ref));
    }
  }

  std::unordered_map<std::string, std::chrono::seconds> timeouts;
  for (auto it = endpoints.begin(); it != endpoints.end();) {
    const std::string& group = it->first.group;
    std::optional<Time>& leaves = it->second.leaves;
    if (configured.contains(it->first)) {
      ++it;
      continue;
    }
    if (!leaves && groups.contains(group)) {
      const auto [timeout, first] = timeouts.try_emplace(group);
      if (first) timeout->second = drainingTimeout(configuration, group);
      leaves = now + timeout->second;
    }
    // A group that is gone left its services as a whole (P7.4).
    const bool forgotten = !groups.contains(group) || *leaves <= now;
    it = forgotten ? endpoints.erase(it) : std::next(it);
  }
  forgetVerdictsOfOthers(configuration, endpoints);
}

Status checkDrainable(const BackendService& service, const EndpointStates& endpoints,
                      std::string_view endpoint) {
  bool leaving = false;
  for (const ServiceBackend& backend : service.backends) {
    const auto member = endpoints.find({backend.group, std::string(endpoint)});
    if (member == endpoints.end()) continue;
    if (!member->second.leaves) return success();
    leaving = true;
  }
  return Error{
      leaving ? fmt::format("'{}' has left its group and drains already", endpoint)
              : fmt::format("backend service '{}' has no backend '{}'", service.name, endpoint)};
}

Result<Time> drainDeadline(const BackendService& service,
                           std::optional<std::chrono::seconds> timeout, Time now) {
  constexpr std::chrono::seconds kMaxTimeout{3600};
  const std::chrono::seconds seconds = timeout.value_or(service.drainingTimeout);
  if (seconds < std::chrono::seconds{0} || seconds > kMaxTimeout)
    return Error{fmt::format("draining timeout {} s is out of range 0..{} s", seconds.count(),
                             kMaxTimeout.count())};
  return now + seconds;
}

bool EndpointState::weightValid(std::string_view service) const noexcept {
  if (definition.weight) return true;
  switch (verdict(service).reported.kind) {
    case ReportedWeight::Kind::value:
    case ReportedWeight::Kind::unavailable:
      return true;
    case ReportedWeight::Kind::missing:
    case ReportedWeight::Kind::invalid:
      return false;
  }
  return false;
}

}  // namespace weir::control
