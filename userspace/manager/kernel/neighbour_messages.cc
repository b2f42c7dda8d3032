// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/neighbour_messages.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"

namespace weir::manager {
namespace {

constexpr std::size_t kRoom = 128;
constexpr std::uint16_t kReplace = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;

ndmsg* putHeader(nlmsghdr* message, const NeighbourKey& key) {
  auto* header = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ndmsg)));
  header->ndm_family = addressFamily(key.address.family());
  header->ndm_ifindex = static_cast<int>(key.interface);
  return header;
}

template <class Fill>
void add(Messages& messages, const NeighbourKey& key, std::uint16_t type, std::uint16_t flags,
         Fill fill) {
  messages.add(
      fmt::format("neighbour {} on {}", key.address.toString(), interfaceName(key.interface)), type,
      flags, kRoom, [&](nlmsghdr* m) {
        ndmsg* header = putHeader(m, key);
        putAddress(m, NDA_DST, key.address);
        fill(m, *header);
      });
}

}  // namespace

void addNeighbourDump(Messages& messages, Family family) {
  messages.add(fmt::format("{} neighbours", familyName(family)), RTM_GETNEIGH, NLM_F_REQUEST, 64,
               [family](nlmsghdr* m) {
                 auto* header = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(ndmsg)));
                 header->ndm_family = addressFamily(family);
               });
}

void addKeptNeighbour(Messages& messages, const NeighbourKey& key, std::uint8_t protocol) {
  add(messages, key, RTM_NEWNEIGH, kReplace, [&](nlmsghdr* m, ndmsg& header) {
    // A kernel before 5.16 does not know the extended flag; for it NTF_USE starts the resolution.
    header.ndm_flags = NTF_EXT_LEARNED | NTF_USE;
    mnl_attr_put_u8(m, NDA_PROTOCOL, protocol);
    mnl_attr_put_u32(m, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
  });
}

void addNeighbourCheck(Messages& messages, const NeighbourKey& key, std::uint8_t protocol) {
  // An update that says "managed" leaves the state as it is, and one that does not takes the flag
  // away: the state first, the flag after it.
  add(messages, key, RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE,
      [](nlmsghdr*, ndmsg& header) {
        header.ndm_flags = NTF_EXT_LEARNED;
        header.ndm_state = NUD_PROBE;
      });
  addKeptNeighbour(messages, key, protocol);
}

void addOrdinaryNeighbour(Messages& messages, const Neighbour& of, std::uint8_t protocol) {
  if (!of.mac) return;
  add(messages, of.key, RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE,
      [&](nlmsghdr* m, ndmsg& header) {
        header.ndm_state = NUD_STALE;
        header.ndm_flags = static_cast<std::uint8_t>(of.flags & NTF_ROUTER);
        mnl_attr_put(m, NDA_LLADDR, of.mac->size(), of.mac->data());
        if (protocol != 0) mnl_attr_put_u8(m, NDA_PROTOCOL, protocol);
      });
}

void addNeighbourDeletion(Messages& messages, const NeighbourKey& key) {
  add(messages, key, RTM_DELNEIGH, NLM_F_REQUEST | NLM_F_ACK, [](nlmsghdr*, ndmsg&) {});
}

std::optional<Neighbour> readNeighbour(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWNEIGH && message.nlmsg_type != RTM_DELNEIGH) return std::nullopt;
  const auto* header = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(&message));
  if (header->ndm_family != AF_INET && header->ndm_family != AF_INET6) return std::nullopt;
  if ((header->ndm_flags & NTF_PROXY) != 0) return std::nullopt;
  Neighbour neighbour;
  neighbour.key.interface = static_cast<unsigned>(header->ndm_ifindex);
  neighbour.state = header->ndm_state;
  neighbour.flags = header->ndm_flags;
  bool hasAddress = false;
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    const auto bytes = attributeBytes(attribute);
    if (type == NDA_DST) {
      const auto address = addressFrom(bytes);
      hasAddress = address.has_value();
      neighbour.key.address = address.value_or(Address{});
    }
    if (type == NDA_LLADDR && bytes.size() == sizeof(MacAddress)) {
      neighbour.mac.emplace();
      std::ranges::copy(bytes, neighbour.mac->begin());
    }
    if (type == NDA_PROTOCOL)
      neighbour.protocol = static_cast<std::uint8_t>(attributeNumber(attribute));
    if (type == NDA_FLAGS_EXT) neighbour.flags |= attributeNumber(attribute) << kExtendedFlagsShift;
  });
  if (!hasAddress) return std::nullopt;
  return neighbour;
}

}  // namespace weir::manager
