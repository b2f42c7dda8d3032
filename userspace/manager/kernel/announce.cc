// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/announce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "manager/kernel/gratuitous.h"

namespace weir::manager {
namespace {

// At once, so many announcements that a link's queue holds them; the others follow with the next
// comparison.
constexpr int kFramesAtOnce = 500;

}  // namespace

std::vector<const Link*> announcingLinks(Address address,
                                         const std::vector<std::string>& interfaces,
                                         const Links& links,
                                         const std::vector<ConnectedSubnet>& subnets) {
  std::vector<const Link*> result;
  for (const auto& [index, link] : links) {
    if (!link.resolves || !link.up) continue;
    const bool chosen = interfaces.empty()
                            ? std::ranges::any_of(subnets,
                                                  [&](const ConnectedSubnet& connected) {
                                                    return connected.interface == link.name &&
                                                           connected.subnet.contains(address);
                                                  })
                            : std::ranges::find(interfaces, link.name) != interfaces.end();
    if (chosen) result.push_back(&link);
  }
  return result;
}

std::string announcedNowhere(Address address, const std::vector<std::string>& interfaces) {
  if (interfaces.empty())
    return fmt::format(
        "{} (announce: ARP) is answered for nowhere: no interface that is up has an address in its "
        "subnet; name the interfaces in `interfaces` of weir.yaml, or use announce: ROUTE",
        address.toString());
  return fmt::format(
      "{} (announce: ARP) is answered for nowhere: of the `interfaces` of weir.yaml none is there, "
      "up and of Ethernet",
      address.toString());
}

OwnRoutingWish Announcements::plan(const KernelWish& wish, const Links& links,
                                   const std::vector<ConnectedSubnet>& subnets) {
  wanted_.clear();
  warnings_.clear();
  std::set<Family> families;
  for (const VirtualAddress& virtualAddress : wish.announced) {
    if (!virtualAddress.arp) continue;
    const Address address = virtualAddress.address;
    const auto where = announcingLinks(address, wish.interfaces, links, subnets);
    for (const Link* link : where) wanted_.insert({link->index, address});
    families.insert(address.family());
    if (!where.empty()) continue;
    warnings_.push_back(announcedNowhere(address, wish.interfaces));
  }
  const RoutingOwnership own = routingOwnership(wish);
  return {neighbourRoutes(families, own), neighbourRules(families, own, wish.fwmarkMask)};
}

Status Announcements::addMissing(const KernelWish& wish, const Links& links, ChangeLog& log) {
  std::set<Address> ipv4;
  for (const ProxyNeighbour& proxy : wanted_)
    if (proxy.address.isIpv4()) ipv4.insert(proxy.address);
  const auto marking = arp_.converge(ipv4, wish.fwmarkMask);
  Status status = marking ? success() : Status(marking.error());

  const auto found = proxyNeighbours(netlink_, wish.routeProtocol);
  if (!found) return found.error();
  std::set<ProxyNeighbour> needed;
  for (const ProxyNeighbour& proxy : wanted_)
    if (!found->others.contains(proxy)) needed.insert(proxy);
  things_.compare(found->ours, std::move(needed), log);
  Messages messages;
  for (const ProxyNeighbour& proxy : things_.missing())
    addProxyNeighbour(messages, proxy, wish.routeProtocol);
  keepFirst(status, sendChanges(netlink_, messages, {ENODEV}));
  announce(links);
  return status;
}

void Announcements::announce(const Links& links) {
  std::erase_if(announced_, [&](const auto& entry) { return !wanted_.contains(entry.first); });
  const auto present = std::chrono::steady_clock::now();
  int frames = 0;
  for (const ProxyNeighbour& proxy : wanted_) {
    const auto link = links.find(proxy.interface);
    if (link == links.end() || frames >= kFramesAtOnce) continue;
    const auto before = announced_.find(proxy);
    const bool news = before == announced_.end() || before->second.mac != link->second.mac ||
                      before->second.carrierUps != link->second.carrierUps ||
                      before->second.running != link->second.running;
    const bool repeat = !news && !before->second.repeated && present - before->second.at >= kRepeat;
    if (!news && !repeat) continue;
    announced_[proxy] = {link->second.mac, link->second.carrierUps, link->second.running, repeat,
                         present};
    if (!link->second.running) continue;
    ++frames;
    if (const Status sent = announceOnce(proxy.address, link->second); !sent) {
      // A link that has just come up may have no address to send from yet: the repetition follows.
      log::debug("a gratuitous announcement was not sent", {{"REASON", sent.error().message}});
    } else if (news) {
      log::info("announced a virtual address to a link",
                {{"ADDRESS", proxy.address.toString()}, {"INTERFACE", link->second.name}});
    }
  }
}

Status Announcements::removeOthers() {
  Messages messages;
  for (const ProxyNeighbour& proxy : things_.others()) addProxyNeighbourDeletion(messages, proxy);
  things_.removed();
  return sendChanges(netlink_, messages, {ENOENT, ENODEV});
}

Status Announcements::removeAll(std::uint8_t routeProtocol) {
  Status status = arp_.removeAll();
  keepFirst(status, removeProxies(routeProtocol));
  things_.forget();
  announced_.clear();
  return status;
}

Status Announcements::removeProxies(std::uint8_t routeProtocol) {
  const auto found = proxyNeighbours(netlink_, routeProtocol);
  if (!found) return found.error();
  Messages messages;
  for (const ProxyNeighbour& proxy : found->ours) addProxyNeighbourDeletion(messages, proxy);
  return sendChanges(netlink_, messages, {ENOENT, ENODEV});
}

}  // namespace weir::manager
