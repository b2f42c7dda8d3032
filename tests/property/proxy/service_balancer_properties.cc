// SPDX-License-Identifier: GPL-2.0-or-later
//
// Random histories of a service: whatever happens, what a balancer says of itself holds.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "support/proxy_service.h"

namespace weir {
namespace {

using namespace test;

template <class T>
T anyOf(T least, T beyond) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(least, beyond));
}

ProxyServiceSnapshot anyService() {
  std::vector<ProxyGroup> groups;
  for (unsigned i = 0, count = anyOf(1u, 5u); i < count; ++i) {
    groups.push_back(groupOf(i, anyOf(0u, 5u), anyOf(1u, 20u),
                             *rc::gen::element<std::string>("za", "zb", "zc")));
    GroupCapacity& capacity = groups.back().capacity;
    if (anyOf(0, 3) == 0) {
      capacity.maxConnections.reset();
      capacity.mode = BalancingMode::rate;
      capacity.maxRate = anyOf(1, 20);
    } else if (anyOf(0, 3) == 0) {
      capacity.mode = BalancingMode::utilization;
    }
  }
  auto service =
      serviceOf(groups,
                *rc::gen::element(LocalityPolicy::roundRobin, LocalityPolicy::leastRequest,
                                  LocalityPolicy::random, LocalityPolicy::ringHash,
                                  LocalityPolicy::maglev, LocalityPolicy::weightedRoundRobin),
                *rc::gen::element(SessionAffinity::none, SessionAffinity::clientIp));
  return service;
}

// A group is taken out and laid aside, one comes back, or they change places.
void changeGroups(ProxyServiceSnapshot& service, std::vector<ProxyGroup>& aside) {
  if (!aside.empty() && anyOf(0, 2) == 0) {
    service.groups.insert(service.groups.begin() + static_cast<std::ptrdiff_t>(anyOf<std::size_t>(
                                                       0, service.groups.size() + 1)),
                          aside.back());
    aside.pop_back();
  } else if (service.groups.size() > 1 && anyOf(0, 2) == 0) {
    std::swap(service.groups.front(), service.groups.back());
  } else if (!service.groups.empty()) {
    const auto at = service.groups.begin() +
                    static_cast<std::ptrdiff_t>(anyOf<std::size_t>(0, service.groups.size()));
    aside.push_back(*at);
    service.groups.erase(at);
  }
}

void changeSomething(ProxyServiceSnapshot& service, Time now) {
  if (service.groups.empty()) return;
  ProxyGroup& group = service.groups[anyOf<std::size_t>(0, service.groups.size())];
  if (group.endpoints.empty()) return;
  const auto number = anyOf<std::size_t>(0, group.endpoints.size());
  ProxyEndpoint& endpoint = group.endpoints[number];
  switch (anyOf(0, 6)) {
    case 0:
    case 1:
      endpoint.healthy = !endpoint.healthy;
      break;
    case 2:
      endpoint.drainDeadline = now + std::chrono::seconds(anyOf(0, 3));
      break;
    case 3:
      endpoint.drainDeadline.reset();
      break;
    case 4:
      group.endpoints.erase(group.endpoints.begin() + static_cast<std::ptrdiff_t>(number));
      break;
    case 5:
      endpoint.utilization = {anyOf(0, 10) / 10.0, now + std::chrono::seconds(anyOf(0, 20))};
      break;
  }
}

RC_GTEST_PROP(ServiceBalancer, AnyHistoryKeepsItsPromises, ()) {
  ProxyServiceSnapshot service = anyService();
  std::vector<ProxyGroup> aside;
  Balanced balanced(service);
  std::map<ProxySlot, std::uint64_t> open;
  std::map<ProxySlot, std::string> groupOfSlot;
  std::uint64_t total = 0;
  for (int step = 0, steps = anyOf(1, 120); step < steps; ++step) {
    balanced.now += std::chrono::milliseconds(anyOf(0, 400));
    switch (anyOf(0, 4)) {
      case 0:
        if (anyOf(0, 4) == 0)
          changeGroups(service, aside);
        else
          changeSomething(service, balanced.now);
        balanced.change([&](auto& s) { s = service; });
        break;
      case 1:
        if (!open.empty()) {
          const auto slot = (*rc::gen::elementOf(open)).first;
          balanced.balancer.closed(slot, balanced.now);
          --total;
          if (--open[slot] == 0) open.erase(slot);
        }
        break;
      default:  // a number of this file
      {
        const BackendPick pick = balanced.pick(client(anyOf(0u, 20u), anyOf<std::uint16_t>(1, 99)));
        if (!pick) {
          bool anyServes = false;
          for (const ProxyGroup& group : service.groups)
            for (const ProxyEndpoint& endpoint : group.endpoints)
              anyServes = anyServes || (endpoint.healthy && !endpoint.draining());
          RC_ASSERT(!anyServes);  // X3.2 is the only reason here
          break;
        }
        RC_ASSERT(pick.endpoint->healthy && !pick.endpoint->draining());
        RC_ASSERT(pick.address.address == *pick.endpoint->ipv4);
        balanced.balancer.opened(pick.slot, balanced.now);
        groupOfSlot[pick.slot] = pick.group->name;
        ++open[pick.slot];
        ++total;
      }
    }
    RC_ASSERT(balanced.balancer.openConnections() == total);
    for (const auto& [slot, count] : open)
      RC_ASSERT(balanced.balancer.openConnections(slot) == count);
    for (const ProxySlot slot : balanced.balancer.expired(balanced.now))
      RC_ASSERT(open.contains(slot));
    // A group's load is all that is open on it, also on members that have left it.
    for (const auto& load : balanced.balancer.loads(balanced.now)) {
      std::uint64_t counted = 0;
      for (const auto& [slot, count] : open)
        if (groupOfSlot.at(slot) == load.group) counted += count;
      RC_ASSERT(load.connections == counted);
    }
  }
}

}  // namespace
}  // namespace weir
