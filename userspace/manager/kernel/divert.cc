// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/divert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/nft_messages.h"
#include "manager/kernel/set_elements.h"

namespace weir::manager {
namespace {

Address lastOf(const Prefix& prefix) noexcept {
  const Address first = prefix.address();
  if (first.isIpv4()) {
    const unsigned host = 32 - prefix.length();
    return Address::ipv4(first.ipv4Bits() | static_cast<std::uint32_t>((1ull << host) - 1));
  }
  const unsigned host = 128 - prefix.length();
  const auto ones = [](unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; };
  return Address::ipv6(first.hi() | (host > 64 ? ones(host - 64) : 0), first.lo() | ones(host));
}

template <class T>
std::set<T> without(const std::set<T>& from, const std::set<T>& what) {
  std::set<T> rest;
  std::ranges::set_difference(from, what, std::inserter(rest, rest.end()));
  return rest;
}

DivertElements without(const DivertElements& from, const DivertElements& what) {
  return {without(from.addresses, what.addresses), without(from.ranges, what.ranges),
          without(from.origins, what.origins), without(from.marks, what.marks)};
}

// Leaves out ranges inside another: the kernel refuses sets whose intervals overlap. Prefixes
// either nest or are apart; ranges that someone else put in may overlap otherwise, and are joined.
std::set<AddressRange> disjoint(const std::set<AddressRange>& ranges) {
  std::vector<AddressRange> result;
  for (const AddressRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last)
      result.back().last = std::max(result.back().last, range.last);
    else
      result.push_back(range);
  }
  return {result.begin(), result.end()};
}

DivertElements joined(const DivertElements& a, const DivertElements& b) {
  DivertElements all = a;
  all.addresses.insert(b.addresses.begin(), b.addresses.end());
  all.ranges.insert(b.ranges.begin(), b.ranges.end());
  all.ranges = disjoint(all.ranges);
  all.origins.insert(b.origins.begin(), b.origins.end());
  all.marks.insert(b.marks.begin(), b.marks.end());
  return all;
}

void addTable(Messages& messages, Family family, int type, unsigned flags,
              const std::vector<RoutingOwnership>& owners = {}) {
  const NftTable table = makeTable(family, owners);
  addNftMessage(messages, fmt::format("nf_tables table {}", kTableName), type, family, flags, 512,
                [&table](nlmsghdr* m) { nftnl_table_nlmsg_build_payload(m, table.get()); });
}

std::string tableName(Family family) {
  return fmt::format("{} {}", family == Family::ipv4 ? "ip" : "ip6", kTableName);
}

std::string textOf(Address address) { return address.toString(); }
std::string textOf(const AddressRange& range) {
  return fmt::format("{}-{}", range.first.toString(), range.last.toString());
}
std::string textOf(const ApplianceOrigin& origin) {
  const std::string interface = interfaceName(origin.interface);
  if (!origin.mac) return interface;
  return fmt::format("{:02x} on {}", fmt::join(*origin.mac, ":"), interface);
}
std::string textOf(std::uint32_t mark) { return fmt::format("{:#x}", mark); }

}  // namespace

DivertElements divertElements(std::span<const Prefix> prefixes,
                              std::span<const DivertedRoute> routes, Family family) {
  DivertElements elements;
  for (const Prefix& prefix : prefixes) {
    if (prefix.family() != family) continue;
    const Address last = lastOf(prefix);
    if (last == prefix.address())
      elements.addresses.insert(last);
    else
      elements.ranges.insert({prefix.address(), last});
  }
  for (const DivertedRoute& route : routes)
    if (route.destination.family() == family)
      elements.ranges.insert({route.destination.address(), lastOf(route.destination)});
  elements.ranges = disjoint(elements.ranges);
  return elements;
}

bool anyRangeCoversAnAddress(const DivertElements& elements) {
  return std::ranges::any_of(elements.ranges, [&](const AddressRange& range) {
    const auto next = elements.addresses.lower_bound(range.first);
    return next != elements.addresses.end() && *next <= range.last;
  });
}

