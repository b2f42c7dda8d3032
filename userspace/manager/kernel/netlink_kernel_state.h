// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel state over netlink, in the network namespace of the thread that opened it. Needs
// CAP_NET_ADMIN. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "manager/kernel/divert.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/policy_routing.h"

namespace weir::manager {

class NetlinkKernelState : public KernelState {
 public:
  // `numbers` tells what is weir's before the first apply(): its bases and protocol number count.
  static Result<std::unique_ptr<NetlinkKernelState>> open(const KernelWish& numbers = {});

  Status apply(const KernelWish&, Prune) override;
  std::vector<UnreachableBackend> unreachable() const override { return unreachable_; }
  Result<bool> reconcile() override;
  Status removeAll() override;

  // Messages that change the kernel, sent since open().
  std::uint64_t writes() const noexcept;

 private:
  NetlinkKernelState(Netlink route, Netlink netfilter, const KernelWish& numbers);
  Status converge();
  Status convergeOnce();

  Netlink route_;
  Netlink netfilter_;
  Divert divert_;
  KernelWish wish_;
  Prune prune_ = Prune::keepOld;
  bool applied_ = false;
  // Numbers that earlier wishes used; what they left is removed with the next removeOld.
  std::vector<RoutingOwnership> former_;
  std::vector<UnreachableBackend> unreachable_;
};

}  // namespace weir::manager
