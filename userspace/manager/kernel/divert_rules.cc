// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/divert_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libnftnl/expr.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/x_tables.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

// nft's numbers of data types, for display only.
constexpr std::uint32_t kTypeIpv4Address = 7;
constexpr std::uint32_t kTypeIpv6Address = 8;
constexpr std::uint32_t kTypeMacAddress = 9;
constexpr std::uint32_t kTypeMark = 19;
constexpr std::uint32_t kTypeInterface = 20;
constexpr unsigned kBitsPerConcatenatedType = 6;

// A comment of weir's: this, then the numbers of its run, then those of earlier ones whose rules
// and routes have not been removed yet.
constexpr std::string_view kCommentBegin = "weir-manager: ";
constexpr std::string_view kCommentSeparator = "; before: ";
constexpr char kNumbersFormat[] = "rules %u, tables %u, protocol %hhu%n";
// What fits into the user data of a table.
constexpr std::size_t kFormerNamed = 3;

constexpr std::uint8_t kNeighbourDiscoveryFirst = 133;  // router solicitation
constexpr std::uint8_t kNeighbourSolicitation = 135;
constexpr std::uint8_t kNeighbourDiscoveryLast = 137;  // redirect

// What the diversion's rules compare and do.
class RuleBuilder : public RuleExpressions<RuleBuilder> {
 public:
  RuleBuilder(Family family, const char* chain)
      : RuleExpressions(addressFamily(family), kTableName, chain), family_(family) {}

  RuleBuilder& in(DivertSet set) { return RuleExpressions::in(nameOf(set)); }
  RuleBuilder& destinationIn(DivertSet set) {
    payload(NFT_PAYLOAD_NETWORK_HEADER, family_ == Family::ipv4 ? 16 : 24, addressLength(family_));
    return in(set);
  }
  RuleBuilder& comesFromAppliance() {
    constexpr std::uint32_t kSourceOffset = 6;
    // Other links have no such header, or another one.
    meta(NFT_META_IIFTYPE).compare(NFT_CMP_EQ, std::uint16_t{ARPHRD_ETHER});
    // Beside the interface, whose four bytes are the beginning of the first register.
    meta(NFT_META_IIF).payload(NFT_PAYLOAD_LL_HEADER, kSourceOffset, 6, NFT_REG32_01);
    return in(DivertSet::appliances);
  }
  RuleBuilder& comesOverApplianceLink() { return meta(NFT_META_IIF).in(DivertSet::applianceLinks); }
  RuleBuilder& destinationIsForwarded() {
    nftnl_expr* e = add("fib");
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_DREG, NFT_REG_1);
    for (const std::uint32_t type : {RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST})
      compare(NFT_CMP_NEQ, type);
    return *this;
  }
  // To the queues, or to the fallback in their place.
  RuleBuilder& take(const DivertParameters& parameters, QueueForm form) {
    add("notrack");
    if (parameters.fallback)
      return mark(fallbackMark(parameters.fwmarkMask).value(), parameters.fwmarkMask);
    switch (form) {
      case QueueForm::native: {
        nftnl_expr* e = add("queue");
        nftnl_expr_set_u16(e, NFTNL_EXPR_QUEUE_NUM, parameters.queueBase);
        nftnl_expr_set_u16(e, NFTNL_EXPR_QUEUE_TOTAL, parameters.queues);
        break;
      }
      case QueueForm::compat: {
        // libnftnl frees the block with the expression; its size is what XT_ALIGN makes of it.
        constexpr std::size_t kSize = XT_ALIGN(sizeof(xt_NFQ_info_v3));
        auto* info = static_cast<xt_NFQ_info_v3*>(std::calloc(1, kSize));
        if (info == nullptr) throw std::bad_alloc();
        info->queuenum = parameters.queueBase;
        info->queues_total = parameters.queues;
        nftnl_expr* e = add("target");
        nftnl_expr_set_str(e, NFTNL_EXPR_TG_NAME, "NFQUEUE");
        nftnl_expr_set_u32(e, NFTNL_EXPR_TG_REV, 3);
        nftnl_expr_set(e, NFTNL_EXPR_TG_INFO, info, kSize);
        break;
      }
    }
    return *this;
  }

 private:
  Family family_;
};

}  // namespace

const char* nameOf(DivertSet set) noexcept {
  switch (set) {
    case DivertSet::addresses:
      return "addresses";
    case DivertSet::ranges:
      return "ranges";
    case DivertSet::appliances:
      return "appliances";
    case DivertSet::applianceLinks:
      return "appliance_links";
    case DivertSet::applianceMarks:
      return "appliance_marks";
  }
  return "?";
}

