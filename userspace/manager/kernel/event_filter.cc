// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/event_filter.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>

#include "manager/kernel/attributes.h"

namespace weir::manager {

bool isRouteNews(const nlmsghdr& message, std::uint8_t protocol,
                 const std::set<Address>& addresses) {
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  if (route->rtm_family != AF_INET && route->rtm_family != AF_INET6) return false;
  if (route->rtm_protocol == protocol) return true;
  Address destination = route->rtm_family == AF_INET ? Address::ipv4(0) : Address{};
  forEachAttribute(message, sizeof *route, [&](const nlattr* attribute) {
    if (mnl_attr_get_type(attribute) == RTA_DST)
      destination = addressFrom(attributeBytes(attribute)).value_or(destination);
  });
  const Prefix prefix(destination, route->rtm_dst_len);
  // IPv4 addresses lie within ::/64 in this order, and are no addresses of an IPv6 route.
  auto first = addresses.lower_bound(prefix.address());
  while (first != addresses.end() && first->family() != prefix.family()) ++first;
  return first != addresses.end() && prefix.contains(*first);
}

bool isTableNews(const nlmsghdr& message, std::string_view table) {
  if (message.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES ||
      (message.nlmsg_type & 0xff) == NFT_MSG_NEWGEN)
    return false;
  const auto* header = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&message));
  constexpr std::uint8_t kArp = 3;  // NFPROTO_ARP, whose header does not go with the C library's
  if (header->nfgen_family != AF_INET && header->nfgen_family != AF_INET6 &&
      header->nfgen_family != kArp)
    return false;
  bool found = false;
  // All objects name their table in the attribute of this number.
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    if (mnl_attr_get_type(attribute) == NFTA_TABLE_NAME)
      found = mnl_attr_get_str(attribute) == table;
  });
  return found;
}

}  // namespace weir::manager
