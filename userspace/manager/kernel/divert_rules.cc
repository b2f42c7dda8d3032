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

#include <cstdlib>
#include <cstring>
#include <new>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

// nft's numbers of data types, for display only.
constexpr std::uint32_t kTypeIpv4Address = 7;
constexpr std::uint32_t kTypeIpv6Address = 8;

constexpr std::uint8_t kNeighbourDiscoveryFirst = 133;  // router solicitation
constexpr std::uint8_t kNeighbourDiscoveryLast = 137;   // redirect

template <class Owner>
Owner owned(typename Owner::pointer object) {
  if (object == nullptr) throw std::bad_alloc();
  return Owner(object);
}

// Appends expressions to one rule.
class RuleBuilder {
 public:
  explicit RuleBuilder(Family family) : family_(family), rule_(owned<NftRule>(nftnl_rule_alloc())) {
    nftnl_rule_set_u32(rule_.get(), NFTNL_RULE_FAMILY, addressFamily(family));
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, kTableName);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, kChainName);
  }

  RuleBuilder& meta(std::uint32_t key) {
    nftnl_expr* e = add("meta");
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
    return *this;
  }
  RuleBuilder& bitAnd(std::uint32_t mask) {
    const std::uint32_t zero = 0;
    nftnl_expr* e = add("bitwise");
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, sizeof mask);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof mask);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &zero, sizeof zero);
    return *this;
  }
  template <class T>
  RuleBuilder& compare(std::uint32_t operation, T value) {
    nftnl_expr* e = add("cmp");
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, operation);
    nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, &value, sizeof value);
    return *this;
  }
  RuleBuilder& payload(std::uint32_t base, std::uint32_t offset, std::size_t length) {
    nftnl_expr* e = add("payload");
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, static_cast<std::uint32_t>(length));
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    return *this;
  }
  RuleBuilder& destinationIn(const char* set) {
    payload(NFT_PAYLOAD_NETWORK_HEADER, family_ == Family::ipv4 ? 16 : 24, addressLength(family_));
    nftnl_expr* e = add("lookup");
    nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
    nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
    return *this;
  }
  RuleBuilder& destinationIsForwarded() {
    nftnl_expr* e = add("fib");
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
    nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_DREG, NFT_REG_1);
    for (const std::uint32_t type : {RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST})
      compare(NFT_CMP_NEQ, type);
    return *this;
  }
  RuleBuilder& accept() {
    nftnl_expr* e = add("immediate");
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
    return *this;
  }
  RuleBuilder& queue(const DivertParameters& parameters, QueueForm form) {
    add("notrack");
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
  NftRule done(const std::string& comment) {
    nftnl_udata_buf* buffer = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
    if (buffer == nullptr) throw std::bad_alloc();
    nftnl_udata_put_strz(buffer, NFTNL_UDATA_RULE_COMMENT, comment.c_str());
    nftnl_rule_set_data(rule_.get(), NFTNL_RULE_USERDATA, nftnl_udata_buf_data(buffer),
                        nftnl_udata_buf_len(buffer));
    nftnl_udata_buf_free(buffer);
    return std::move(rule_);
  }

 private:
  nftnl_expr* add(const char* name) {
    nftnl_expr* expression = nftnl_expr_alloc(name);
    if (expression == nullptr) throw std::bad_alloc();
    nftnl_rule_add_expr(rule_.get(), expression);
    return expression;
  }

  Family family_;
  NftRule rule_;
};

std::string commentOf(const nftnl_rule* rule) {
  std::uint32_t length = 0;
  const void* data = nftnl_rule_get_data(rule, NFTNL_RULE_USERDATA, &length);
  std::string comment;
  if (data == nullptr) return comment;
  const auto visit = [](const nftnl_udata* attribute, void* out) {
    if (nftnl_udata_type(attribute) != NFTNL_UDATA_RULE_COMMENT) return 0;
    const auto* text = static_cast<const char*>(nftnl_udata_get(attribute));
    static_cast<std::string*>(out)->assign(text, ::strnlen(text, nftnl_udata_len(attribute)));
    return 0;
  };
  nftnl_udata_parse(data, length, visit, &comment);
  return comment;
}

}  // namespace

NftTable makeTable(Family family) {
  auto table = owned<NftTable>(nftnl_table_alloc());
  nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, addressFamily(family));
  nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTableName);
  return table;
}

NftChain makeChain(Family family) {
  auto chain = owned<NftChain>(nftnl_chain_alloc());
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_FAMILY, addressFamily(family));
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, kTableName);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, kChainName);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, NF_INET_PRE_ROUTING);
  nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, kChainPriority);
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
  return chain;
}

NftSet makeSet(Family family, bool ranges) {
  auto set = owned<NftSet>(nftnl_set_alloc());
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, addressFamily(family));
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, kTableName);
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, ranges ? kRangeSet : kAddressSet);
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, ranges ? 2 : 1);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, ranges ? NFT_SET_INTERVAL : 0);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE,
                    family == Family::ipv4 ? kTypeIpv4Address : kTypeIpv6Address);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN,
                    static_cast<std::uint32_t>(addressLength(family)));
  return set;
}

std::vector<NftRule> makeRules(Family family, const DivertParameters& parameters, QueueForm form) {
  const std::string queues = fmt::format("to queues {}-{}", parameters.queueBase,
                                         parameters.queueBase + parameters.queues - 1);
  std::vector<NftRule> rules;
  rules.push_back(RuleBuilder(family)
                      .meta(NFT_META_MARK)
                      .bitAnd(parameters.fwmarkMask)
                      .compare(NFT_CMP_NEQ, std::uint32_t{0})
                      .accept()
                      .done(fmt::format("decided, mask {:#010x}", parameters.fwmarkMask)));
  if (family == Family::ipv6) {
    rules.push_back(RuleBuilder(family)
                        .meta(NFT_META_L4PROTO)
                        .compare(NFT_CMP_EQ, static_cast<std::uint8_t>(Protocol::icmpv6))
                        .payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1)
                        .compare(NFT_CMP_GTE, kNeighbourDiscoveryFirst)
                        .compare(NFT_CMP_LTE, kNeighbourDiscoveryLast)
                        .accept()
                        .done("neighbour discovery"));
  }
  rules.push_back(RuleBuilder(family)
                      .destinationIn(kAddressSet)
                      .queue(parameters, form)
                      .done("virtual addresses " + queues));
  rules.push_back(RuleBuilder(family)
                      .destinationIn(kRangeSet)
                      .destinationIsForwarded()
                      .queue(parameters, form)
                      .done("routes " + queues));
  return rules;
}

std::string fingerprint(nftnl_rule* rule) {
  std::string result = commentOf(rule) + ":";
  nftnl_expr_foreach(
      rule,
      [](nftnl_expr* expression, void* out) {
        std::string_view name = nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);
        if (name == "target") name = "queue";
        static_cast<std::string*>(out)->append(" ").append(name);
        return 0;
      },
      &result);
  return result;
}

}  // namespace weir::manager
