// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/neighbour_proxies.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include <optional>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

// Of the first interface of every network namespace: the loopback.
constexpr unsigned kLoopback = 1;

void add(Messages& messages, const ProxyNeighbour& entry, std::uint16_t type, std::uint16_t flags,
         std::optional<std::uint8_t> protocol) {
  messages.add(entry.toString(), type,
               static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), 96, [&](nlmsghdr* m) {
                 auto* header = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ndmsg)));
                 header->ndm_family = addressFamily(entry.address.family());
                 header->ndm_ifindex = static_cast<int>(entry.interface);
                 header->ndm_flags = NTF_PROXY;
                 putAddress(m, NDA_DST, entry.address);
                 if (protocol) mnl_attr_put_u8(m, NDA_PROTOCOL, *protocol);
               });
}

}  // namespace

std::string ProxyNeighbour::toString() const {
  return fmt::format("{} on {}", address.toString(), interfaceName(interface));
}

Result<ProxyNeighbours> proxyNeighbours(Netlink& netlink, std::uint8_t protocol) {
  ProxyNeighbours result;
  for (const Family family : kFamilies) {
    Messages request;
    request.add("proxy neighbours", RTM_GETNEIGH, NLM_F_REQUEST, 64, [family](nlmsghdr* m) {
      auto* header = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ndmsg)));
      header->ndm_family = addressFamily(family);
      header->ndm_flags = NTF_PROXY;
    });
    const auto dump = netlink.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i) {
      const auto* header = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(dump->at(i)));
      if ((header->ndm_flags & NTF_PROXY) == 0) continue;
      std::optional<Address> address;
      std::uint32_t made = 0;
      forEachAttribute(*dump->at(i), sizeof *header, [&](const nlattr* attribute) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type == NDA_DST) address = addressFrom(attributeBytes(attribute));
        if (type == NDA_PROTOCOL) made = attributeNumber(attribute);
      });
      // Entries of all interfaces (index 0) are not weir's.
      if (address)
        (made == protocol ? result.ours : result.others)
            .insert({static_cast<unsigned>(header->ndm_ifindex), *address});
    }
  }
  return result;
}

void addProxyNeighbour(Messages& messages, const ProxyNeighbour& entry, std::uint8_t protocol) {
  add(messages, entry, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, protocol);
}

void addProxyNeighbourDeletion(Messages& messages, const ProxyNeighbour& entry) {
  add(messages, entry, RTM_DELNEIGH, 0, std::nullopt);
}

std::set<OwnRule> neighbourRules(const std::set<Family>& families, const RoutingOwnership& own,
                                 std::uint32_t fwmarkMask) {
  std::set<OwnRule> rules;
  for (const Family family : families) {
    OwnRule rule;
    rule.family = family;
    rule.rule = {neighbourPreference(own), RoutingRule::Action::lookup,
                 neighbourMark(fwmarkMask).value(), fwmarkMask, neighbourTable(own)};
    rules.insert(rule);
  }
  return rules;
}

std::set<OwnRoute> neighbourRoutes(const std::set<Family>& families, const RoutingOwnership& own) {
  std::set<OwnRoute> routes;
  for (const Family family : families) {
    const bool ipv4 = family == Family::ipv4;
    OwnRoute route;
    route.destination = Prefix(ipv4 ? Address::ipv4(0) : Address{}, 0);
    route.table = neighbourTable(own);
    route.type = ipv4 ? RTN_UNICAST : RTN_LOCAL;
    route.interface = kLoopback;
    routes.insert(route);
  }
  return routes;
}

}  // namespace weir::manager
