// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/host_view.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "manager/kernel/announce.h"
#include "manager/kernel/attributes.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

// Links with an IPv6 default route that a router advertised.
Result<std::set<unsigned>> routerLearnedLinks(Netlink& netlink) {
  Messages request;
  addRouteDump(request, Family::ipv6, RTPROT_RA);
  const auto dump = netlink.dump(request);
  if (!dump) return dump.error();
  std::set<unsigned> links;
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(dump->at(i)));
    if (route->rtm_protocol != RTPROT_RA || route->rtm_dst_len != 0) continue;
    forEachAttribute(*dump->at(i), sizeof *route, [&](const nlattr* attribute) {
      if (mnl_attr_get_type(attribute) == RTA_OIF) links.insert(attributeNumber(attribute));
    });
  }
  return links;
}

}  // namespace

Result<std::map<Address, std::uint8_t>> routeTypes(Netlink& netlink,
                                                   const std::vector<Address>& addresses) {
  std::map<Address, std::uint8_t> types;
  Messages requests;
  for (const Address& address : addresses) addRouteQuestion(requests, address);
  const Status asked = netlink.exchange(requests, [&](const NetlinkAnswer& answer) {
    types[addresses[answer.request]] =
        answer.reply == nullptr
            ? std::uint8_t{RTN_UNREACHABLE}
            : static_cast<const rtmsg*>(mnl_nlmsg_get_payload(answer.reply))->rtm_type;
  });
  if (!asked) return asked.error();
  return types;
}

std::vector<Address> virtualAddresses(const KernelWish& wish) {
  std::vector<Address> addresses;
  for (const Prefix& prefix : wish.divert)
    if (prefix.length() == (prefix.family() == Family::ipv4 ? 32u : 128u))
      addresses.push_back(prefix.address());
  return addresses;
}

HeldAddress describeHeld(const Address& address) {
  return {fmt::format("the virtual address {} is an address of this host: its packets end here "
                      "instead of at the backends, which alone must hold it",
                      address.toString()),
          fmt::format("ip addr del {0}/{1} dev INTERFACE   (ip addr show to {0} names it)",
                      address.toString(), 8 * addressLength(address.family()))};
}

std::vector<std::string> heldVirtualAddresses(const KernelWish& wish,
                                              const std::set<LocalAddress>& held) {
  std::vector<std::string> sentences;
  for (const Address& address : virtualAddresses(wish)) {
    if (!held.contains({address})) continue;
    const HeldAddress what = describeHeld(address);
    sentences.push_back(fmt::format("{}; take it away: {}", what.breaks, what.fix));
  }
  return sentences;
}

Result<HostView> viewHost(Netlink& netlink, const KernelWish& wish, const Links& links,
                          const std::vector<ConnectedSubnet>& subnets, const NextHops& nextHops) {
  HostView view;
  view.links = links;
  view.spreadsByPort = wish.spreadsByPort;
  view.bothWays = !wish.routes.empty();
  const auto uses = [&view](Family family) {
    (family == Family::ipv4 ? view.ipv4 : view.ipv6) = true;
  };
  for (const Prefix& prefix : wish.divert) uses(prefix.family());
  for (const DivertedRoute& route : wish.routes) uses(route.destination.family());
  for (const auto& [address, hop] : nextHops) {
    if (hop.interface == 0) continue;
    if (address.isIpv4()) view.ipv4Backends.insert(hop.interface);
    ++(address.isIpv4() ? view.ipv4Neighbours : view.ipv6Neighbours);
  }
  for (const VirtualAddress& virtualAddress : wish.announced) {
    if (!virtualAddress.arp) continue;
    for (const Link* link :
         announcingLinks(virtualAddress.address, wish.interfaces, links, subnets))
      (virtualAddress.address.isIpv4() ? view.ipv4Announced : view.ipv6Announced)
          .insert(link->index);
  }
  auto learned = routerLearnedLinks(netlink);
  if (!learned) return learned.error();
  view.routerLearned = std::move(*learned);
  std::vector<Address> asked;
  for (const Address& address : virtualAddresses(wish))
    if (address.isIpv4()) asked.push_back(address);
  const auto types = routeTypes(netlink, asked);
  if (!types) return types.error();
  view.answersRoutable =
      std::ranges::all_of(*types, [](const auto& type) { return type.second == RTN_UNICAST; });
  return view;
}

}  // namespace weir::manager
