// SPDX-License-Identifier: GPL-2.0-or-later
//
// Builds an nf_tables rule expression by expression. Everything goes through the first register.
#pragma once

#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/udata.h>
#include <linux/netfilter/nf_tables.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace weir::manager {

// NF_ACCEPT, whose header does not go with the C library's.
inline constexpr std::uint32_t kVerdictAccept = 1;

template <auto Free>
struct NftnlDeleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using NftRule = std::unique_ptr<nftnl_rule, NftnlDeleter<nftnl_rule_free>>;

template <class Owner>
Owner owned(typename Owner::pointer object) {
  if (object == nullptr) throw std::bad_alloc();
  return Owner(object);
}

// One attribute of what nft keeps beside an object, for display and for us.
class UserData {
 public:
  UserData(std::uint8_t type, const std::string& text) : UserData() {
    nftnl_udata_put_strz(buffer_.get(), type, text.c_str());
  }
  UserData(std::uint8_t type, std::uint32_t number) : UserData() {
    nftnl_udata_put_u32(buffer_.get(), type, number);
  }
  void* bytes() const { return nftnl_udata_buf_data(buffer_.get()); }
  std::uint32_t size() const { return nftnl_udata_buf_len(buffer_.get()); }

 private:
  using Buffer = std::unique_ptr<nftnl_udata_buf, NftnlDeleter<nftnl_udata_buf_free>>;
  UserData() : buffer_(owned<Buffer>(nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN))) {}
  Buffer buffer_;
};

// The text attribute of this type; empty: none.
std::string textIn(const void* userData, std::uint32_t length, std::uint8_t type);
// The comment of a rule.
std::string commentOf(const nftnl_rule*);

// What identifies a rule to a reader: its chain, its comment, which names every parameter, and the
// names of its expressions in order.
std::string fingerprint(nftnl_rule*);
// What a rule says to the kernel, alike for one that was built here and for its dump: the
// fingerprint and every value of every expression. Zero and absent are the same, since dumps tell
// flags that nobody asked for as zero.
std::string contentsOf(nftnl_rule*);

// `Self` derives from it and adds what is its own; every function returns it.
template <class Self>
class RuleExpressions {
 public:
  // `family`: NFPROTO_*.
  RuleExpressions(std::uint32_t family, const char* table, const char* chain)
      : rule_(owned<NftRule>(nftnl_rule_alloc())) {
    nftnl_rule_set_u32(rule_.get(), NFTNL_RULE_FAMILY, family);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, table);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain);
  }

  Self& meta(std::uint32_t key) {
    nftnl_expr* e = add("meta");
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
    return self();
  }
  Self& setMark() {
    nftnl_expr* e = add("meta");
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_MARK);
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_SREG, NFT_REG_1);
    return self();
  }
  // The bits of `mask` become those of `mark`, the others stay.
  Self& mark(std::uint32_t mark, std::uint32_t mask) {
    return meta(NFT_META_MARK).bitAnd(~mask, mark).setMark();
  }
  Self& bitAnd(std::uint32_t mask, std::uint32_t thenXor = 0) {
    nftnl_expr* e = add("bitwise");
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, sizeof mask);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof mask);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &thenXor, sizeof thenXor);
    return self();
  }
  template <class T>
  Self& compare(std::uint32_t operation, T value) {
    nftnl_expr* e = add("cmp");
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, operation);
    nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, &value, sizeof value);
    return self();
  }
  Self& payload(std::uint32_t base, std::uint32_t offset, std::size_t length,
                std::uint32_t target = NFT_REG_1) {
    nftnl_expr* e = add("payload");
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, static_cast<std::uint32_t>(length));
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, target);
    return self();
  }
  // What the first register holds.
  Self& in(const char* set) {
    nftnl_expr* e = add("lookup");
    nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
    nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
    return self();
  }
  Self& accept() {
    verdict(kVerdictAccept);
    return self();
  }
  Self& jump(const char* chain) {
    nftnl_expr_set_str(verdict(static_cast<std::uint32_t>(NFT_JUMP)), NFTNL_EXPR_IMM_CHAIN, chain);
    return self();
  }
  NftRule done(const std::string& comment) {
    const UserData data(NFTNL_UDATA_RULE_COMMENT, comment);
    nftnl_rule_set_data(rule_.get(), NFTNL_RULE_USERDATA, data.bytes(), data.size());
    return std::move(rule_);
  }

 protected:
  nftnl_expr* add(const char* name) {
    nftnl_expr* expression = nftnl_expr_alloc(name);
    if (expression == nullptr) throw std::bad_alloc();
    nftnl_rule_add_expr(rule_.get(), expression);
    return expression;
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  nftnl_expr* verdict(std::uint32_t code) {
    nftnl_expr* e = add("immediate");
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, code);
    return e;
  }

  NftRule rule_;
};

}  // namespace weir::manager