Result<bool> Divert::findTable(Family family, Found& found) {
  Messages request;
  addTable(request, family, NFT_MSG_GETTABLE, 0);
  Status refusal = success();
  const Status asked = netlink_.exchange(request, [&](const NetlinkAnswer& answer) {
    found.table = answer.reply != nullptr;
    if (answer.error == EPERM) {
      refusal = Error{
          "weir-manager may not look at nf_tables: it needs CAP_NET_ADMIN in this network "
          "namespace (run it as root, or by its systemd unit)"};
    } else if (answer.error != 0 && answer.error != ENOENT) {
      refusal = Error{fmt::format("cannot look at nf_tables: {}", describe(answer))};
    }
    if (answer.reply == nullptr) return;
    const NftTable table(nftnl_table_alloc());
    if (!table || nftnl_table_nlmsg_parse(answer.reply, table.get()) < 0) return;
    found.owners = ownersIn(table.get());
    found.flags = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS);
    found.objects = nftnl_table_get_u32(table.get(), NFTNL_TABLE_USE);
  });
  if (!asked) return asked.error();
  if (!refusal) return refusal.error();
  return found.table;
}

Status Divert::checkOwner(Family family, const Found& found) const {
  if (!found.table || isOurs(family, found)) return success();
  return Error{fmt::format(
      "there is an nf_tables table `{}` that weir has not made; weir needs this name for its own: "
      "rename or delete the table (nft delete table {})",
      tableName(family), tableName(family))};
}

Result<std::vector<RoutingOwnership>> Divert::earlierRuns() {
  std::vector<RoutingOwnership> owners;
  for (const Family family : kFamilies) {
    Found found;
    const auto there = findTable(family, found);
    if (!there) return there.error();
    if (Status ours = checkOwner(family, found); !ours) return ours.error();
    for (const RoutingOwnership& own : found.owners)
      if (std::ranges::find(owners, own) == owners.end()) owners.push_back(own);
  }
  return owners;
}

Result<bool> Divert::structureHolds(Family family, const DivertParameters& parameters) {
  Messages requests;
  for (const DivertSet which : kDivertSets) {
    addNftMessage(requests, "set", NFT_MSG_GETSET, family, 0, 256, [which](nlmsghdr* m) {
      mnl_attr_put_strz(m, NFTA_SET_TABLE, kTableName);
      mnl_attr_put_strz(m, NFTA_SET_NAME, nameOf(which));
    });
  }
  const std::vector<NftChain> chains = makeChains(family, parameters);
  for (const NftChain& chain : chains) {
    addNftMessage(requests, "chain", NFT_MSG_GETCHAIN, family, 0, 256, [&chain](nlmsghdr* m) {
      mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, kTableName);
      mnl_attr_put_strz(m, NFTA_CHAIN_NAME, nftnl_chain_get_str(chain.get(), NFTNL_CHAIN_NAME));
    });
  }
  bool holds = true;
  const Status asked = netlink_.exchange(requests, [&](const NetlinkAnswer& answer) {
    if (answer.reply == nullptr) {
      holds = false;
      return;
    }
    if (answer.request < kDivertSets.size()) {
      const NftSet set(nftnl_set_alloc());
      const NftSet wanted = makeSet(family, kDivertSets[answer.request]);
      holds = holds && set && nftnl_set_nlmsg_parse(answer.reply, set.get()) >= 0;
      for (const std::uint16_t field : {NFTNL_SET_FLAGS, NFTNL_SET_KEY_LEN})
        holds =
            holds && nftnl_set_get_u32(set.get(), field) == nftnl_set_get_u32(wanted.get(), field);
      return;
    }
    holds = holds && isChain(answer.reply, chains[answer.request - kDivertSets.size()].get());
  });
  if (!asked) return asked.error();
  if (!holds) return false;
  return rulesHold(family, parameters);
}

