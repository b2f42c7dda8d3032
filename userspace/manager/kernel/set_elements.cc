// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/set_elements.h"

#include <fmt/format.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
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
  std::vector<std::uint8_t> key;
  bool end = false;
};

std::vector<std::uint8_t> keyOf(Address address) {
  const auto bytes = address.bytes();
  const auto wire = wireBytes(bytes, address.family());
  return {wire.begin(), wire.end()};
}

// In the machine's byte order, as registers hold it.
std::vector<std::uint8_t> keyOf(std::uint32_t number) {
  std::vector<std::uint8_t> key(sizeof number);
  std::memcpy(key.data(), &number, sizeof number);
  return key;
}

std::uint32_t numberIn(std::span<const std::uint8_t> key) {
  std::uint32_t number = 0;
  std::memcpy(&number, key.data(), sizeof number);
  return number;
}

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

void addMessage(Messages& messages, Family family, DivertSet which,
                std::span<const Element> elements, ElementChange change) {
  NftSet set = makeSet(family, which);
  for (const Element& element : elements) {
    nftnl_set_elem* object = nftnl_set_elem_alloc();
    if (object == nullptr) throw std::bad_alloc();
    nftnl_set_elem_set(object, NFTNL_SET_ELEM_KEY, element.key.data(),
                       static_cast<std::uint32_t>(element.key.size()));
    if (element.end)
      nftnl_set_elem_set_u32(object, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
    nftnl_set_elem_add(set.get(), object);
  }
  const bool add = change == ElementChange::add;
  addNftMessage(messages, fmt::format("elements of the set {}", nameOf(which)),
                add ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM, family, add ? NLM_F_CREATE : 0,
                256 + kElementRoom * elements.size(), [&set](nlmsghdr* message) {
                  nftnl_set_elems_nlmsg_build_payload(message, set.get());
                });
}

void addMessages(Messages& messages, Family family, DivertSet which,
                 std::span<const Element> elements, ElementChange change) {
  while (!elements.empty()) {
    const std::size_t count = std::min(elements.size(), kElementsPerMessage);
    addMessage(messages, family, which, elements.first(count), change);
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
    if (key == nullptr) continue;
    const bool end =
        nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_FLAGS) &&
        (nftnl_set_elem_get_u32(element, NFTNL_SET_ELEM_FLAGS) & NFT_SET_ELEM_INTERVAL_END) != 0;
    elements.push_back({{key, key + length}, end});
  }
  return elements;
}

void collectRanges(std::span<const Element> elements, Family family, DivertElements& into) {
  std::vector<std::pair<Address, bool>> edges;
  for (const Element& element : elements)
    if (const auto address = addressFrom(element.key)) edges.emplace_back(*address, !element.end);
  // Where one range ends as the next begins, the end comes first.
  std::ranges::sort(edges);
  std::optional<Address> open;
  for (const auto& [address, begins] : edges) {
    if (begins) {
      open = address;
    } else if (open) {
      into.ranges.insert({*open, previous(address)});
      open.reset();
    }
  }
  if (open) into.ranges.insert({*open, lastAddress(family)});
}

// The interface, then the six bytes of the address in two words.
Element elementOf(const ApplianceOrigin& origin, Family family) {
  Element element{keyOf(origin.interface), false};
  if (!origin.mac) return element;
  element.key.insert(element.key.end(), origin.mac->begin(), origin.mac->end());
  element.key.resize(keyLength(DivertSet::appliances, family));
  return element;
}

ApplianceOrigin originOf(const Element& element) {
  ApplianceOrigin origin{numberIn(element.key), std::nullopt};
  if (element.key.size() == sizeof origin.interface) return origin;
  origin.mac.emplace();
  std::copy_n(element.key.begin() + sizeof origin.interface, origin.mac->size(),
              origin.mac->begin());
  return origin;
}

}  // namespace

void addElementMessages(Messages& messages, Family family, const DivertElements& elements,
                        ElementChange change) {
  std::array<std::vector<Element>, kDivertSets.size()> sets;
  const auto of = [&sets](DivertSet which) -> std::vector<Element>& {
    return sets[static_cast<std::size_t>(which)];
  };
  for (const Address& address : elements.addresses)
    of(DivertSet::addresses).push_back({keyOf(address), false});
  for (const AddressRange& range : elements.ranges) {
    of(DivertSet::ranges).push_back({keyOf(range.first), false});
    if (!isLastAddress(range.last))
      of(DivertSet::ranges).push_back({keyOf(next(range.last)), true});
  }
  for (const ApplianceOrigin& origin : elements.origins)
    of(origin.mac ? DivertSet::appliances : DivertSet::applianceLinks)
        .push_back(elementOf(origin, family));
  for (const std::uint32_t mark : elements.marks)
    of(DivertSet::applianceMarks).push_back({keyOf(mark), false});
  for (const DivertSet which : kDivertSets) addMessages(messages, family, which, of(which), change);
}

Status readElements(Netlink& netlink, Family family, DivertSet which, DivertElements& into) {
  Messages request;
  const NftSet set = makeSet(family, which);
  nftnl_set_unset(set.get(), NFTNL_SET_ID);
  addNftMessage(
      request, "elements of an nf_tables set", NFT_MSG_GETSETELEM, family, 0, 256,
      [&set](nlmsghdr* message) { nftnl_set_elems_nlmsg_build_payload(message, set.get()); });
  const auto dump = netlink.dump(request);
  if (!dump) return dump.error();
  std::vector<Element> all;
  for (std::size_t i = 0; i < dump->size(); ++i)
    for (Element& element : elementsOf(dump->at(i)))
      // Of another length: somebody has put another set in its place.
      if (element.key.size() == keyLength(which, family)) all.push_back(std::move(element));
  switch (which) {
    case DivertSet::addresses:
      for (const Element& element : all)
        if (const auto address = addressFrom(element.key)) into.addresses.insert(*address);
      break;
    case DivertSet::ranges:
      collectRanges(all, family, into);
      break;
    case DivertSet::appliances:
    case DivertSet::applianceLinks:
      for (const Element& element : all) into.origins.insert(originOf(element));
      break;
    case DivertSet::applianceMarks:
      for (const Element& element : all) into.marks.insert(numberIn(element.key));
      break;
  }
  return success();
}

}  // namespace weir::manager
