// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/divert.h"

#include <fmt/format.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "manager/kernel/attributes.h"
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
  return {without(from.addresses, what.addresses), without(from.ranges, what.ranges)};
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
  return all;
}

void addTable(Messages& messages, Family family, int type, unsigned flags) {
  const NftTable table = makeTable(family);
  addNftMessage(messages, fmt::format("nf_tables table {}", kTableName), type, family, flags, 256,
                [&table](nlmsghdr* m) { nftnl_table_nlmsg_build_payload(m, table.get()); });
}

}  // namespace

DivertElements divertElements(std::span<const Prefix> prefixes, Family family) {
  DivertElements elements;
  for (const Prefix& prefix : prefixes) {
    if (prefix.family() != family) continue;
    const Address last = lastOf(prefix);
    if (last == prefix.address())
      elements.addresses.insert(last);
    else
      elements.ranges.insert({prefix.address(), last});
  }
  elements.ranges = disjoint(elements.ranges);
  return elements;
}

Result<bool> Divert::structureHolds(Family family, const DivertParameters& parameters) {
  Messages requests;
  for (const bool ranges : {false, true}) {
    const NftSet set = makeSet(family, ranges);
    addNftMessage(requests, "set", NFT_MSG_GETSET, family, 0, 256, [&set](nlmsghdr* m) {
      mnl_attr_put_strz(m, NFTA_SET_TABLE, nftnl_set_get_str(set.get(), NFTNL_SET_TABLE));
      mnl_attr_put_strz(m, NFTA_SET_NAME, nftnl_set_get_str(set.get(), NFTNL_SET_NAME));
    });
  }
  addNftMessage(requests, "chain", NFT_MSG_GETCHAIN, family, 0, 256, [](nlmsghdr* m) {
    mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, kTableName);
    mnl_attr_put_strz(m, NFTA_CHAIN_NAME, kChainName);
  });
  bool holds = true;
  const Status asked = netlink_.exchange(requests, [&](const NetlinkAnswer& answer) {
    if (answer.reply == nullptr) {
      holds = false;
      return;
    }
    if (answer.request < 2) {
      const NftSet set(nftnl_set_alloc());
      const NftSet wanted = makeSet(family, answer.request == 1);
      holds = holds && set && nftnl_set_nlmsg_parse(answer.reply, set.get()) >= 0;
      for (const std::uint16_t field : {NFTNL_SET_FLAGS, NFTNL_SET_KEY_LEN})
        holds =
            holds && nftnl_set_get_u32(set.get(), field) == nftnl_set_get_u32(wanted.get(), field);
      return;
    }
    const NftChain chain(nftnl_chain_alloc());
    const NftChain wanted = makeChain(family);
    holds = holds && chain && nftnl_chain_nlmsg_parse(answer.reply, chain.get()) >= 0 &&
            nftnl_chain_is_set(chain.get(), NFTNL_CHAIN_HOOKNUM);
    for (const std::uint16_t field : {NFTNL_CHAIN_HOOKNUM, NFTNL_CHAIN_PRIO, NFTNL_CHAIN_POLICY})
      holds = holds &&
              nftnl_chain_get_u32(chain.get(), field) == nftnl_chain_get_u32(wanted.get(), field);
  });
  if (!asked) return asked.error();
  if (!holds) return false;

  Messages request;
  addNftMessage(request, "nf_tables rules", NFT_MSG_GETRULE, family, 0, 256, [](nlmsghdr* m) {
    mnl_attr_put_strz(m, NFTA_RULE_TABLE, kTableName);
    mnl_attr_put_strz(m, NFTA_RULE_CHAIN, kChainName);
  });
  const auto dump = netlink_.dump(request);
  if (!dump) return dump.error();
  std::vector<std::string> found;
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const NftRule rule(nftnl_rule_alloc());
    if (!rule || nftnl_rule_nlmsg_parse(dump->at(i), rule.get()) < 0) return false;
    found.push_back(fingerprint(rule.get()));
  }
  std::vector<std::string> wanted;
  for (const NftRule& rule : makeRules(family, parameters, form_))
    wanted.push_back(fingerprint(rule.get()));
  return found == wanted;
}

Result<Divert::Found> Divert::read(Family family, const DivertParameters& parameters) {
  Found found;
  Messages request;
  addTable(request, family, NFT_MSG_GETTABLE, 0);
  const Status asked = netlink_.exchange(
      request, [&found](const NetlinkAnswer& answer) { found.table = answer.reply != nullptr; });
  if (!asked) return asked.error();
  if (!found.table) return found;
  const auto structure = structureHolds(family, parameters);
  if (!structure) return structure.error();
  found.structure = *structure;
  for (const bool ranges : {false, true}) {
    // Without the structure the set may be missing, and then there is nothing to keep.
    const Status read = readElements(netlink_, family, ranges, found.elements);
    if (!read && found.structure) return read.error();
  }
  return found;
}

Status Divert::rebuild(Family family, const DivertElements& elements,
                       const DivertParameters& parameters, bool tableExists) {
  for (;;) {
    Messages messages;
    if (tableExists) addTable(messages, family, NFT_MSG_DELTABLE, 0);
    addTable(messages, family, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
    for (const bool ranges : {false, true}) {
      const NftSet set = makeSet(family, ranges);
      addNftMessage(messages, "nf_tables set", NFT_MSG_NEWSET, family, NLM_F_CREATE, 512,
                    [&set](nlmsghdr* m) { nftnl_set_nlmsg_build_payload(m, set.get()); });
    }
    addElementMessages(messages, family, elements, ElementChange::add);
    const NftChain chain = makeChain(family);
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

Status Divert::convergeFamily(Family family, const DivertElements& wanted,
                              const DivertParameters& parameters, KernelState::Prune prune) {
  const auto found = read(family, parameters);
  if (!found) return found.error();
  const bool keep = prune == KernelState::Prune::keepOld;
  if (wanted.empty()) {
    if (!found->table || keep) return success();
    Messages messages;
    addTable(messages, family, NFT_MSG_DELTABLE, 0);
    const auto answer = netlink_.transaction(messages);
    if (!answer) return answer.error();
    if (answer->error == 0 || answer->error == ENOENT) return success();
    return Error{fmt::format("the kernel refused to remove the nf_tables table {}: {}", kTableName,
                             describe(*answer))};
  }
  const DivertElements goal = keep ? joined(wanted, found->elements) : wanted;
  if (!found->structure) return rebuild(family, goal, parameters, found->table);
  return update(family, without(goal, found->elements), without(found->elements, goal));
}

Status Divert::converge(const KernelWish& wish, KernelState::Prune prune) {
  const DivertParameters parameters{wish.fwmarkMask, wish.queueBase, wish.queues};
  Status status = success();
  for (const Family family : kFamilies) {
    keepFirst(status,
              convergeFamily(family, divertElements(wish.divert, family), parameters, prune));
  }
  return status;
}

Status Divert::removeAll() { return converge(KernelWish{}, KernelState::Prune::removeOld); }

}  // namespace weir::manager
