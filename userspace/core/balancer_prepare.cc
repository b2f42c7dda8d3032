// SPDX-License-Identifier: GPL-2.0-or-later
//
// The part of a balancer's update for which no connection waits: what differs from the snapshot in
// effect, the tables of groups whose serving members change, and the plan.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "balancer_state.h"
#include "weir/proxy_placement.h"

namespace weir {

using balancer::fitPlaces;
using balancer::GroupUpdate;
using balancer::kNowhere;

namespace {

bool isFit(const ProxyEndpoint& endpoint) noexcept {
  return endpoint.healthy && !endpoint.draining();
}

MemberChooser::Members membersAt(const ProxyGroup& group, const std::vector<std::size_t>& places,
                                 LocalityPolicy policy) {
  MemberChooser::Members members;
  const bool weighted = policy == LocalityPolicy::weightedRoundRobin;
  for (const std::size_t place : places) {
    members.identities.push_back(group.endpoints[place].endpoint);
    members.weights.push_back(weighted ? group.endpoints[place].weight : 1);
  }
  return members;
}

bool listsTheSame(const ProxyGroup& a, const ProxyGroup& b) {
  return std::equal(a.endpoints.begin(), a.endpoints.end(), b.endpoints.begin(), b.endpoints.end(),
                    [](const ProxyEndpoint& one, const ProxyEndpoint& other) {
                      return one.endpoint == other.endpoint;
                    });
}

}  // namespace

std::vector<std::size_t> balancer::fitPlaces(const ProxyGroup& group) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < group.endpoints.size(); ++i)
    if (isFit(group.endpoints[i])) places.push_back(i);
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return group.endpoints[a].endpoint < group.endpoints[b].endpoint;
  });
  return places;
}

std::shared_ptr<ServiceBalancer::Prepared> ServiceBalancer::Impl::prepare(
    std::shared_ptr<const ProxyServiceSnapshot> next, const ZoneOrder& order) const {
  auto prepared = std::make_shared<Prepared>();
  prepared->plan = planOf(*next, order);
  const ProxyServiceSnapshot* const old = snapshot.get();
  std::unordered_map<std::string_view, std::size_t> indices;
  if (old != nullptr)
    for (std::size_t i = 0; i < old->groups.size(); ++i) indices.emplace(old->groups[i].name, i);
  const bool samePolicy = old != nullptr && old->locality == next->locality;
  const bool sameAddresses = samePolicy && old->addressSelection == next->addressSelection;

  for (const ProxyGroup& group : next->groups) {
    GroupUpdate& update = prepared->groups.emplace_back();
    update.target = targetCapacity(group.capacity, placedGroup(group).members);
    prepared->anyHealthy =
        prepared->anyHealthy || std::any_of(group.endpoints.begin(), group.endpoints.end(), isFit);
    const auto known = indices.find(group.name);
    const ProxyGroup* const before = known == indices.end() ? nullptr : &old->groups[known->second];
    if (before != nullptr) update.before = known->second;
    if (before != nullptr && sameAddresses && *before == group) {
      update.kind = GroupUpdate::Kind::same;
      continue;
    }
    update.serving = fitPlaces(group);
    MemberChooser::Members chosen = membersAt(group, update.serving, next->locality);
    const bool fits = before != nullptr && samePolicy &&
                      chosen == membersAt(*before, fitPlaces(*before), next->locality);
    if (!fits) update.chooser.emplace(next->locality, std::move(chosen), hashSeed);
    if (before == nullptr || !listsTheSame(*before, group)) continue;
    update.kind = GroupUpdate::Kind::sameMembers;
    for (std::size_t i = 0; i < group.endpoints.size(); ++i)
      if (!sameAddresses || before->endpoints[i] != group.endpoints[i]) update.changed.push_back(i);
  }
  prepared->snapshot = std::move(next);
  return prepared;
}

}  // namespace weir
