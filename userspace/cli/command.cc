// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command.h"

namespace weir::cli {

const Invocation::Given* Invocation::find(std::string_view name) const {
  for (auto given = given_.rbegin(); given != given_.rend(); ++given)
    if (given->flag->name == name) return &*given;
  return nullptr;
}

std::string Invocation::text(std::string_view name, std::string otherwise) const {
  const Given* given = find(name);
  return given == nullptr ? std::move(otherwise) : given->text;
}

std::optional<std::uint64_t> Invocation::number(std::string_view name) const {
  const Given* given = find(name);
  if (given == nullptr || !given->value.is_number_unsigned()) return std::nullopt;
  return given->value.get<std::uint64_t>();
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

}  // namespace weir::cli
