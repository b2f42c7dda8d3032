// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/host_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <set>

#include "manager/kernel/announce.h"
#include "manager/kernel/attributes.h"
#include "manager/kernel/duplicates.h"
#include "manager/kernel/host_view.h"
#include "manager/kernel/kernel_probe.h"
#include "manager/kernel/skipped_rules.h"
#include "manager/kernel/sysctl_keeper.h"
#include "manager/kernel_wish.h"

namespace weir::manager {

namespace {

using Severity = HostFinding::Severity;
constexpr std::chrono::milliseconds kDuplicateWait{500};

class Check {
 public:
  Check(Netlink& netlink, KernelWish wish) : netlink_(netlink), wish_(std::move(wish)) {}

  Result<std::vector<HostFinding>> run() {
    for (const auto step : {&Check::look, &Check::settings, &Check::addresses})
      if (Status done = (this->*step)(); !done) return done.error();
    backends();
    rules();
    announcements();
    duplicates();
    kernel();
    return std::move(findings_);
  }

 private:
  void add(Severity severity, std::string what, std::string fix = {}) {
    findings_.push_back({severity, std::move(what), std::move(fix)});
  }

  Status look() {
    auto links = readLinks(netlink_);
    if (!links) return links.error();
    links_ = std::move(*links);
    auto subnets = connectedSubnets(netlink_);
    if (!subnets) return subnets.error();
    subnets_ = std::move(*subnets);
    std::set<Address> addresses;
    for (const BackendRoute& backend : wish_.backends)
      for (const auto& address : {backend.ipv4, backend.ipv6})
        if (address) addresses.insert(*address);
    auto nextHops = findNextHops(netlink_, addresses);
    if (!nextHops) return nextHops.error();
    nextHops_ = std::move(*nextHops);
    return success();
  }

  Status settings() {
    auto view = viewHost(netlink_, wish_, links_, subnets_, nextHops_);
    if (!view) return view.error();
    std::set<std::string> told;
    for (const SysctlNeed& need : unmetSysctls(*view, readSysctls()))
      if (told.insert(need.assignment()).second)
        add(need.advised ? Severity::advice : Severity::wrong, need.toString(),
            "sysctl -w " + need.assignment());
    return success();
  }

  Status addresses() {
    const auto types = routeTypes(netlink_, virtualAddresses(wish_));
    if (!types) return types.error();
    for (const auto& [address, type] : *types)
      if (type == RTN_LOCAL) {
        HeldAddress held = describeHeld(address);
        add(Severity::wrong, std::move(held.breaks), std::move(held.fix));
      }
    return success();
  }

  void backends() {
    for (const auto& [address, hop] : nextHops_)
      if (!hop.reason.empty()) add(Severity::wrong, "backend " + hop.reason);
    const auto conflicts = routeConflicts(netlink_, wish_.routes);
    if (!conflicts) return add(Severity::note, conflicts.error().message);
    for (const std::string& conflict : *conflicts) add(Severity::wrong, conflict);
  }

  void rules() {
    for (const Family family : kFamilies) {
      const bool used = std::ranges::any_of(wish_.backends, [family](const BackendRoute& backend) {
        return (family == Family::ipv4 ? backend.ipv4 : backend.ipv6).has_value();
      });
      if (!used) continue;
      const auto skipped = findSkippedRules(netlink_, family, routingOwnership(wish_));
      if (!skipped) return add(Severity::note, skipped.error().message);
      for (const std::string& rule : *skipped) add(Severity::wrong, rule);
    }
  }

  void announcements() {
    for (const VirtualAddress& address : wish_.announced)
      if (address.arp &&
          announcingLinks(address.address, wish_.interfaces, links_, subnets_).empty())
        add(Severity::wrong, announcedNowhere(address.address, wish_.interfaces));
  }

  void duplicates() {
    std::set<std::pair<Address, unsigned>> pairs;
    for (const Address& address : virtualAddresses(wish_)) {
      for (const Link* link : announcingLinks(address, wish_.interfaces, links_, subnets_))
        pairs.emplace(address, link->index);
      // Where backends are: theirs are the usual false answers.
      for (const auto& [backend, hop] : nextHops_)
        if (hop.interface != 0 && hop.resolves && backend.family() == address.family())
          pairs.emplace(address, hop.interface);
    }
    std::vector<Question> questions;
    for (const auto& [address, link] : pairs)
      if (links_.contains(link)) questions.push_back({address, &links_.at(link)});
    const auto found = findDuplicates(questions, kDuplicateWait);
    if (!found) return add(Severity::note, found.error().message + " (run it as root)");
    for (const Duplicate& duplicate : *found)
      add(Severity::wrong,
          fmt::format(
              "{:02x} on {} answers for the virtual address {}: clients there go past "
              "weir. A backend must hold the address without answering for it, and of several "
              "load balancers one may",
              fmt::join(duplicate.mac, ":"), duplicate.interface, duplicate.address.toString()),
          duplicate.address.isIpv4() ? "on the backend: sysctl -w net.ipv4.conf.all.arp_ignore=1 "
                                       "net.ipv4.conf.all.arp_announce=2, with the address on lo"
                                     : "on the backend: the address on lo, not on the interface");
  }

  void kernel() {
    const auto features = probeKernel();
    if (!features) return add(Severity::note, features.error().message + " (run it as root)");
    for (const KernelFeature& feature : *features)
      if (!feature.error.empty())
        add(feature.needed ? Severity::wrong : Severity::advice,
            fmt::format("this kernel does not do {}: {}", feature.name, feature.error));
  }

  Netlink& netlink_;
  const KernelWish wish_;
  Links links_;
  std::vector<ConnectedSubnet> subnets_;
  NextHops nextHops_;
  std::vector<HostFinding> findings_;
};

}  // namespace

std::string_view toString(HostFinding::Severity severity) noexcept {
  switch (severity) {
    case Severity::wrong:
      return "wrong";
    case Severity::advice:
      return "advice";
    case Severity::note:
      return "note";
  }
  return "?";
}

Result<std::vector<HostFinding>> checkHost(const Configuration& configuration) {
  ControlPlane controlPlane;
  if (auto applied = controlPlane.apply(configuration, Time{}); !applied.ok())
    return applied.error();
  auto netlink = Netlink::open(NETLINK_ROUTE);
  if (!netlink) return netlink.error();
  return Check(*netlink, wishOf(controlPlane)).run();
}

}  // namespace weir::manager
