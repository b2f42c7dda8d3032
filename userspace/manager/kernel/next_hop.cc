// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/next_hop.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

std::string interfaceName(unsigned index) {
  char name[IF_NAMESIZE];
  if (::if_indextoname(index, name) == nullptr) return fmt::format("interface {}", index);
  return name;
}

std::string noRoute(Address address, int error) {
  if (error == ENETUNREACH) {
    return fmt::format("no route to {}: no interface that is up has an address in its network",
                       address.toString());
  }
  // What routes of the types unreachable, prohibit and blackhole bring.
  if (error == EHOSTUNREACH || error == EACCES || error == EINVAL)
    return fmt::format("a route of this host says that {} cannot be reached", address.toString());
  return fmt::format("no route to {}: {}", address.toString(), std::strerror(error));
}

NextHop classifyRoute(Address address, const nlmsghdr* message) {
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
  unsigned interface = 0;
  std::optional<Address> gateway;
  bool gatewayOfOtherFamily = false;
  forEachAttribute(*message, sizeof *route, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_OIF) interface = attributeNumber(attribute);
    if (type == RTA_GATEWAY) gateway = addressFrom(attributeBytes(attribute));
    if (type == RTA_VIA) gatewayOfOtherFamily = true;
  });
  if (route->rtm_type == RTN_LOCAL) {
    return {0, fmt::format("{} is an address of this host; a passthrough backend must be another "
                           "machine",
                           address.toString())};
  }
  if (route->rtm_type == RTN_BROADCAST || route->rtm_type == RTN_MULTICAST ||
      route->rtm_type == RTN_ANYCAST)
    return {0, fmt::format("{} is not the address of one machine", address.toString())};
  if (route->rtm_type != RTN_UNICAST) return {0, noRoute(address, EHOSTUNREACH)};
  if (gatewayOfOtherFamily || (gateway && *gateway != address)) {
    return {0,
            fmt::format("{} is not on a directly connected network: reached via gateway {}; a "
                        "passthrough backend must be a neighbour",
                        address.toString(), gateway ? gateway->toString() : "of the other family")};
  }
  return {interface, {}};
}

struct LinkState {
  bool up = false;
  bool carrier = false;
};

// States of the interfaces that next hops lie behind: a few, whatever the number of backends.
Result<std::map<unsigned, LinkState>> linkStates(Netlink& netlink,
                                                 std::span<const NextHop> nextHops) {
  std::map<unsigned, LinkState> links;
  for (const NextHop& hop : nextHops)
    if (hop.interface != 0) links.try_emplace(hop.interface);
  Messages requests;
  std::vector<LinkState*> asked;
  for (auto& [index, state] : links) {
    requests.add("interface", RTM_GETLINK, NLM_F_REQUEST, 64, [index = index](nlmsghdr* message) {
      auto* info = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg)));
      info->ifi_family = AF_UNSPEC;
      info->ifi_index = static_cast<int>(index);
    });
    asked.push_back(&state);
  }
  const Status done = netlink.exchange(requests, [&asked](const NetlinkAnswer& answer) {
    if (answer.reply == nullptr) return;
    const auto* info = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(answer.reply));
    *asked[answer.request] = {(info->ifi_flags & IFF_UP) != 0,
                              (info->ifi_flags & IFF_RUNNING) != 0};
  });
  if (!done) return done.error();
  return links;
}

}  // namespace

NextHop classifyNextHop(Address address, const NetlinkAnswer& answer) {
  if (answer.reply == nullptr) return {0, noRoute(address, answer.error)};
  return classifyRoute(address, answer.reply);
}

Result<std::vector<NextHop>> findNextHops(Netlink& netlink, std::span<const Address> addresses) {
  std::vector<NextHop> nextHops(addresses.size());
  Messages requests;
  for (const Address& address : addresses) {
    requests.add("route", RTM_GETROUTE, NLM_F_REQUEST, 96, [&address](nlmsghdr* message) {
      auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
      route->rtm_family = addressFamily(address.family());
      route->rtm_dst_len = static_cast<std::uint8_t>(8 * addressLength(address.family()));
      putAddress(message, RTA_DST, address);
    });
  }
  const Status asked = netlink.exchange(requests, [&](const NetlinkAnswer& answer) {
    nextHops[answer.request] = classifyNextHop(addresses[answer.request], answer);
  });
  if (!asked) return asked.error();

  const auto links = linkStates(netlink, nextHops);
  if (!links) return links.error();
  for (std::size_t i = 0; i < nextHops.size(); ++i) {
    NextHop& hop = nextHops[i];
    if (hop.interface == 0) continue;
    const LinkState& link = links->at(hop.interface);
    if (!link.up) {
      hop = {0, fmt::format("{} is behind {}, which is down", addresses[i].toString(),
                            interfaceName(hop.interface))};
    } else if (!link.carrier) {
      hop.reason = fmt::format("{} is behind {}, which has no link", addresses[i].toString(),
                               interfaceName(hop.interface));
    }
  }
  return nextHops;
}

}  // namespace weir::manager
