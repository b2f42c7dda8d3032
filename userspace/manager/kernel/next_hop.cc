// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/next_hop.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

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
    return {0,
            fmt::format("{} is an address of this host; a passthrough backend must be another "
                        "machine",
                        address.toString()),
            false};
  }
  if (route->rtm_type == RTN_BROADCAST || route->rtm_type == RTN_MULTICAST ||
      route->rtm_type == RTN_ANYCAST)
    return {0, fmt::format("{} is not the address of one machine", address.toString()), false};
  if (route->rtm_type != RTN_UNICAST) return {0, noRoute(address, EHOSTUNREACH), false};
  if (gatewayOfOtherFamily || (gateway && *gateway != address)) {
    return {0,
            fmt::format("{} is not on a directly connected network: reached via gateway {}; a "
                        "passthrough backend must be a neighbour",
                        address.toString(), gateway ? gateway->toString() : "of the other family"),
            false};
  }
  return {interface, {}, false};
}

struct LinkState {
  bool up = false;
  bool carrier = false;
  bool resolves = false;
};

// States of the interfaces that next hops lie behind: a few, whatever the number of backends.
Result<std::map<unsigned, LinkState>> linkStates(Netlink& netlink, const NextHops& nextHops) {
  std::map<unsigned, LinkState> links;
  for (const auto& [address, hop] : nextHops)
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
    *asked[answer.request] = {(info->ifi_flags & IFF_UP) != 0, (info->ifi_flags & IFF_RUNNING) != 0,
                              info->ifi_type == ARPHRD_ETHER && (info->ifi_flags & IFF_NOARP) == 0};
  });
  if (!done) return done.error();
  return links;
}

}  // namespace

NextHop classifyNextHop(Address address, const NetlinkAnswer& answer) {
  if (answer.reply == nullptr) return {0, noRoute(address, answer.error), false};
  return classifyRoute(address, answer.reply);
}

Result<NextHops> findNextHops(Netlink& netlink, const std::set<Address>& addresses) {
  NextHops nextHops;
  Messages requests;
  std::vector<NextHops::iterator> asked;
  for (const Address& address : addresses) {
    asked.push_back(nextHops.try_emplace(address).first);
    addRouteQuestion(requests, address);
  }
  const Status done = netlink.exchange(requests, [&asked](const NetlinkAnswer& answer) {
    const auto& hop = asked[answer.request];
    hop->second = classifyNextHop(hop->first, answer);
  });
  if (!done) return done.error();

  const auto links = linkStates(netlink, nextHops);
  if (!links) return links.error();
  for (auto& [address, hop] : nextHops) {
    if (hop.interface == 0) continue;
    const LinkState& link = links->at(hop.interface);
    hop.resolves = link.resolves;
    if (!link.up) {
      hop = {0,
             fmt::format("{} is behind {}, which is down", address.toString(),
                         interfaceName(hop.interface)),
             false};
    } else if (!link.carrier) {
      hop.reason = fmt::format("{} is behind {}, which has no link", address.toString(),
                               interfaceName(hop.interface));
    }
  }
  return nextHops;
}

}  // namespace weir::manager
