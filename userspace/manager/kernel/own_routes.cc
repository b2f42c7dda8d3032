// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/own_routes.h"

#include <fmt/format.h>

#include <optional>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kIpv6DefaultMetric = 1024;  // given by the kernel when none is asked for

void add(Messages& messages, const OwnRoute& route, std::uint8_t routeProtocol, std::uint16_t type,
         std::uint16_t flags) {
  messages.add(route.toString(), type,
               static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), 128,
               [&](nlmsghdr* m) {
                 auto* header = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(rtmsg)));
                 header->rtm_family = addressFamily(route.destination.family());
                 header->rtm_dst_len = static_cast<std::uint8_t>(route.destination.length());
                 header->rtm_protocol = routeProtocol;
                 header->rtm_type = route.type;
                 if (route.type == RTN_LOCAL)
                   header->rtm_scope = RT_SCOPE_HOST;
                 else if (route.type == RTN_UNICAST && route.nextHop == 0)
                   header->rtm_scope = RT_SCOPE_LINK;
                 mnl_attr_put_u32(m, RTA_TABLE, route.table);
                 if (route.destination.length() != 0)
                   putAddress(m, RTA_DST, route.destination.address());
                 if (type == RTM_DELROUTE) return;
                 if (route.interface != 0) mnl_attr_put_u32(m, RTA_OIF, route.interface);
                 if (route.nextHop != 0) mnl_attr_put_u32(m, RTA_NH_ID, route.nextHop);
               });
}

std::optional<OwnRoute> readOwnRoute(const nlmsghdr& message, Family family,
                                     std::uint8_t routeProtocol) {
  const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  if (header->rtm_protocol != routeProtocol || (header->rtm_flags & RTM_F_CLONED) != 0)
    return std::nullopt;
  OwnRoute route;
  Address destination = family == Family::ipv4 ? Address::ipv4(0) : Address{};
  std::uint32_t metric = 0;
  unsigned interface = 0;
  route.table = header->rtm_table;
  route.type = header->rtm_type;
  route.strange = header->rtm_src_len != 0 || header->rtm_tos != 0;
  bool hasGateway = false;
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_TABLE) route.table = attributeNumber(attribute);
    if (type == RTA_DST) destination = addressFrom(attributeBytes(attribute)).value_or(destination);
    if (type == RTA_OIF) interface = attributeNumber(attribute);
    if (type == RTA_PRIORITY) metric = attributeNumber(attribute);
    if (type == RTA_NH_ID) route.nextHop = attributeNumber(attribute);
    hasGateway |= type == RTA_GATEWAY || type == RTA_VIA || type == RTA_MULTIPATH;
  });
  route.destination = Prefix(destination, header->rtm_dst_len);
  // With a nexthop object the kernel shows what it says, and for routes to nowhere the loopback.
  const bool plain = route.nextHop == 0 && (route.type == RTN_UNICAST || route.type == RTN_LOCAL);
  if (plain) route.interface = interface;
  route.strange |= metric != (family == Family::ipv6 ? kIpv6DefaultMetric : 0) ||
                   (hasGateway && route.nextHop == 0);
  return route;
}

}  // namespace

std::string OwnRoute::toString() const {
  return fmt::format("route to {} in table {}", destination.toString(), table);
}

void addOwnRoute(Messages& messages, const OwnRoute& route, std::uint8_t routeProtocol,
                 RoutePlace place) {
  add(messages, route, routeProtocol, RTM_NEWROUTE, creationFlags(place));
}

void addOwnRouteDeletion(Messages& messages, const OwnRoute& route, std::uint8_t routeProtocol) {
  add(messages, route, routeProtocol, RTM_DELROUTE, 0);
}

Result<std::set<OwnRoute>> ownRoutes(Netlink& netlink, const RoutingOwnership& own) {
  std::set<OwnRoute> routes;
  for (const Family family : kFamilies) {
    Messages request;
    addRouteDump(request, family, own.routeProtocol);
    const auto dump = netlink.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i) {
      const auto route = readOwnRoute(*dump->at(i), family, own.routeProtocol);
      if (route && (route->table == announceTable(own) ||
                    route->table - own.tableBase - kMarkIndices < kOwnTables))
        routes.insert(*route);
    }
  }
  return routes;
}

}  // namespace weir::manager