Result<bool> Divert::rulesHold(Family family, const DivertParameters& parameters) {
  Messages request;
  addNftMessage(request, "nf_tables rules", NFT_MSG_GETRULE, family, 0, 256,
                [](nlmsghdr* m) { mnl_attr_put_strz(m, NFTA_RULE_TABLE, kTableName); });
  const auto dump = netlink_.dump(request);
  if (!dump) return dump.error();
  std::vector<std::string> found;
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const NftRule rule(nftnl_rule_alloc());
    if (!rule || nftnl_rule_nlmsg_parse(dump->at(i), rule.get()) < 0) return false;
    found.push_back(contentsOf(rule.get()));
  }
  // An earlier run may have found out already which form this kernel has.
  for (const QueueForm form : {QueueForm::native, QueueForm::compat}) {
    std::vector<std::string> wanted;
    for (const NftRule& rule : makeRules(family, parameters, form))
      wanted.push_back(contentsOf(rule.get()));
    if (found == wanted) return true;
  }
  return false;
}

Result<Divert::Found> Divert::read(Family family, const DivertParameters& parameters) {
  Found found;
  const auto there = findTable(family, found);
  if (!there) return there.error();
  if (!*there) return found;
  if (Status ours = checkOwner(family, found); !ours) return ours.error();
  const auto structure = structureHolds(family, parameters);
  if (!structure) return structure.error();
  // A table that is dormant has all its rules and none of its hooks; one with a chain or a set more
  // than weir's may drop what it likes.
  found.structure = *structure && found.owners == parameters.owners && found.flags == 0 &&
                    found.objects == kDivertSets.size() + makeChains(family, parameters).size();
  for (const DivertSet which : kDivertSets) {
    // Without the structure the set may be missing, and then there is nothing to keep.
    const Status read = readElements(netlink_, family, which, found.elements);
    if (!read && found.structure) return read.error();
  }
  return found;
}

Status Divert::rebuild(Family family, const DivertElements& elements,
                       const DivertParameters& parameters, bool tableExists) {
  for (;;) {
    Messages messages;
    if (tableExists) addTable(messages, family, NFT_MSG_DELTABLE, 0);
    addTable(messages, family, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, parameters.owners);
    for (const DivertSet which : kDivertSets) {
      const NftSet set = makeSet(family, which);
      addNftMessage(messages, "nf_tables set", NFT_MSG_NEWSET, family, NLM_F_CREATE, 512,
                    [&set](nlmsghdr* m) { nftnl_set_nlmsg_build_payload(m, set.get()); });
    }
    addElementMessages(messages, family, elements, ElementChange::add);
    for (const NftChain& chain : makeChains(family, parameters))
      addNftMessage(messages, "nf_tables chain", NFT_MSG_NEWCHAIN, family, NLM_F_CREATE, 512,
                    [&chain](nlmsghdr* m) { nftnl_chain_nlmsg_build_payload(m, chain.get()); });
    for (const NftRule& rule : makeRules(family, parameters, form_)) {
      addNftMessage(messages, fmt::format("nf_tables rule ({})", fingerprint(rule.get())),
                    NFT_MSG_NEWRULE, family, NLM_F_CREATE | NLM_F_APPEND, 4096,
                    [&rule](nlmsghdr* m) { nftnl_rule_nlmsg_build_payload(m, rule.get()); });
    }
    const auto answer = netlink_.transaction(messages);
    if (!answer) return answer.error();
    if (answer->error == 0) return success();
    if (answer->error == ENOENT && form_ == QueueForm::native) {
      form_ = QueueForm::compat;
      continue;
    }
    form_ = QueueForm::native;
    return Error{fmt::format("the kernel refused the {}: {}", messages.name(answer->request),
                             describe(*answer))};
  }
}

Status Divert::update(Family family, const DivertElements& add, const DivertElements& remove) {
  Messages messages;
  // A wider range takes the place of one inside it: in a transaction removal may come first.
  addElementMessages(messages, family, remove, ElementChange::remove);
  addElementMessages(messages, family, add, ElementChange::add);
  if (messages.empty()) return success();
  const auto answer = netlink_.transaction(messages);
  if (!answer) return answer.error();
  if (answer->error == 0) return success();
  return Error{fmt::format("the kernel refused the change of {}: {}",
                           messages.name(answer->request), describe(*answer))};
}

