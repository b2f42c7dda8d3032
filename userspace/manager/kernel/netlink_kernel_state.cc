// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/netlink_kernel_state.h"

#include <linux/netlink.h>

#include <algorithm>
#include <utility>

namespace weir::manager {

NetlinkKernelState::NetlinkKernelState(Netlink route, Netlink netfilter, const KernelWish& numbers)
    : route_(std::move(route)),
      netfilter_(std::move(netfilter)),
      divert_(netfilter_),
      wish_(numbers) {}

Result<std::unique_ptr<NetlinkKernelState>> NetlinkKernelState::open(const KernelWish& numbers) {
  auto route = Netlink::open(NETLINK_ROUTE);
  if (!route) return route.error();
  auto netfilter = Netlink::open(NETLINK_NETFILTER);
  if (!netfilter) return netfilter.error();
  return std::unique_ptr<NetlinkKernelState>(
      new NetlinkKernelState(std::move(*route), std::move(*netfilter), numbers));
}

Status NetlinkKernelState::convergeOnce() {
  // Nothing is diverted before its marks lead somewhere, and marks lead somewhere until nothing is
  // diverted: additions begin with the routing, removals with the diversion.
  auto routing = RoutingPass::begin(route_, wish_);
  if (!routing) return routing.error();
  unreachable_ = routing->unreachable();
  Status status = routing->addMissing();
  keepFirst(status, divert_.converge(wish_, prune_));
  if (prune_ == Prune::keepOld) return status;

  keepFirst(status, routing->removeOld());
  for (const RoutingOwnership& own : former_) keepFirst(status, removeRouting(route_, own));
  if (status) former_.clear();
  return status;
}

Status NetlinkKernelState::converge() {
  // A refusal may be due to another program that changed the kernel between our look and our
  // change: a second pass begins with a new look.
  const Status first = convergeOnce();
  return first ? first : convergeOnce();
}

Status NetlinkKernelState::apply(const KernelWish& wish, Prune prune) {
  const RoutingOwnership before = routingOwnership(wish_);
  const RoutingOwnership now = routingOwnership(wish);
  if (before != now) {
    std::erase(former_, now);
    former_.push_back(before);
  }
  wish_ = wish;
  prune_ = prune;
  applied_ = true;
  return converge();
}

Result<bool> NetlinkKernelState::reconcile() {
  if (!applied_) return false;
  const std::uint64_t before = writes();
  if (Status done = converge(); !done) return done.error();
  return writes() != before;
}

Status NetlinkKernelState::removeAll() {
  Status status = divert_.removeAll();
  former_.push_back(routingOwnership(wish_));
  for (const RoutingOwnership& own : former_) keepFirst(status, removeRouting(route_, own));
  former_.clear();
  unreachable_.clear();
  applied_ = false;
  return status;
}

std::uint64_t NetlinkKernelState::writes() const noexcept {
  return route_.writes() + netfilter_.writes();
}

}  // namespace weir::manager
