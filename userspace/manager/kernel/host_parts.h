// SPDX-License-Identifier: GPL-2.0-or-later
//
// What weir keeps on the host beside the diversion and the backends' routes: virtual addresses
// announced or held, the fallback's routes, the host's settings.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manager/kernel/announce.h"
#include "manager/kernel/fallback.h"
#include "manager/kernel/local_addresses.h"
#include "manager/kernel/nexthop_objects.h"
#include "manager/kernel/own_routing.h"
#include "manager/kernel/sysctl_keeper.h"

namespace weir::manager {

class HostParts {
 public:
  HostParts(Netlink& route, Netlink& netfilter)
      : netlink_(route),
        announcements_(route, netfilter),
        locals_(route),
        nextHops_(route),
        routing_(route) {}

  // Everything that is missing, before the diversion may rely on it. `former`: other numbers that
  // are weir's too.
  Status addMissing(const KernelWish&, const NextHops&, std::span<const RoutingOwnership> former,
                    ChangeLog&);
  // Do the fallback's routes stand, so that the diversion may use them?
  bool fallbackReady() const noexcept { return fallbackReady_; }
  // What is not wanted any more, when the diversion does not rely on it any more.
  Status removeOthers(const KernelWish&);
  // What former numbers left, but what is wanted now under the same ones.
  Status removeFormer(const RoutingOwnership& former, const KernelWish& now);
  Status removeAll(const RoutingOwnership&);
  // What is there was made under other numbers: nobody has taken what is missing under the new
  // ones.
  void forget();
  // The host's settings are looked at with the next addMissing() and then every kLookInterval.
  void lookAgain() noexcept { lookedAt_.reset(); }
  // Why packets do not get through with the host's settings, in one line; empty: they do, or the
  // settings are weir's to keep.
  const std::string& unfitness() const noexcept { return unfitness_; }
  // Those that the host holds for itself; proxies' are weir's.
  const std::set<LocalAddress>& addressesOfTheHost() const noexcept { return locals_.ofTheHost(); }
  // Gives the host's settings back.
  Status restoreSysctls();

  Announcements& announcements() noexcept { return announcements_; }
  SysctlKeeper& sysctls() noexcept { return sysctls_; }

 private:
  static constexpr std::chrono::seconds kLookInterval{10};
  Status convergeSysctls(const KernelWish&, const Links&, const std::vector<ConnectedSubnet>&,
                         const NextHops&);

  Netlink& netlink_;
  SysctlKeeper sysctls_;
  Announcements announcements_;
  LocalAddresses locals_;
  NextHopObjects nextHops_;
  OwnRouting routing_;
  bool fallbackReady_ = false;
  std::optional<std::chrono::steady_clock::time_point> lookedAt_;
  std::string unfitness_;
};

}  // namespace weir::manager
