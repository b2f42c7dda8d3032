// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/fallback.h"

#include <algorithm>
#include <map>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

class Planner {
 public:
  Planner(const KernelWish& wish, const NextHops& nextHops)
      : wish_(wish), nextHops_(nextHops), own_(routingOwnership(wish)) {
    for (const BackendRoute& backend : wish.backends) backends_.emplace(backend.mark, &backend);
    for (const FallbackWish::Service& service : wish.fallback->services)
      services_.emplace(service.id, &service);
  }

  FallbackPlan plan() {
    const FallbackWish& fallback = *wish_.fallback;
    for (const FallbackWish::Rule& rule : fallback.rules) addRule(rule);
    for (const FallbackWish::Range& range : fallback.ranges) {
      const Family family = range.destination.family();
      addRoute(range.destination, fallbackRangesTable(own_), range.service);
      OwnRule rule = marked(family, fallbackRestPreference(own_));
      rule.rule.target = fallbackRangesTable(own_);
      plan_.routing.rules.insert(rule);
      guard(family);
    }
    return std::move(plan_);
  }

 private:
  OwnRule marked(Family family, std::uint32_t preference) const {
    OwnRule rule;
    rule.family = family;
    rule.rule.preference = preference;
    rule.rule.action = RoutingRule::Action::lookup;
    rule.rule.mark = fallbackMark(wish_.fwmarkMask).value();
    rule.rule.mask = wish_.fwmarkMask;
    return rule;
  }

  void guard(Family family) {
    OwnRule rule = marked(family, fallbackGuardPreference(own_));
    rule.inverted = true;
    rule.rule.action = RoutingRule::Action::jump;
    rule.rule.target = own_.ruleBase;
    plan_.routing.rules.insert(rule);
  }

  void addRule(const FallbackWish::Rule& wanted) {
    const Family family = wanted.address.family();
    guard(family);
    const bool anyProtocol = wanted.protocol == Protocol::none;
    OwnRule rule = marked(
        family, anyProtocol ? fallbackRestPreference(own_) : fallbackProtocolPreference(own_));
    rule.destination = wanted.address;
    rule.protocol = static_cast<std::uint8_t>(wanted.protocol);
    rule.rule.target = fallbackServiceTable(own_, wanted.service);
    if (wanted.ports.empty()) plan_.routing.rules.insert(rule);
    for (const PortRange& ports : wanted.ports) {
      rule.ports = ports;
      plan_.routing.rules.insert(rule);
    }
    addRoute(Prefix(family == Family::ipv4 ? Address::ipv4(0) : Address{}, 0),
             fallbackServiceTable(own_, wanted.service), wanted.service);
  }

  void addRoute(const Prefix& destination, std::uint32_t table, ServiceId service) {
    OwnRoute route;
    route.destination = destination;
    route.table = table;
    route.nextHop = group(service, destination.family());
    if (route.nextHop == 0) route.type = RTN_BLACKHOLE;
    plan_.routing.routes.insert(route);
  }

  // 0: nobody to send to.
  std::uint32_t group(ServiceId id, Family family) {
    const auto service = services_.find(id);
    if (service == services_.end()) return 0;
    NextHopGroup group{groupId(own_, id, family), {}};
    std::vector<std::uint32_t> weights;
    for (const FallbackWish::Member& member : service->second->members) {
      const auto backend = backends_.find(member.mark);
      if (backend == backends_.end()) continue;
      const auto& address = family == Family::ipv4 ? backend->second->ipv4 : backend->second->ipv6;
      if (!address || member.weight == 0) continue;
      const NextHop& hop = nextHops_.at(*address);
      if (hop.interface == 0) continue;
      const std::uint32_t object =
          nextHopId(own_, indexOfMark(member.mark, wish_.fwmarkMask), family);
      plan_.objects.insert({object, hop.interface, *address});
      group.members.push_back({object, 1});
      weights.push_back(member.weight);
    }
    if (group.members.empty()) return 0;
    const auto scaled = kernelWeights(weights);
    for (std::size_t i = 0; i < scaled.size(); ++i) group.members[i].weight = scaled[i];
    std::ranges::sort(group.members);
    plan_.groups.insert(group);
    return group.id;
  }

  const KernelWish& wish_;
  const NextHops& nextHops_;
  const RoutingOwnership own_;
  std::map<Mark, const BackendRoute*> backends_;
  std::map<ServiceId, const FallbackWish::Service*> services_;
  FallbackPlan plan_;
};

}  // namespace

FallbackPlan planFallback(const KernelWish& wish, const NextHops& nextHops) {
  return wish.fallback ? Planner(wish, nextHops).plan() : FallbackPlan{};
}

}  // namespace weir::manager
