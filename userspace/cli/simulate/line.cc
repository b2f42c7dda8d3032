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

// Always with a fraction or an exponent, so that readers take it for a real number.
std::string real(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void appendLoad(const Line::Load& load, std::string& out) {
  out += ",\"groups\":{";
  const char* comma = "";
  for (const Line::Group& group : load.groups) {
    fmt::format_to(std::back_inserter(out),
                   "{}\"{}\":{{\"connections\":{},\"capacity\":{},\"usable\":{},\"fill\":{},"
                   "\"drained\":{}}}",
                   comma, group.name, real(group.connections), real(group.capacity),
                   real(group.usable), real(group.fill), group.drained);
    comma = ",";
  }
  fmt::format_to(std::back_inserter(out), "}},\"unserved\":{}", real(load.unserved));
}

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
  if (line.load) appendLoad(*line.load, out);
  out += "}\n";
}

}  // namespace weir::cli
