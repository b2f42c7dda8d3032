// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <unordered_set>

#include "control_plane_state.h"

namespace weir::control {
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
