// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/set_elements.h"

#include <fmt/format.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/nft_messages.h"

namespace weir::manager {
namespace {

// A list of elements is one attribute, of at most 64 KiB; an element takes at most 44 bytes.
constexpr std::size_t kElementsPerMessage = 1000;
constexpr std::size_t kElementRoom = 48;

// The kernel holds an interval as two elements: its first address, and the one after its last.
struct Element {
  Address key;
  bool end = false;
};

constexpr std::uint64_t kAllOnes = std::numeric_limits<std::uint64_t>::max();

bool isLastAddress(Address address) noexcept {
  return address.isIpv4() ? address.ipv4Bits() == 0xffffffff
                          : address.hi() == kAllOnes && address.lo() == kAllOnes;
}

// The neighbour above; not of the last address.
Address next(Address address) noexcept {
  if (address.isIpv4()) return Address::ipv4(address.ipv4Bits() + 1);
  return Address::ipv6(address.hi() + (address.lo() == kAllOnes ? 1 : 0), address.lo() + 1);
}

Address previous(Address address) noexcept {
  if (address.isIpv4()) return Address::ipv4(address.ipv4Bits() - 1);
  return Address::ipv6(address.hi() - (address.lo() == 0 ? 1 : 0), address.lo() - 1);
}

Address lastAddress(Family family) noexcept {
  return family == Family::ipv4 ? Address::ipv4(0xffffffff) : Address::ipv6(kAllOnes, kAllOnes);
}

void addMessage(Messages& messages, Family family, bool ranges, std::span<const Element> elements,
                ElementChange change) {
  NftSet set = makeSet(family, ranges);
  for (const Element& element : elements) {
    nftnl_set_elem* object = nftnl_set_elem_alloc();
    if (object == nullptr) throw std::bad_alloc();
    const auto bytes = element.key.bytes();
    const auto wire = wireBytes(bytes, family);
    nftnl_set_elem_set(object, NFTNL_SET_ELEM_KEY, wire.data(),
                       static_cast<std::uint32_t>(wire.size()));
    if (element.end)
      nftnl_set_elem_set_u32(object, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
    nftnl_set_elem_add(set.get(), object);
  }
  const bool add = change == ElementChange::add;
  addNftMessage(messages, fmt::format("elements of the set {}", ranges ? kRangeSet : kAddressSet),
                add ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM, family, add ? NLM_F_CREATE : 0,
                256 + kElementRoom * elements.size(), [&set](nlmsghdr* message) {
                  nftnl_set_elems_nlmsg_build_payload(message, set.get());
                });
}

void addMessages(Messages& messages, Family family, bool ranges, std::span<const Element> elements,
                 ElementChange change) {
  while (!elements.empty()) {
    const std::size_t count = std::min(elements.size(), kElementsPerMessage);
    addMessage(messages, family, ranges, elements.first(count), change);
    elements = elements.subspan(count);
  }
}

std::vector<Element> elementsOf(const nlmsghdr* message) {
  std::vector<Element> elements;
  const NftSet set(nftnl_set_alloc());
  if (!set || nftnl_set_elems_nlmsg_parse(message, set.get()) < 0) return elements;
  struct IteratorDeleter {
    void operator()(nftnl_set_elems_iter* iterator) const {
      nftnl_set_elems_iter_destroy(iterator);
    }
  };
  const std::unique_ptr<nftnl_set_elems_iter, IteratorDeleter> iterator(
      nftnl_set_elems_iter_create(set.get()));
  if (!iterator) return elements;
  while (nftnl_set_elem* element = nftnl_set_elems_iter_next(iterator.get())) {
    std::uint32_t length = 0;
    const auto* key =
        static_cast<const std::uint8_t*>(nftnl_set_elem_get(element, NFTNL_SET_ELEM_KEY, &length));
    const auto address = key == nullptr ? std::nullopt : addressFrom({key, length});
    if (!address) continue;
    const bool end =
        nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_FLAGS) &&
        (nftnl_set_elem_get_u32(element, NFTNL_SET_ELEM_FLAGS) & NFT_SET_ELEM_INTERVAL_END) != 0;
    elements.push_back({*address, end});
  }
  return elements;
}

void collectRanges(std::vector<Element> elements, Family family, DivertElements& into) {
  // Where one range ends as the next begins, the end comes first.
  std::ranges::sort(elements, {}, [](const Element& e) { return std::pair(e.key, !e.end); });
  std::optional<Address> open;
  for (const Element& element : elements) {
    if (!element.end) {
      open = element.key;
    } else if (open) {
      into.ranges.insert({*open, previous(element.key)});
      open.reset();
    }
  }
  if (open) into.ranges.insert({*open, lastAddress(family)});
}

}  // namespace

void addElementMessages(Messages& messages, Family family, const DivertElements& elements,
                        ElementChange change) {
  std::vector<Element> addresses;
  for (const Address& address : elements.addresses) addresses.push_back({address, false});
  addMessages(messages, family, false, addresses, change);
  std::vector<Element> ranges;
  for (const AddressRange& range : elements.ranges) {
    ranges.push_back({range.first, false});
    if (!isLastAddress(range.last)) ranges.push_back({next(range.last), true});
  }
  addMessages(messages, family, true, ranges, change);
}

Status readElements(Netlink& netlink, Family family, bool ranges, DivertElements& into) {
  Messages request;
  const NftSet set = makeSet(family, ranges);
  nftnl_set_unset(set.get(), NFTNL_SET_ID);
  addNftMessage(
      request, "elements of an nf_tables set", NFT_MSG_GETSETELEM, family, 0, 256,
      [&set](nlmsghdr* message) { nftnl_set_elems_nlmsg_build_payload(message, set.get()); });
  const auto dump = netlink.dump(request);
  if (!dump) return dump.error();
  std::vector<Element> all;
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const auto elements = elementsOf(dump->at(i));
    all.insert(all.end(), elements.begin(), elements.end());
  }
  if (ranges) {
    collectRanges(std::move(all), family, into);
  } else {
    for (const Element& element : all) into.addresses.insert(element.key);
  }
  return success();
}

}  // namespace weir::manager
