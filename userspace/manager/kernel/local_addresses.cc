// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/local_addresses.h"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kLoopback = 1;

}  // namespace

Result<HostAddresses> hostAddresses(Netlink& netlink, std::uint8_t protocol) {
  HostAddresses result;
  for (const Family family : kFamilies) {
    Messages request;
    request.add("addresses", RTM_GETADDR, NLM_F_REQUEST, 64, [family](nlmsghdr* m) {
      static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifaddrmsg)))->ifa_family =
          addressFamily(family);
    });
    const auto dump = netlink.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i) {
      const auto* header = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(dump->at(i)));
      std::optional<Address> local, address;
      std::uint32_t made = 0;
      forEachAttribute(*dump->at(i), sizeof *header, [&](const nlattr* attribute) {
        const std::uint16_t type = mnl_attr_get_type(attribute);
        if (type == IFA_LOCAL) local = addressFrom(attributeBytes(attribute));
        if (type == IFA_ADDRESS) address = addressFrom(attributeBytes(attribute));
        if (type == IFA_PROTO) made = attributeNumber(attribute);
      });
      if (!local) local = address;
      if (!local) continue;
      const bool ours = made == protocol && header->ifa_index == kLoopback;
      (ours ? result.ours : result.others).insert({*local});
    }
  }
  return result;
}

Status LocalAddresses::change(const std::vector<LocalAddress>& addresses, bool add,
                              std::uint8_t protocol) {
  Messages messages;
  for (const LocalAddress& local : addresses) {
    const std::uint16_t flags = add ? NLM_F_CREATE | NLM_F_EXCL : 0;
    messages.add(
        "address " + local.toString() + " of the loopback interface",
        add ? RTM_NEWADDR : RTM_DELADDR,
        static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), 96, [&](nlmsghdr* m) {
          auto* header = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ifaddrmsg)));
          const Family family = local.address.family();
          header->ifa_family = addressFamily(family);
          header->ifa_prefixlen = static_cast<std::uint8_t>(8 * addressLength(family));
          header->ifa_index = kLoopback;
          putAddress(m, IFA_LOCAL, local.address);
          putAddress(m, IFA_ADDRESS, local.address);
          if (!add) return;
          mnl_attr_put_u8(m, IFA_PROTO, protocol);
          if (family == Family::ipv6) mnl_attr_put_u32(m, IFA_FLAGS, IFA_F_NODAD);
        });
  }
  return add ? sendChanges(netlink_, messages, {EEXIST})
             : sendChanges(netlink_, messages, {EADDRNOTAVAIL});
}

Status LocalAddresses::addMissing(const std::set<LocalAddress>& wanted, std::uint8_t protocol,
                                  ChangeLog& log) {
  auto found = hostAddresses(netlink_, protocol);
  if (!found) return found.error();
  std::set<LocalAddress> needed;
  for (const LocalAddress& address : wanted)
    if (!found->others.contains(address)) needed.insert(address);
  things_.compare(found->ours, std::move(needed), log);
  ofTheHost_ = std::move(found->others);
  return change(things_.missing(), true, protocol);
}

Status LocalAddresses::removeOthers(std::uint8_t protocol) {
  const Status status = change(things_.others(), false, protocol);
  things_.removed();
  return status;
}

Status LocalAddresses::removeAll(std::uint8_t protocol) {
  const auto found = hostAddresses(netlink_, protocol);
  if (!found) return found.error();
  things_.forget();
  return change({found->ours.begin(), found->ours.end()}, false, protocol);
}

}  // namespace weir::manager
