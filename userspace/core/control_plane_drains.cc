// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <unordered_set>

#include "control_plane_state.h"

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

}  // namespace

void updateEndpoints(State& state, const Index& index, Health initialHealth, Time now) {
  std::set<EndpointRef> configured;
  for (const NetworkEndpointGroup& group : state.configuration.groups) {
    for (const Endpoint& endpoint : group.endpoints) {
      EndpointRef ref{group.name, endpoint.identity()};
      const auto [it, added] = state.endpoints.try_emplace(ref);
      if (added) it->second.health = initialHealth;
      it->second.definition = endpoint;
      it->second.leaves.reset();
      configured.insert(std::move(ref));
    }
  }

  std::unordered_map<std::string, std::chrono::seconds> timeouts;
  for (auto it = state.endpoints.begin(); it != state.endpoints.end();) {
    const std::string& group = it->first.group;
    std::optional<Time>& leaves = it->second.leaves;
    if (configured.contains(it->first)) {
      ++it;
      continue;
    }
    if (!leaves && index.groups.contains(group)) {
      const auto [timeout, first] = timeouts.try_emplace(group);
      if (first) timeout->second = drainingTimeout(state.configuration, group);
      leaves = now + timeout->second;
    }
    // A group that is gone left its services as a whole (P7.4).
    const bool forgotten = !index.groups.contains(group) || *leaves <= now;
    it = forgotten ? state.endpoints.erase(it) : std::next(it);
  }
}

void expireDrains(State& state, const Index& index, Time now, std::set<std::string>& affected) {
  std::set<std::string> ended;
  for (auto it = state.endpoints.begin(); it != state.endpoints.end();) {
    if (!it->second.leaves || *it->second.leaves > now) {
      ++it;
      continue;
    }
    if (const auto users = index.servicesOfGroup.find(it->first.group);
        users != index.servicesOfGroup.end())
      ended.insert(users->second.begin(), users->second.end());
    it = state.endpoints.erase(it);
  }
  for (auto& [name, service] : state.services) {
    for (auto& [endpoint, drain] : service.drains) {
      if (drain.ended || drain.deadline > now) continue;
      drain.ended = true;
      ended.insert(name);
    }
  }
  for (const std::string& name : ended)
    if (const auto service = index.services.find(name); service != index.services.end())
      forgetGone(state.services.at(name),
                 listings(state, index, *service->second, state.services.at(name)));
  affected.merge(ended);
}

std::optional<Time> earliestDeadline(const State& state) {
  std::optional<Time> next;
  const auto consider = [&](Time deadline) {
    if (!next || deadline < *next) next = deadline;
  };
  for (const auto& [ref, endpoint] : state.endpoints)
    if (endpoint.leaves) consider(*endpoint.leaves);
  for (const auto& [name, service] : state.services)
    for (const auto& [endpoint, drain] : service.drains)
      if (!drain.ended) consider(drain.deadline);
  return next;
}

void forgetGone(ServiceState& service, const std::vector<Listing>& current) {
  std::unordered_set<std::string_view> listed;
  std::unordered_set<std::string_view> present;
  for (const Listing& listing : current) {
    listed.insert(listing.ref->endpoint);
    if (listing.present()) present.insert(listing.ref->endpoint);
  }
  std::erase_if(service.drains, [&](const auto& drain) { return !listed.contains(drain.first); });
  std::erase_if(service.backends,
                [&](const auto& backend) { return !present.contains(backend.first); });
}

}  // namespace weir::control
