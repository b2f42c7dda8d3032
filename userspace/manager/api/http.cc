// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace weir::manager {

namespace {

std::optional<std::string> decode(std::string_view text, bool plusIsSpace) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plusIsSpace) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      unsigned value = 0;
      const char* const digits = text.data() + i + 1;
      if (i + 2 >= text.size()) return std::nullopt;
      const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
      if (error != std::errc{} || end != digits + 2) return std::nullopt;
      out += static_cast<char>(value);
      i += 2;
    }
  }
  return out;
}

// Calls `take` with every part between separators; false as soon as it says so.
template <class Take>
bool split(std::string_view text, char separator, Take take) {
  while (true) {
    const auto end = text.find(separator);
    if (!take(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<HttpTarget> parseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  HttpTarget parsed;
  const auto mark = target.find('?');
  const bool pathFits = split(target.substr(1, mark - 1), '/', [&](std::string_view part) {
    auto segment = decode(part, false);
    if (segment) parsed.path.push_back(std::move(*segment));
    return segment.has_value();
  });
  if (!pathFits) return std::nullopt;
  if (parsed.path.back().empty()) parsed.path.pop_back();
  if (mark == std::string_view::npos) return parsed;
  const bool queryFits = split(target.substr(mark + 1), '&', [&](std::string_view part) {
    if (part.empty()) return true;
    const auto equals = part.find('=');
    auto key = decode(part.substr(0, equals), true);
    auto value =
        equals == std::string_view::npos ? std::string() : decode(part.substr(equals + 1), true);
    if (!key || !value) return false;
    // Which one would count, if it were given twice?
    return parsed.query.emplace(std::move(*key), std::move(*value)).second;
  });
  if (!queryFits) return std::nullopt;
  return parsed;
}

std::string mediaType(std::string_view contentType) {
  std::string type(contentType.substr(0, contentType.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  for (char& c : type)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return type;
}

HttpResponse errorResponse(unsigned status, std::string_view message) {
  const nlohmann::json body{{"error", {{"message", message}}}};
  return {status,
          "application/json",
          body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          {}};
}

}  // namespace weir::manager
