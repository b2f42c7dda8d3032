// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/connected.h"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"

namespace weir::manager {

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
      // With a peer this is the peer's address, which is what the prefix belongs to.
      std::optional<Address> address;
      forEachAttribute(*dump->at(i), sizeof *header, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == IFA_ADDRESS)
          address = addressFrom(attributeBytes(attribute));
      });
      if (address)
        subnets.push_back(
            {Prefix(*address, header->ifa_prefixlen), interfaceName(header->ifa_index)});
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

}  // namespace weir::manager