std::uint32_t keyLength(DivertSet set, Family family) noexcept {
  switch (set) {
    case DivertSet::addresses:
    case DivertSet::ranges:
      return static_cast<std::uint32_t>(addressLength(family));
    case DivertSet::appliances:
      return 4 + 8;  // each part fills whole words
    case DivertSet::applianceLinks:
    case DivertSet::applianceMarks:
      return 4;
  }
  return 0;
}

NftTable makeTable(Family family, const std::vector<RoutingOwnership>& owners) {
  auto table = owned<NftTable>(nftnl_table_alloc());
  nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, addressFamily(family));
  nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTableName);
  if (owners.empty()) return table;
  std::string comment(kCommentBegin);
  for (std::size_t i = 0; i < owners.size(); ++i)
    comment += fmt::format("{}rules {}, tables {}, protocol {}", i == 0 ? "" : kCommentSeparator,
                           owners[i].ruleBase, owners[i].tableBase, owners[i].routeProtocol);
  const UserData data(NFTNL_UDATA_TABLE_COMMENT, comment);
  nftnl_table_set_data(table.get(), NFTNL_TABLE_USERDATA, data.bytes(), data.size());
  return table;
}

std::vector<RoutingOwnership> ownersOf(const RoutingOwnership& own,
                                       std::span<const RoutingOwnership> former) {
  std::vector<RoutingOwnership> owners{own};
  // The newest are the last.
  for (const RoutingOwnership& other : former.last(std::min(former.size(), kFormerNamed)))
    owners.push_back(other);
  return owners;
}

std::vector<RoutingOwnership> ownersIn(const nftnl_table* table) {
  std::uint32_t length = 0;
  const void* data = nftnl_table_get_data(table, NFTNL_TABLE_USERDATA, &length);
  const std::string comment = textIn(data, length, NFTNL_UDATA_TABLE_COMMENT);
  std::vector<RoutingOwnership> owners;
  if (!comment.starts_with(kCommentBegin)) return owners;
  std::size_t at = kCommentBegin.size();
  for (;;) {
    RoutingOwnership own;
    int read = 0;
    if (std::sscanf(comment.c_str() + at, kNumbersFormat, &own.ruleBase, &own.tableBase,
                    &own.routeProtocol, &read) != 3)
      return {};
    owners.push_back(own);
    at += static_cast<std::size_t>(read);
    if (at == comment.size()) return owners;
    if (comment.compare(at, kCommentSeparator.size(), kCommentSeparator) != 0) return {};
    at += kCommentSeparator.size();
  }
}

std::vector<NftChain> makeChains(Family family, const DivertParameters& parameters) {
  const auto make = [family](const char* name, std::optional<std::int32_t> priority) {
    auto chain = owned<NftChain>(nftnl_chain_alloc());
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_FAMILY, addressFamily(family));
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, kTableName);
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name);
    if (!priority) return chain;
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, NF_INET_PRE_ROUTING);
    nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, *priority);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
    return chain;
  };
  std::vector<NftChain> chains;
  // Before those that jump to it.
  chains.push_back(make(kRoutesChainName, std::nullopt));
  chains.push_back(make(kChainName, kChainPriority));
  if (parameters.overlap) chains.push_back(make(kReturnedChainName, kChainPriority + 1));
  return chains;
}

bool isChain(const nlmsghdr* dumped, const nftnl_chain* wanted) {
  const NftChain chain(nftnl_chain_alloc());
  if (!chain || nftnl_chain_nlmsg_parse(dumped, chain.get()) < 0) return false;
  if (nftnl_chain_is_set(chain.get(), NFTNL_CHAIN_HOOKNUM) !=
      nftnl_chain_is_set(wanted, NFTNL_CHAIN_HOOKNUM))
    return false;
  for (const std::uint16_t field : {NFTNL_CHAIN_HOOKNUM, NFTNL_CHAIN_PRIO, NFTNL_CHAIN_POLICY})
    if (nftnl_chain_is_set(wanted, field) &&
        nftnl_chain_get_u32(chain.get(), field) != nftnl_chain_get_u32(wanted, field))
      return false;
  return true;
}

