// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/dns_name.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }

bool isLabel(std::string_view label) noexcept {
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || isDigit(c) || c == '-' || c == '_';
         });
}

}  // namespace

std::optional<std::string> normalizeDnsName(std::string_view name) {
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  std::string out(name.size(), '\0');
  std::transform(name.begin(), name.end(), out.begin(), lower);

  std::string_view rest = out;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!isLabel(label)) return std::nullopt;
    if (dot != std::string_view::npos) {
      rest.remove_prefix(dot + 1);
      continue;
    }
    if (std::all_of(label.begin(), label.end(), isDigit)) return std::nullopt;
    return out;
  }
}

}  // namespace weir
