// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/rule_expressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace weir::manager {
namespace {

// libnftnl keeps what is set in the bits of a word.
constexpr std::uint16_t kAttributeLimit = 31;

// Of an expression; the two forms of a queue have one name.
std::string_view nameOf(const nftnl_expr* expression) {
  const std::string_view name = nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);
  return name == "target" ? "queue" : name;
}

// `describe(expression, into)` for every expression, after the rule's chain and comment.
template <class Describe>
std::string describeRule(nftnl_rule* rule, Describe describe) {
  std::string result = nftnl_rule_get_str(rule, NFTNL_RULE_CHAIN);
  result += ": " + commentOf(rule) + ":";
  std::pair<std::string*, Describe*> out(&result, &describe);
  nftnl_expr_foreach(
      rule,
      [](nftnl_expr* expression, void* data) {
        const auto& [into, visit] = *static_cast<std::pair<std::string*, Describe*>*>(data);
        into->append(" ");
        (*visit)(expression, *into);
        return 0;
      },
      &out);
  return result;
}

}  // namespace

std::string textIn(const void* userData, std::uint32_t length, std::uint8_t type) {
  struct Wanted {
    std::uint8_t type;
    std::string text;
  } wanted{type, {}};
  if (userData == nullptr) return {};
  const auto visit = [](const nftnl_udata* attribute, void* out) {
    auto* into = static_cast<Wanted*>(out);
    if (nftnl_udata_type(attribute) != into->type) return 0;
    const auto* text = static_cast<const char*>(nftnl_udata_get(attribute));
    into->text.assign(text, ::strnlen(text, nftnl_udata_len(attribute)));
    return 0;
  };
  nftnl_udata_parse(userData, length, visit, &wanted);
  return wanted.text;
}

std::string commentOf(const nftnl_rule* rule) {
  std::uint32_t length = 0;
  const void* data = nftnl_rule_get_data(rule, NFTNL_RULE_USERDATA, &length);
  return textIn(data, length, NFTNL_UDATA_RULE_COMMENT);
}

std::string fingerprint(nftnl_rule* rule) {
  return describeRule(
      rule, [](const nftnl_expr* expression, std::string& into) { into += nameOf(expression); });
}

std::string contentsOf(nftnl_rule* rule) {
  return describeRule(rule, [](const nftnl_expr* expression, std::string& into) {
    into += nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);
    for (std::uint16_t type = NFTNL_EXPR_BASE; type < kAttributeLimit; ++type) {
      if (!nftnl_expr_is_set(expression, type)) continue;
      std::uint32_t length = 0;
      const auto* value =
          static_cast<const std::uint8_t*>(nftnl_expr_get(expression, type, &length));
      const std::span<const std::uint8_t> bytes(value, value == nullptr ? 0 : length);
      if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; })) continue;
      into += fmt::format(" {}={:02x}", type, fmt::join(bytes, ""));
    }
  });
}

}  // namespace weir::manager
