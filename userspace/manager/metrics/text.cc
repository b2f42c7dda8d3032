// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/text.h"

#include <fmt/format.h>

#include <iterator>

namespace weir::manager {

namespace {

void appendEscaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, std::string_view type,
                                 std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  return *this;
}

MetricsText& MetricsText::sample(std::initializer_list<Label> labels, double value) {
  text_ += name_;
  if (labels.size() != 0) {
    text_ += '{';
    bool first = true;
    for (const auto& [key, labelValue] : labels) {
      if (!std::exchange(first, false)) text_ += ',';
      text_ += key;
      text_ += "=\"";
      appendEscaped(text_, labelValue);
      text_ += '"';
    }
    text_ += '}';
  }
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
  return *this;
}

}  // namespace weir::manager
