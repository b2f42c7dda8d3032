// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/rule_expressions.h"

#include <cstring>

namespace weir::manager {

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

}  // namespace weir::manager
