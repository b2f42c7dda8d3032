// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <fmt/format.h>
#include <libnftnl/chain.h>
#include <libnftnl/table.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <cerrno>

#include "manager/kernel/divert_rules.h"
#include "manager/kernel/neighbour_proxies.h"
#include "manager/kernel/nft_messages.h"
#include "manager/kernel/own_numbers.h"
#include "manager/kernel/rule_expressions.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kFamily = 3;     // NFPROTO_ARP
constexpr std::uint32_t kHookInput = 0;  // NF_ARP_IN
constexpr char kChain[] = "input";
constexpr char kComment[] = "weir-manager";

class ArpRule : public RuleExpressions<ArpRule> {
 public:
  ArpRule() : RuleExpressions(kFamily, kTableName, kChain) {}
};

// An ARP request of Ethernet and IPv4 (RFC 826) for `address`.
NftRule ruleFor(Address address, std::uint32_t fwmarkMask) {
  constexpr std::uint32_t kTypesOffset = 0, kTypesLength = 8, kTargetOffset = 24;
  // Hardware and protocol types, their lengths, operation.
  constexpr std::uint64_t kRequest = 0x0001080006040001;
  std::uint64_t types = 0;
  for (unsigned byte = 0; byte < kTypesLength; ++byte)
    reinterpret_cast<std::uint8_t*>(&types)[byte] =
        static_cast<std::uint8_t>(kRequest >> (8 * (kTypesLength - 1 - byte)));
  const std::uint32_t mark = neighbourMark(fwmarkMask).value();
  return ArpRule()
      .payload(NFT_PAYLOAD_NETWORK_HEADER, kTypesOffset, kTypesLength)
      .compare(NFT_CMP_EQ, types)
      .payload(NFT_PAYLOAD_NETWORK_HEADER, kTargetOffset, sizeof(std::uint32_t))
      .compare(NFT_CMP_EQ, htonl(address.ipv4Bits()))
      .mark(mark, fwmarkMask)
      .done(fmt::format("{}: mark {:#010x}/{:#010x}", address.toString(), mark, fwmarkMask));
}

NftChain makeChain() {
  auto chain = owned<NftChain>(nftnl_chain_alloc());
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_FAMILY, kFamily);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, kTableName);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, kChain);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, kHookInput);
  nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, 0);
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, kVerdictAccept);
  return chain;
}

template <class Fill>
void addArpMessage(Messages& messages, const char* what, int type, unsigned flags, std::size_t room,
                   Fill fill) {
  addNftMessage(messages, what, type, Family::ipv4, flags, room, [&](nlmsghdr* m) {
    static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(m))->nfgen_family = kFamily;
    fill(m);
  });
}

void addTable(Messages& messages, int type, unsigned flags) {
  const auto table = owned<NftTable>(nftnl_table_alloc());
  nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, kFamily);
  nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTableName);
  if (type == NFT_MSG_NEWTABLE) {
    const UserData comment(NFTNL_UDATA_TABLE_COMMENT, kComment);
    nftnl_table_set_data(table.get(), NFTNL_TABLE_USERDATA, comment.bytes(), comment.size());
  }
  addArpMessage(messages, "nf_tables table arp weir", type, flags, 512,
                [&](nlmsghdr* m) { nftnl_table_nlmsg_build_payload(m, table.get()); });
}

Status sendTransaction(Netlink& netlink, Messages& messages) {
  const auto answer = netlink.transaction(messages);
  if (!answer) return answer.error();
  if (answer->error == 0) return success();
  return Error{fmt::format("the kernel refused the {}: {}", messages.name(answer->request),
                           describe(*answer))};
}

}  // namespace

