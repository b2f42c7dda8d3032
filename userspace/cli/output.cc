// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output.h"

#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

// Names, addresses and words that no YAML reader takes for a number, a boolean or a structure.
bool isPlain(const std::string& text) {
  if (text.empty() || !((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z')))
    return false;
  for (const char c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.' || c == '/';
    if (!fits) return false;
  }
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    const std::string_view reserved(word);
    if (reserved.size() == text.size() &&
        std::equal(reserved.begin(), reserved.end(), text.begin(), [](char a, char b) {
          return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
        }))
      return false;
  }
  return true;
}

std::string quoted(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string scalar(const Json& value) {
  if (value.is_string() && isPlain(value.get_ref<const std::string&>()))
    return value.get<std::string>();
  return quoted(value);  // JSON's texts, numbers and words are YAML's as well
}

bool isNested(const Json& value) { return value.is_structured() && !value.empty(); }

// `inItem`: the first line goes behind the "- " of a list item.
void write(const Json& value, std::size_t indent, bool inItem, std::string& out) {
  const std::string margin(indent, ' ');
  bool first = true;
  const auto begin = [&] {
    if (!first || !inItem) out += margin;
    first = false;
  };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      begin();
      out += scalar(Json(key)) + ":";
      if (!isNested(member)) {
        out += " " + scalar(member) + "\n";
      } else {
        out += "\n";
        write(member, indent + 2, false, out);
      }
    }
    return;
  }
  for (const Json& item : value) {
    begin();
    out += "- ";
    if (!isNested(item))
      out += scalar(item) + "\n";
    else
      write(item, indent + 2, true, out);
  }
}

}  // namespace

std::string toYaml(const Json& value) {
  if (!isNested(value)) return scalar(value) + "\n";
  std::string out;
  write(value, 0, false, out);
  return out;
}

void printValue(const Json& value, Format format, std::ostream& out) {
  if (format == Format::json)
    out << value.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    out << toYaml(value);
}

std::optional<Format> formatOf(std::string_view word) noexcept {
  if (word == "table") return Format::table;
  if (word == "json") return Format::json;
  if (word == "yaml") return Format::yaml;
  return std::nullopt;
}

}  // namespace weir::cli
