// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel state over netlink, in the network namespace of the thread that opened it. Needs
// CAP_NET_ADMIN. One thread at a time.
//
// It is made of parts, each in a file of its own with what it adds, what it removes and how it
// takes everything away: neighbours, policy_routing, divert, host_parts. Here is their order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "manager/kernel/change_log.h"
#include "manager/kernel/divert.h"
#include "manager/kernel/host_parts.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/neighbours.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/netlink_events.h"
#include "manager/kernel/policy_routing.h"

namespace weir::manager {

class NetlinkKernelState : public KernelState {
 public:
  // `numbers` tells what is weir's before the first apply(): its bases and protocol number count.
  // Numbers that an earlier run used, and left in the kernel, are found there. An error: without
  // CAP_NET_ADMIN, or when an nf_tables table has weir's name and was made by somebody else.
  static Result<std::unique_ptr<NetlinkKernelState>> open(const KernelWish& numbers = {});

  Status checkRoutes(std::span<const DivertedRoute>) override;
  Status apply(const KernelWish&, Prune) override;
  std::vector<UnreachableBackend> unreachable() const override { return unreachable_; }
  Result<bool> reconcile() override;
  std::vector<KernelChange> takeChanges() override { return log_.take(); }
  std::vector<std::string> warnings() const override;
  std::vector<int> eventSources() const override;
  bool takeEvents() override;
  void announceAgain() override { host_.announcements().again(); }
  void rememberSysctls(Sysctls former, std::function<void(const Sysctls&)> save) override {
    host_.sysctls().remember(std::move(former), std::move(save));
  }
  Status removeAll() override;

  // Messages that change the kernel, sent since open(); without those that keep neighbours fresh.
  std::uint64_t writes() const noexcept;

 private:
  NetlinkKernelState(Netlink route, Netlink netfilter, NetlinkEvents routeEvents,
                     NetlinkEvents netfilterEvents, const KernelWish& numbers);
  Status converge();
  Status convergeOnce();
  Status convergeNeighbours(const NextHops&);
  void learnOrigins(const NextHops&);
  void learnUnreachable(const RoutingPass&, const NextHops&);
  Status removeFormer();
  Status warn(const RoutingPass&);
  bool concerns(const nlmsghdr&) const;

  Netlink route_;
  Netlink netfilter_;
  NetlinkEvents routeEvents_;
  NetlinkEvents netfilterEvents_;
  Neighbours neighbours_;
  Divert divert_;
  HostParts host_;
  KernelWish wish_;
  Prune prune_ = Prune::keepOld;
  bool applied_ = false;
  // Numbers that earlier wishes and earlier runs used; what they left goes with the next removeOld.
  // Until then the nf_tables tables name them, for a successor.
  std::vector<RoutingOwnership> former_;
  std::vector<RoutingOwnership> earlier_;  // those of former_ that an earlier run left
  RoutingWishes lastRouting_;
  bool pruned_ = false;  // under these numbers, by this process
  // Where each appliance was last seen; outlives an interface that is down for a moment.
  std::map<Address, ApplianceOrigin> origins_;
  std::set<Address> watched_;  // addresses whose routes matter
  std::vector<UnreachableBackend> unreachable_;
  std::vector<BackendRoute> misfits_;  // of the wish, without a place in the rules
  std::vector<std::string> warnings_;
  std::vector<std::string> misled_;  // as of the last reconcile(), which alone asks
  ChangeLog log_;
};

}  // namespace weir::manager
