// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/netlink_kernel_state.h"

#include <fmt/format.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/flow_module.h"
#include "manager/kernel/connected.h"
#include "manager/kernel/event_filter.h"
#include "manager/kernel/host_view.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/misled_marks.h"

namespace weir::manager {
namespace {

// The kernel module would go on to mark packets of known flows when marks mean nothing any more.
Status forgetKnownFlows() {
  auto module = FlowModule::open();
  if (!module || !*module) return success();
  return (*module)->clearNode();
}

}  // namespace

NetlinkKernelState::NetlinkKernelState(Netlink route, Netlink netfilter, NetlinkEvents routeEvents,
                                       NetlinkEvents netfilterEvents, const KernelWish& numbers)
    : route_(std::move(route)),
      netfilter_(std::move(netfilter)),
      routeEvents_(std::move(routeEvents)),
      netfilterEvents_(std::move(netfilterEvents)),
      neighbours_(route_),
      divert_(netfilter_),
      host_(route_, netfilter_),
      wish_(numbers) {}

Result<std::unique_ptr<NetlinkKernelState>> NetlinkKernelState::open(const KernelWish& numbers) {
  auto route = Netlink::open(NETLINK_ROUTE);
  if (!route) return route.error();
  auto netfilter = Netlink::open(NETLINK_NETFILTER);
  if (!netfilter) return netfilter.error();
  // First, since it says best what is missing.
  auto earlier = Divert(*netfilter).earlierRuns();
  if (!earlier) return earlier.error();
  auto routeEvents = NetlinkEvents::open(
      NETLINK_ROUTE,
      {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_NEXTHOP, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE,
       RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV6_RULE});
  if (!routeEvents) return routeEvents.error();
  auto netfilterEvents = NetlinkEvents::open(NETLINK_NETFILTER, {NFNLGRP_NFTABLES});
  if (!netfilterEvents) return netfilterEvents.error();
  std::unique_ptr<NetlinkKernelState> state(
      new NetlinkKernelState(std::move(*route), std::move(*netfilter), std::move(*routeEvents),
                             std::move(*netfilterEvents), numbers));
  std::erase(*earlier, routingOwnership(numbers));
  state->earlier_ = *earlier;
  state->former_ = std::move(*earlier);
  return state;
}

Status NetlinkKernelState::checkRoutes(std::span<const DivertedRoute> routes) {
  const auto conflicts = routeConflicts(route_, routes);
  if (!conflicts) return conflicts.error();
  if (conflicts->empty()) return success();
  return Error{conflicts->front()};
}

Status NetlinkKernelState::convergeNeighbours(const NextHops& nextHops) {
  std::set<NeighbourKey> wanted;
  for (const auto& [address, hop] : nextHops)
    if (hop.interface != 0 && hop.resolves) wanted.insert({hop.interface, address});
  std::set<NeighbourKey> awaited;
  for (const Address& address : wish_.appliances)
    if (const NextHop& hop = nextHops.at(address); hop.interface != 0 && hop.resolves)
      awaited.insert({hop.interface, address});
  std::set<std::uint8_t> former;
  for (const RoutingOwnership& own : former_) former.insert(own.routeProtocol);
  neighbours_.setFormer(std::move(former));
  return neighbours_.converge(wanted, awaited, wish_.routeProtocol, prune_, log_);
}

void NetlinkKernelState::learnOrigins(const NextHops& nextHops) {
  const std::set<Address> appliances(wish_.appliances.begin(), wish_.appliances.end());
  std::erase_if(origins_, [&](const auto& origin) { return !appliances.contains(origin.first); });
  for (const Address& address : appliances) {
    const NextHop& hop = nextHops.at(address);
    if (hop.interface == 0) continue;
    if (!hop.resolves)
      origins_[address] = {hop.interface, std::nullopt};
    else if (const auto mac = neighbours_.mac({hop.interface, address}))
      origins_[address] = {hop.interface, mac};
  }
}

void NetlinkKernelState::learnUnreachable(const RoutingPass& routing, const NextHops& nextHops) {
  unreachable_ = routing.unreachable();
  for (const BackendRoute& backend : wish_.backends) {
    for (const auto& address : {backend.ipv4, backend.ipv6}) {
      if (!address) continue;
      const NextHop& hop = nextHops.at(*address);
      if (hop.reason.empty() && neighbours_.silent({hop.interface, *address}))
        unreachable_.push_back({backend.mark, address->family(),
                                fmt::format("no neighbour answer for {} on {}", address->toString(),
                                            interfaceName(hop.interface))});
    }
  }
  for (const BackendRoute& backend : misfits_)
    for (const auto& address : {backend.ipv4, backend.ipv6})
      if (address)
        unreachable_.push_back(
            {backend.mark, address->family(), describeMisfit(backend, wish_.fwmarkMask)});
  std::ranges::sort(unreachable_, {}, [](const UnreachableBackend& backend) {
    return std::pair(backend.mark, backend.family);
  });
}

Status NetlinkKernelState::removeFormer() {
  Status status = success();
  for (const RoutingOwnership& own : former_) {
    // A reload that changes numbers has been asked for.
    if (std::ranges::find(earlier_, own) != earlier_.end())
      log_.note(KernelChange::Kind::cleaned, "former numbering",
                fmt::format("ruleBase {}, tableBase {}, routeProtocol {}", own.ruleBase,
                            own.tableBase, own.routeProtocol));
    // With another protocol number nothing of it is wanted, though it may say the same.
    const bool sameProtocol = own.routeProtocol == wish_.routeProtocol;
    keepFirst(status, removeRouting(route_, own, sameProtocol ? lastRouting_ : RoutingWishes{}));
    keepFirst(status, host_.removeFormer(own, wish_));
  }
  if (!status) return status;
  former_.clear();
  earlier_.clear();
  return status;
}

// What others have done that weir leaves alone.
Status NetlinkKernelState::warn(const RoutingPass& routing) {
  warnings_ = host_.announcements().warnings();
  warnings_.insert(warnings_.end(), routing.skipped().begin(), routing.skipped().end());
  if (!host_.unfitness().empty()) warnings_.push_back(host_.unfitness());
  std::ranges::move(heldVirtualAddresses(wish_, host_.addressesOfTheHost()),
                    std::back_inserter(warnings_));
  if (wish_.routes.empty()) return success();
  auto conflicts = routeConflicts(route_, wish_.routes);
  if (!conflicts) return conflicts.error();
  for (std::string& conflict : *conflicts) warnings_.push_back(std::move(conflict));
  return success();
}

Status NetlinkKernelState::convergeOnce() {
  if (Status valid = checkMask(wish_); !valid) return valid;
  watched_ = {wish_.appliances.begin(), wish_.appliances.end()};
  for (const BackendRoute& backend : wish_.backends)
    for (const auto& address : {backend.ipv4, backend.ipv6})
      if (address) watched_.insert(*address);
  const auto nextHops = findNextHops(route_, watched_);
  if (!nextHops) return nextHops.error();

  // Nothing is diverted before its marks lead somewhere, and marks lead somewhere until nothing is
  // diverted: additions begin with neighbours and routing, removals with the diversion.
  Status status = convergeNeighbours(*nextHops);
  learnOrigins(*nextHops);
  // N7: a packet must not reach an appliance before its way back is known.
  const auto maySend = [&](Address address) {
    return origins_.contains(address) || !std::ranges::binary_search(wish_.appliances, address);
  };
  auto routing =
      RoutingPass::begin(route_, wish_, *nextHops, maySend, lastRouting_, pruned_, former_, log_);
  if (!routing) return routing.error();
  std::set<ApplianceOrigin> origins;
  for (const auto& [address, origin] : origins_) origins.insert(origin);

  keepFirst(status, routing->addMissing());
  learnUnreachable(*routing, *nextHops);
  keepFirst(status, host_.addMissing(wish_, *nextHops, former_, log_));
  keepFirst(status, divert_.converge(wish_, host_.fallbackReady(), origins, former_, prune_, log_));
  if (prune_ == Prune::removeOld) {
    const Status removed = routing->removeOld();
    pruned_ = pruned_ || removed.ok();
    keepFirst(status, removed);
    keepFirst(status, host_.removeOthers(wish_));
  }
  lastRouting_ = routing->wishes();
  if (prune_ == Prune::removeOld) keepFirst(status, removeFormer());

  keepFirst(status, warn(*routing));
  if (!misfits_.empty())
    keepFirst(status, Error{describeMisfit(misfits_.front(), wish_.fwmarkMask)});
  return status;
}

Status NetlinkKernelState::converge() {
  // A refusal may be due to another program that changed the kernel between our look and our
  // change: a second pass begins with a new look.
  const bool renumbered = !former_.empty();
  const Status first = convergeOnce();
  if (!first) return convergeOnce();
  // What could not be made beside the same thing under a former protocol number follows at once,
  // and the tables cease to name what has gone.
  return renumbered && former_.empty() ? convergeOnce() : first;
}

Status NetlinkKernelState::apply(const KernelWish& wish, Prune prune) {
  const RoutingOwnership before = routingOwnership(wish_);
  const RoutingOwnership now = routingOwnership(wish);
  std::erase(former_, now);
  std::erase(earlier_, now);
  if (before != now) {
    former_.push_back(before);
    lastRouting_ = {};
    pruned_ = false;
    host_.forget();
  }
  wish_ = wish;
  misfits_ = takeMisfits(wish_);
  std::ranges::sort(wish_.appliances);
  prune_ = prune;
  applied_ = true;
  host_.lookAgain();
  const Status status = converge();
  // What differs from before is what was asked for.
  log_.forget(KernelChange::Kind::followed);
  return status;
}

Result<bool> NetlinkKernelState::reconcile() {
  if (!applied_) return false;
  const std::uint64_t before = writes();
  if (Status done = converge(); !done) return done.error();
  auto misled = misledMarks(route_, wish_, lastRouting_);
  if (!misled) return misled.error();
  misled_ = std::move(*misled);
  return writes() != before;
}

std::vector<std::string> NetlinkKernelState::warnings() const {
  std::vector<std::string> all = warnings_;
  all.insert(all.end(), misled_.begin(), misled_.end());
  return all;
}

Status NetlinkKernelState::removeAll() {
  Status status = divert_.removeAll();
  keepFirst(status, forgetKnownFlows());
  former_.push_back(routingOwnership(wish_));
  for (const RoutingOwnership& own : former_) {
    keepFirst(status, removeRouting(route_, own));
    keepFirst(status, neighbours_.removeAll(own.routeProtocol));
    keepFirst(status, host_.removeAll(own));
  }
  keepFirst(status, host_.restoreSysctls());
  former_.clear();
  earlier_.clear();
  misfits_.clear();
  lastRouting_ = {};
  pruned_ = false;
  origins_.clear();
  watched_.clear();
  unreachable_.clear();
  warnings_.clear();
  misled_.clear();
  applied_ = false;
  return status;
}

std::vector<int> NetlinkKernelState::eventSources() const {
  return {routeEvents_.fd(), netfilterEvents_.fd()};
}

bool NetlinkKernelState::concerns(const nlmsghdr& message) const {
  switch (message.nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      return isRouteNews(message, wish_.routeProtocol, watched_);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH: {
      const auto neighbour = readNeighbour(message);
      return neighbour && neighbours_.isNews(*neighbour, message.nlmsg_type == RTM_DELNEIGH);
    }
  }
  return true;
}

bool NetlinkKernelState::takeEvents() {
  bool due = false;
  due |= !routeEvents_.take([&](const nlmsghdr& message) {
    due = due || (message.nlmsg_pid != route_.port() && concerns(message));
  });
  due |= !netfilterEvents_.take([&](const nlmsghdr& message) {
    due = due || (message.nlmsg_pid != netfilter_.port() && isTableNews(message, kTableName));
  });
  return due && applied_;
}

std::uint64_t NetlinkKernelState::writes() const noexcept {
  return route_.writes() + netfilter_.writes() - neighbours_.checks();
}

}  // namespace weir::manager