NftSet makeSet(Family family, DivertSet which) {
  const auto type = [&]() -> std::uint32_t {
    switch (which) {
      case DivertSet::addresses:
      case DivertSet::ranges:
        return family == Family::ipv4 ? kTypeIpv4Address : kTypeIpv6Address;
      case DivertSet::appliances:
        return kTypeInterface << kBitsPerConcatenatedType | kTypeMacAddress;
      case DivertSet::applianceLinks:
        return kTypeInterface;
      case DivertSet::applianceMarks:
        return kTypeMark;
    }
    return 0;
  };
  auto set = owned<NftSet>(nftnl_set_alloc());
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, addressFamily(family));
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, kTableName);
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, nameOf(which));
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, static_cast<std::uint32_t>(which) + 1);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, which == DivertSet::ranges ? NFT_SET_INTERVAL : 0);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, type());
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, keyLength(which, family));
  if (which == DivertSet::applianceLinks || which == DivertSet::applianceMarks) {
    // For display only: numbers in the machine's own byte order.
    constexpr std::uint32_t kHostEndian = 1;
    const UserData data(NFTNL_UDATA_SET_KEYBYTEORDER, kHostEndian);
    nftnl_set_set_data(set.get(), NFTNL_SET_USERDATA, data.bytes(), data.size());
  }
  return set;
}

std::vector<NftRule> makeRules(Family family, const DivertParameters& parameters, QueueForm form) {
  const std::uint32_t mask = parameters.fwmarkMask;
  const std::string queues =
      parameters.fallback
          ? fmt::format("to the fallback, mark {:#010x}", fallbackMark(mask).value())
          : fmt::format("to queues {}-{}", parameters.queueBase,
                        parameters.queueBase + parameters.queues - 1);
  std::vector<NftRule> rules;
  const auto processed = [&](const std::string& how) { return "processed, known by its " + how; };
  rules.push_back(RuleBuilder(family, kRoutesChainName)
                      .comesFromAppliance()
                      .accept()
                      .done(processed("source")));
  rules.push_back(RuleBuilder(family, kRoutesChainName)
                      .comesOverApplianceLink()
                      .accept()
                      .done(processed("interface")));
  rules.push_back(RuleBuilder(family, kRoutesChainName)
                      .destinationIsForwarded()
                      .take(parameters, form)
                      .done("routes " + queues));
  rules.push_back(RuleBuilder(family, kChainName)
                      .meta(NFT_META_MARK)
                      .bitAnd(mask)
                      .compare(NFT_CMP_NEQ, std::uint32_t{0})
                      .accept()
                      .done(fmt::format("decided, mask {:#010x}", mask)));
  if (family == Family::ipv6) {
    const std::uint32_t toThisHost = neighbourMark(mask).value();
    rules.push_back(RuleBuilder(family, kChainName)
                        .destinationIn(DivertSet::addresses)
                        .meta(NFT_META_L4PROTO)
                        .compare(NFT_CMP_EQ, static_cast<std::uint8_t>(Protocol::icmpv6))
                        .payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1)
                        .compare(NFT_CMP_EQ, kNeighbourSolicitation)
                        .mark(toThisHost, mask)
                        .done(fmt::format("neighbour solicitations, mark {:#010x}", toThisHost)));
    rules.push_back(RuleBuilder(family, kChainName)
                        .meta(NFT_META_L4PROTO)
                        .compare(NFT_CMP_EQ, static_cast<std::uint8_t>(Protocol::icmpv6))
                        .payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1)
                        .compare(NFT_CMP_GTE, kNeighbourDiscoveryFirst)
                        .compare(NFT_CMP_LTE, kNeighbourDiscoveryLast)
                        .accept()
                        .done("neighbour discovery"));
  }
  rules.push_back(RuleBuilder(family, kChainName)
                      .destinationIn(DivertSet::addresses)
                      .take(parameters, form)
                      .done("virtual addresses " + queues));
  rules.push_back(RuleBuilder(family, kChainName)
                      .destinationIn(DivertSet::ranges)
                      .jump(kRoutesChainName)
                      .done("destinations of routes"));
  if (!parameters.overlap) return rules;
  rules.push_back(RuleBuilder(family, kReturnedChainName)
                      .meta(NFT_META_MARK)
                      .bitAnd(mask)
                      .compare(NFT_CMP_EQ, std::uint32_t{0})
                      .accept()
                      .done(fmt::format("not decided, mask {:#010x}", mask)));
  for (const bool bySource : {true, false}) {
    RuleBuilder rule(family, kReturnedChainName);
    rule.destinationIn(DivertSet::addresses)
        .meta(NFT_META_MARK)
        .bitAnd(mask)
        .in(DivertSet::applianceMarks);
    if (bySource)
      rule.comesFromAppliance();
    else
      rule.comesOverApplianceLink();
    rules.push_back(rule.meta(NFT_META_MARK)
                        .bitAnd(~mask)
                        .setMark()
                        .done(processed(bySource ? "source" : "interface")));
  }
  return rules;
}

}  // namespace weir::manager