Result<bool> ArpMarking::chainHolds() {
  Messages request;
  addArpMessage(request, "ARP chain", NFT_MSG_GETCHAIN, 0, 256, [](nlmsghdr* m) {
    mnl_attr_put_strz(m, NFTA_CHAIN_TABLE, kTableName);
    mnl_attr_put_strz(m, NFTA_CHAIN_NAME, kChain);
  });
  const NftChain wanted = makeChain();
  bool holds = false;
  const Status asked = netlink_.exchange(request, [&](const NetlinkAnswer& answer) {
    holds = answer.reply != nullptr && isChain(answer.reply, wanted.get());
  });
  if (!asked) return asked.error();
  return holds;
}

Result<ArpMarking::Found> ArpMarking::read() {
  Found found;
  Messages request;
  addTable(request, NFT_MSG_GETTABLE, 0);
  const Status asked = netlink_.exchange(request, [&](const NetlinkAnswer& answer) {
    if (answer.reply == nullptr) return;
    found.table = true;
    const NftTable table(nftnl_table_alloc());
    if (!table || nftnl_table_nlmsg_parse(answer.reply, table.get()) < 0) return;
    std::uint32_t length = 0;
    const void* data = nftnl_table_get_data(table.get(), NFTNL_TABLE_USERDATA, &length);
    found.ours = textIn(data, length, NFTNL_UDATA_TABLE_COMMENT) == kComment;
    // Not dormant, and nothing in it but the chain.
    found.structure = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS) == 0 &&
                      nftnl_table_get_u32(table.get(), NFTNL_TABLE_USE) == 1;
  });
  if (!asked) return asked.error();
  if (!found.table) return found;
  const auto chain = chainHolds();
  if (!chain) return chain.error();
  found.structure = found.structure && *chain;
  Messages rules;
  addArpMessage(rules, "ARP rules", NFT_MSG_GETRULE, 0, 256,
                [](nlmsghdr* m) { mnl_attr_put_strz(m, NFTA_RULE_TABLE, kTableName); });
  const auto dump = netlink_.dump(rules);
  if (!dump) return dump.error();
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const NftRule rule(nftnl_rule_alloc());
    if (rule && nftnl_rule_nlmsg_parse(dump->at(i), rule.get()) >= 0)
      found.rules.push_back(contentsOf(rule.get()));
  }
  return found;
}

Result<bool> ArpMarking::converge(const std::set<Address>& addresses, std::uint32_t fwmarkMask) {
  const auto found = read();
  if (!found) return found.error();
  if (found->table && !found->ours)
    return Error{
        "there is an nf_tables table `arp weir` that weir has not made; weir needs this name for "
        "its own: rename or delete the table (nft delete table arp weir)"};
  std::vector<NftRule> rules;
  std::vector<std::string> contents;
  for (const Address& address : addresses) {
    rules.push_back(ruleFor(address, fwmarkMask));
    contents.push_back(contentsOf(rules.back().get()));
  }
  if (!found->table && addresses.empty()) return false;
  if (found->structure && !addresses.empty() && found->rules == contents) return false;
  Messages messages;
  if (found->table) addTable(messages, NFT_MSG_DELTABLE, 0);
  if (!addresses.empty()) {
    addTable(messages, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
    const NftChain chain = makeChain();
    addArpMessage(messages, "nf_tables chain of table arp weir", NFT_MSG_NEWCHAIN, NLM_F_CREATE,
                  512, [&](nlmsghdr* m) { nftnl_chain_nlmsg_build_payload(m, chain.get()); });
    for (const NftRule& rule : rules)
      addArpMessage(messages, "nf_tables rule of table arp weir", NFT_MSG_NEWRULE,
                    NLM_F_CREATE | NLM_F_APPEND, 2048,
                    [&](nlmsghdr* m) { nftnl_rule_nlmsg_build_payload(m, rule.get()); });
  }
  if (Status sent = sendTransaction(netlink_, messages); !sent) return sent.error();
  return true;
}

Status ArpMarking::removeAll() {
  const auto found = read();
  if (!found) return found.error();
  if (!found->table || !found->ours) return success();
  Messages messages;
  addTable(messages, NFT_MSG_DELTABLE, 0);
  return sendTransaction(netlink_, messages);
}

}  // namespace weir::manager
