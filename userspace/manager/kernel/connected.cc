// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/connected.h"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/links.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

unsigned wholeLength(Family family) { return static_cast<unsigned>(8 * addressLength(family)); }

// The subnet that a matching route makes, when it leads to neighbours.
std::optional<ConnectedSubnet> subnetOf(const nlmsghdr& message, const Links& links) {
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  // A default route without a gateway makes no subnet of all the world.
  if (route->rtm_type != RTN_UNICAST || route->rtm_dst_len == 0) return std::nullopt;
  std::optional<Address> destination;
  bool direct = true;
  unsigned interface = 0;
  forEachAttribute(message, sizeof *route, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_DST) destination = addressFrom(attributeBytes(attribute));
    if (type == RTA_OIF) interface = attributeNumber(attribute);
    if (type == RTA_GATEWAY || type == RTA_VIA || type == RTA_MULTIPATH || type == RTA_ENCAP)
      direct = false;
  });
  const auto link = links.find(interface);
  // Over a tunnel such a route is the ordinary one to far networks.
  if (!direct || !destination || link == links.end() || !link->second.resolves) return std::nullopt;
  return ConnectedSubnet{Prefix(*destination, route->rtm_dst_len), link->second.name};
}

}  // namespace

Result<std::vector<ConnectedSubnet>> connectedSubnets(Netlink& netlink) {
  std::vector<ConnectedSubnet> subnets;
  for (const Family family : kFamilies) {
    Messages request;
    request.add(fmt::format("{} addresses", familyName(family)), RTM_GETADDR, NLM_F_REQUEST, 64,
                [family](nlmsghdr* m) {
                  auto* header =
                      static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifaddrmsg)));
                  header->ifa_family = addressFamily(family);
                });
    const auto dump = netlink.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i) {
      const auto* header = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(dump->at(i)));
      if (header->ifa_scope >= RT_SCOPE_LINK) continue;
      // With a peer IFA_ADDRESS is the peer's, which is what the prefix belongs to.
      std::optional<Address> address, local;
      forEachAttribute(*dump->at(i), sizeof *header, [&](const nlattr* attribute) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type == IFA_ADDRESS) address = addressFrom(attributeBytes(attribute));
        if (type == IFA_LOCAL) local = addressFrom(attributeBytes(attribute));
      });
      const std::string interface = interfaceName(header->ifa_index);
      if (address) subnets.push_back({Prefix(*address, header->ifa_prefixlen), interface});
      if (address && local && *local != *address)
        subnets.push_back({Prefix(*local, wholeLength(family)), interface});
    }
  }
  return subnets;
}

std::vector<std::string> conflictsWithSubnets(std::span<const DivertedRoute> routes,
                                              std::span<const ConnectedSubnet> subnets) {
  std::vector<std::string> conflicts;
  for (const DivertedRoute& route : routes) {
    const auto subnet = std::ranges::find_if(subnets, [&](const ConnectedSubnet& connected) {
      return connected.subnet.family() == route.destination.family() &&
             connected.subnet.length() <= route.destination.length() &&
             connected.subnet.contains(route.destination.address());
    });
    if (subnet == subnets.end()) continue;
    conflicts.push_back(fmt::format(
        "route {}: destRange {} {} the subnet {}, which is directly connected to this host on {}; "
        "a route must be wider than a connected subnet, or elsewhere",
        route.name, route.destination.toString(),
        subnet->subnet == route.destination ? "is" : "lies within", subnet->subnet.toString(),
        subnet->interface));
  }
  return conflicts;
}

Result<std::vector<std::string>> routeConflicts(Netlink& netlink,
                                                std::span<const DivertedRoute> routes) {
  if (routes.empty()) return std::vector<std::string>{};
  auto subnets = connectedSubnets(netlink);
  if (!subnets) return subnets.error();
  const auto links = readLinks(netlink);
  if (!links) return links.error();
  Messages questions;
  for (const DivertedRoute& route : routes)
    addRouteMatchQuestion(questions, route.destination.address());
  // An answer without a route: nothing is connected there.
  const Status asked = netlink.exchange(questions, [&](const NetlinkAnswer& answer) {
    if (answer.reply == nullptr) return;
    if (auto subnet = subnetOf(*answer.reply, *links)) subnets->push_back(std::move(*subnet));
  });
  if (!asked) return asked.error();
  return conflictsWithSubnets(routes, *subnets);
}

}  // namespace weir::manager
