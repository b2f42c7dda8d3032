// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/links.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>

#include "manager/kernel/attributes.h"

namespace weir::manager {

Result<Links> readLinks(Netlink& netlink) {
  Messages request;
  request.add("interfaces", RTM_GETLINK, NLM_F_REQUEST, 64, [](nlmsghdr* m) {
    static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifinfomsg)))->ifi_family =
        AF_UNSPEC;
  });
  const auto dump = netlink.dump(request);
  if (!dump) return dump.error();
  Links links;
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const auto* info = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(dump->at(i)));
    Link link;
    link.index = static_cast<unsigned>(info->ifi_index);
    link.loopback = (info->ifi_flags & IFF_LOOPBACK) != 0;
    link.up = (info->ifi_flags & IFF_UP) != 0;
    link.running = (info->ifi_flags & IFF_RUNNING) != 0;
    link.resolves = info->ifi_type == ARPHRD_ETHER && (info->ifi_flags & IFF_NOARP) == 0;
    forEachAttribute(*dump->at(i), sizeof *info, [&](const nlattr* attribute) {
      const std::uint16_t type = mnl_attr_get_type(attribute);
      const auto bytes = attributeBytes(attribute);
      if (type == IFLA_IFNAME) link.name = mnl_attr_get_str(attribute);
      if (type == IFLA_CARRIER_UP_COUNT) link.carrierUps = attributeNumber(attribute);
      if (type == IFLA_ADDRESS && bytes.size() == link.mac.size())
        std::ranges::copy(bytes, link.mac.begin());
    });
    links.emplace(link.index, std::move(link));
  }
  return links;
}

}  // namespace weir::manager
