// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/announced.h"

#include <algorithm>
#include <map>

namespace weir::manager {

namespace {

bool canBeServed(const ControlPlane& controlPlane, const ForwardingRule& rule) {
  if (!rule.target.empty()) return true;  // the proxy answers for itself
  const auto view = controlPlane.view(rule.backendService);
  return !view || (!view->eligibility.set.members.empty() && !view->eligibility.lastResort);
}

}  // namespace

std::vector<VirtualAddress> announcedAddresses(const ControlPlane& controlPlane) {
  std::map<Address, VirtualAddress> addresses;
  for (const ForwardingRule& rule : controlPlane.configuration().rules) {
    const bool proxied = !rule.target.empty();
    if (rule.announce == Announce::none && !proxied) continue;
    VirtualAddress& address = addresses[rule.address];
    address.address = rule.address;
    address.local |= proxied;
    switch (rule.announce) {
      case Announce::none:
        break;
      case Announce::arp:
        address.arp = true;
        break;
      case Announce::route:
        address.route |= canBeServed(controlPlane, rule);
        break;
    }
  }
  std::vector<VirtualAddress> result;
  for (const auto& [address, announced] : addresses)
    if (announced.arp || announced.route || announced.local) result.push_back(announced);
  return result;
}

FallbackWish fallbackWish(const ControlPlane& controlPlane) {
  const Changes everything = controlPlane.everything();
  FallbackWish wish;
  for (const ServiceSnapshot& service : everything.services) {
    FallbackWish::Service& added = wish.services.emplace_back();
    added.id = service.id;
    std::map<BackendSlot, Mark> marks;
    for (const SnapshotBackend& backend : service.backends)
      marks.emplace(backend.slot, backend.mark);
    for (const EligibleSet::Member& member : service.eligible.members)
      added.members.push_back({marks.at(member.slot), member.weight});
    std::ranges::sort(added.members, {}, &FallbackWish::Member::mark);
  }
  std::ranges::sort(wish.services, {}, &FallbackWish::Service::id);
  if (!everything.rules) return wish;
  for (const SnapshotRule& rule : everything.rules->rules)
    wish.rules.push_back({rule.address, rule.protocol, rule.ports, rule.service});
  // N4: of equal destinations the lowest priority wins, then the first name.
  std::map<Prefix, const SnapshotRoute*> ranges;
  for (const SnapshotRoute& route : everything.rules->routes) {
    const SnapshotRoute*& best = ranges[route.destination];
    if (best == nullptr || std::pair(route.priority, std::string_view(route.name)) <
                               std::pair(best->priority, std::string_view(best->name)))
      best = &route;
  }
  for (const auto& [destination, route] : ranges)
    wish.ranges.push_back({destination, route->service});
  return wish;
}

bool needsEngine(const Configuration& configuration) {
  return !configuration.routes.empty() ||
         std::ranges::any_of(configuration.rules,
                             [](const ForwardingRule& rule) { return rule.target.empty(); });
}

bool spreadsByPort(const Configuration& configuration) {
  return std::ranges::any_of(configuration.services, [](const BackendService& service) {
    return !service.isManaged() && (service.affinity == SessionAffinity::none ||
                                    service.affinity == SessionAffinity::clientIpPortProto);
  });
}

}  // namespace weir::manager
