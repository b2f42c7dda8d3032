// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/host_parts.h"

#include <algorithm>

#include "manager/kernel/host_view.h"
#include "manager/kernel/own_numbers.h"
#include "manager/kernel/virtual_routes.h"

namespace weir::manager {
namespace {

bool isTaken(const KernelWish& wish, Mark mark) {
  return std::ranges::any_of(wish.backends,
                             [mark](const BackendRoute& backend) { return backend.mark == mark; });
}

// The highest marks are the last that backends get: only a mask that is nearly full has no room.
Status checkMarks(const KernelWish& wish) {
  const bool answers = std::ranges::any_of(wish.announced, &VirtualAddress::arp);
  if (answers && isTaken(wish, neighbourMark(wish.fwmarkMask)))
    return Error{"announce: ARP needs a mark that no backend has: widen fwmarkMask in weir.yaml"};
  if (wish.fallback && isTaken(wish, fallbackMark(wish.fwmarkMask)))
    return Error{"the fallback needs a mark that no backend has: widen fwmarkMask in weir.yaml"};
  return success();
}

}  // namespace

Status HostParts::convergeSysctls(const KernelWish& wish, const Links& links,
                                  const std::vector<ConnectedSubnet>& subnets,
                                  const NextHops& nextHops) {
  sysctls_.follow(links);
  Status status = success();
  if (!wish.manageSysctls) {
    status = sysctls_.restore();
    const auto now = std::chrono::steady_clock::now();
    if (lookedAt_ && now - *lookedAt_ < kLookInterval) return status;
    lookedAt_ = now;
  }
  auto view = viewHost(netlink_, wish, links, subnets, nextHops);
  if (!view) return view.error();
  const std::vector<SysctlNeed> unmet = unmetSysctls(*view, readSysctls());
  unfitness_ = wish.manageSysctls ? std::string() : manager::unfitness(unmet);
  return wish.manageSysctls ? sysctls_.set(unmet, links) : status;
}

Status HostParts::addMissing(const KernelWish& wish, const NextHops& nextHops,
                             std::span<const RoutingOwnership> former, ChangeLog& log) {
  fallbackReady_ = false;
  if (Status room = checkMarks(wish); !room) return room;
  const auto links = readLinks(netlink_);
  if (!links) return links.error();
  const auto subnets = connectedSubnets(netlink_);
  if (!subnets) return subnets.error();
  const RoutingOwnership own = routingOwnership(wish);
  Status status = convergeSysctls(wish, *links, *subnets, nextHops);

  std::set<LocalAddress> locals;
  for (const VirtualAddress& address : wish.announced)
    if (address.local) locals.insert({address.address});
  keepFirst(status, locals_.addMissing(locals, own.routeProtocol, log));

  FallbackPlan plan = planFallback(wish, nextHops);
  Status fallback =
      nextHops_.addMissing(std::move(plan.objects), std::move(plan.groups), own, former, log);
  OwnRoutingWish routing = announcements_.plan(wish, *links, *subnets);
  routing.routes.merge(plan.routing.routes);
  routing.rules.merge(plan.routing.rules);
  routing.routes.merge(virtualRoutes(wish.announced, own));
  keepFirst(fallback, routing_.addMissing(std::move(routing), own, former, log));
  fallbackReady_ = wish.fallback.has_value() && fallback.ok();
  keepFirst(status, fallback);
  keepFirst(status, announcements_.addMissing(wish, *links, log));
  return status;
}

Status HostParts::removeOthers(const KernelWish& wish) {
  const RoutingOwnership own = routingOwnership(wish);
  Status status = announcements_.removeOthers();
  keepFirst(status, routing_.removeOthers(own));
  keepFirst(status, nextHops_.removeOthers());
  keepFirst(status, locals_.removeOthers(own.routeProtocol));
  return status;
}

Status HostParts::removeFormer(const RoutingOwnership& former, const KernelWish& now) {
  const bool sameProtocol = former.routeProtocol == now.routeProtocol;
  Status status = routing_.removeAll(former, sameProtocol);
  if (!sameProtocol || former.tableBase != now.tableBase)
    keepFirst(status, nextHops_.removeAll(former));
  if (sameProtocol) return status;
  keepFirst(status, locals_.removeAll(former.routeProtocol));
  keepFirst(status, announcements_.removeProxies(former.routeProtocol));
  return status;
}

Status HostParts::removeAll(const RoutingOwnership& own) {
  Status status = announcements_.removeAll(own.routeProtocol);
  keepFirst(status, routing_.removeAll(own, false));
  keepFirst(status, nextHops_.removeAll(own));
  keepFirst(status, locals_.removeAll(own.routeProtocol));
  return status;
}

void HostParts::forget() {
  announcements_.forget();
  routing_.forget();
  nextHops_.forget();
  locals_.forget();
}

Status HostParts::restoreSysctls() {
  // An interface may have got another name a moment ago.
  if (const auto links = readLinks(netlink_)) sysctls_.follow(*links);
  return sysctls_.restore();
}

}  // namespace weir::manager
