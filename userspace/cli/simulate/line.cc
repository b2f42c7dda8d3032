// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/line.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace weir::cli {
namespace {

struct Field {
  std::string_view name;
  std::string Line::*value;
};
// In the order in which they are printed.
constexpr std::array<Field, 9> kFields{{{"action", &Line::action},
                                        {"service", &Line::service},
                                        {"forwardingRule", &Line::forwardingRule},
                                        {"route", &Line::route},
                                        {"group", &Line::group},
                                        {"endpoint", &Line::endpoint},
                                        {"connection", &Line::connection},
                                        {"rule", &Line::rule},
                                        {"reason", &Line::reason}}};

}  // namespace

const std::string* Line::field(std::string_view name) const noexcept {
  for (const Field& field : kFields)
    if (field.name == name) return &(this->*field.value);
  return nullptr;
}

void appendJson(const Line& line, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{{\"event\":{},\"at\":{}", line.event, line.at);
  for (const Field& field : kFields) {
    const std::string& value = line.*field.value;
    if (value.empty()) continue;
    out += ",\"";
    out += field.name;
    out += "\":\"";
    out += value;
    out += '"';
  }
  out += "}\n";
}

}  // namespace weir::cli