Status Divert::removeTable(Family family) {
  Found found;
  const auto there = findTable(family, found);
  if (!there) return there.error();
  const bool ours = isOurs(family, found);
  made_[indexOf(family)].reset();
  if (!*there || !ours) return success();
  Messages messages;
  addTable(messages, family, NFT_MSG_DELTABLE, 0);
  const auto answer = netlink_.transaction(messages);
  if (!answer) return answer.error();
  if (answer->error == 0 || answer->error == ENOENT) return success();
  return Error{fmt::format("the kernel refused to remove the nf_tables table {}: {}", kTableName,
                           describe(*answer))};
}

// Elements that the last comparison left there and that are gone, and others that nobody asked for.
void Divert::noteUpdate(Family family, const DivertElements& add, const DivertElements& remove,
                        ChangeLog& log) {
  const auto& made = made_[indexOf(family)];
  if (!made) return;
  const std::string table = "of the nf_tables table " + tableName(family);
  const auto compare = [&](const auto& added, const auto& removed, const auto& last,
                           const std::string& noun) {
    for (const auto& element : added)
      if (last.contains(element))
        log.note(KernelChange::Kind::restored, noun, fmt::format("{} {}", textOf(element), table));
    for (const auto& element : removed)
      if (!last.contains(element))
        log.note(KernelChange::Kind::removed, noun, fmt::format("{} {}", textOf(element), table));
  };
  compare(add.addresses, remove.addresses, made->addresses, "diverted address");
  compare(add.ranges, remove.ranges, made->ranges, "diverted range");
  compare(add.origins, remove.origins, made->origins, "appliance source");
  compare(add.marks, remove.marks, made->marks, "appliance mark");
}

Status Divert::convergeFamily(Family family, const DivertElements& wanted,
                              const DivertParameters& parameters, KernelState::Prune prune,
                              ChangeLog& log) {
  const bool keep = prune == KernelState::Prune::keepOld;
  if (wanted.empty()) return keep ? success() : removeTable(family);
  const auto found = read(family, parameters);
  if (!found) return found.error();
  auto& made = made_[indexOf(family)];
  const DivertElements goal = keep ? joined(wanted, found->elements) : wanted;
  Status status = success();
  if (found->structure) {
    const DivertElements add = without(goal, found->elements);
    const DivertElements remove = without(found->elements, goal);
    noteUpdate(family, add, remove, log);
    if (made && !made->origins.empty())
      for (const ApplianceOrigin& origin : without(add, *made).origins)
        log.note(KernelChange::Kind::followed, "appliance source", textOf(origin));
    status = update(family, add, remove);
  } else {
    // With other parameters this is no repair.
    if (made && madeWith_[indexOf(family)] == parameters)
      log.note(KernelChange::Kind::restored,
               found->table ? "changed nf_tables table" : "nf_tables table", tableName(family));
    status = rebuild(family, goal, parameters, found->table);
  }
  if (status) {
    made = goal;
    madeWith_[indexOf(family)] = parameters;
  }
  return status;
}

Status Divert::converge(const KernelWish& wish, bool fallback,
                        const std::set<ApplianceOrigin>& origins,
                        std::span<const RoutingOwnership> former, KernelState::Prune prune,
                        ChangeLog& log) {
  const std::set<Address> appliances(wish.appliances.begin(), wish.appliances.end());
  Status status = success();
  for (const Family family : kFamilies) {
    DivertElements elements = divertElements(wish.divert, wish.routes, family);
    elements.origins = origins;
    for (const BackendRoute& backend : wish.backends)
      if ((backend.ipv4 && appliances.contains(*backend.ipv4)) ||
          (backend.ipv6 && appliances.contains(*backend.ipv6)))
        elements.marks.insert(backend.mark.value());
    const DivertParameters parameters{wish.fwmarkMask,
                                      wish.queueBase,
                                      wish.queues,
                                      anyRangeCoversAnAddress(elements),
                                      ownersOf(routingOwnership(wish), former),
                                      fallback};
    keepFirst(status, convergeFamily(family, elements, parameters, prune, log));
  }
  return status;
}

Status Divert::removeAll() {
  Status status = success();
  for (const Family family : kFamilies) keepFirst(status, removeTable(family));
  return status;
}

}  // namespace weir::manager
