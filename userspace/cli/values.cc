// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "config/words.h"
#include "weir/address.h"

namespace weir::cli {

namespace {

// The whole text, or nothing.
template <class Number>
std::optional<Number> parseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> parseWhole(std::string_view text) {
  // from_chars reads nothing but digits into an unsigned number.
  return parseNumber<std::uint64_t>(text);
}

std::optional<double> parseDecimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  return parseNumber<double>(text);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string upperWord(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return out;
}

// A word that is none of the choices goes to the manager as it was typed, which names it then.
std::string readWord(const Flag& flag, const std::string& text) {
  const std::string word = upperWord(text);
  const bool known =
      flag.choices.empty() || std::ranges::find(flag.choices, word) != flag.choices.end();
  return known ? word : text;
}

Error mustBe(const Flag& flag, std::string_view allowed, std::string_view text) {
  return Error{fmt::format("{} must be {}, not {}", flag.name, allowed, config::quote(text))};
}

Result<Json> readNames(const Flag& flag, const std::string& text) {
  Json list = Json::array();
  for (std::string& name : split(text, ',')) {
    if (name.empty())
      return Error{
          fmt::format("{}: an empty item in {}; write a,b,c", flag.name, config::quote(text))};
    list.push_back(std::move(name));
  }
  return list;
}

// Exactly one of the three port fields of a rule; the others go.
Result<Json> readPorts(const Flag& flag, const std::string& text) {
  Json fields{{"ports", nullptr}, {"portRange", nullptr}, {"allPorts", nullptr}};
  if (upperWord(text) == "ALL") {
    fields["allPorts"] = true;
  } else if (text.find('-') != std::string::npos && text.find(',') == std::string::npos) {
    fields["portRange"] = text;
  } else {
    fields["ports"] = Json::array();
    for (const std::string& item : split(text, ',')) {
      const auto port = parseWhole(item);
      if (!port || *port > 65535) return mustBe(flag, allowedText(Value::ports), text);
      fields["ports"].push_back(*port);
    }
  }
  return fields;
}

struct Member {
  std::string_view key;
  std::string_view field;
  bool isNumber;
};

// key=value,key=value as an object of the fields that the keys stand for.
Result<Json> readMembers(const Flag& flag, const std::string& text,
                         std::span<const Member> members) {
  std::vector<std::string> keys;
  for (const Member& member : members) keys.emplace_back(member.key);
  Json object = Json::object();
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const Member* found = nullptr;
    for (const Member& member : members)
      if (member.key == key) found = &member;
    if (found == nullptr)
      return Error{fmt::format("{}: unknown key {}{}; allowed are {}", flag.name,
                               config::quote(key), config::didYouMean(key, keys),
                               config::join(keys, "and"))};
    if (equals == std::string::npos || equals + 1 == item.size())
      return Error{fmt::format("{}: {} needs a value: {}=...", flag.name, key, key)};
    if (object.contains(found->field))
      return Error{fmt::format("{}: {} is given twice", flag.name, key)};
    const std::string value = item.substr(equals + 1);
    if (!found->isNumber) {
      object[found->field] = value;
    } else if (const auto number = parseWhole(value)) {
      object[found->field] = *number;
    } else {
      return Error{fmt::format("{}: {} must be a whole number, not {}", flag.name, key,
                               config::quote(value))};
    }
  }
  return object;
}

Result<Json> readEndpoint(const Flag& flag, const std::string& text) {
  static constexpr std::array<Member, 6> kMembers{{{"ip", "ipAddress", false},
                                                   {"ipv6", "ipv6Address", false},
                                                   {"port", "port", true},
                                                   {"fqdn", "fqdn", false},
                                                   {"instance", "instance", false},
                                                   {"weight", "weight", true}}};
  auto endpoint = readMembers(flag, text, kMembers);
  if (!endpoint) return endpoint;
  // `ip` takes either family, as gcloud's does.
  const auto found = endpoint->find("ipAddress");
  if (found == endpoint->end()) return endpoint;
  const auto address = Address::parse(found->get<std::string>());
  if (!address)
    return Error{fmt::format("{}: ip must be an address, not {}", flag.name,
                             config::quote(found->get<std::string>()))};
  Json out = Json::object();
  for (const auto& [key, value] : endpoint->items())
    out[key == "ipAddress" && !address->isIpv4() ? "ipv6Address" : key] = value;
  return out;
}

Result<Json> readFlow(const Flag& flag, const std::string& text) {
  static constexpr std::array<Member, 5> kMembers{{{"src", "src", false},
                                                   {"dst", "dst", false},
                                                   {"proto", "proto", false},
                                                   {"sport", "sport", true},
                                                   {"dport", "dport", true}}};
  return readMembers(flag, text, kMembers);
}

}  // namespace

std::string_view allowedText(Value type) noexcept {
  switch (type) {
    case Value::on:
    case Value::onOff:
    case Value::offOn:
    case Value::reset:
    case Value::text:
    case Value::word:
      return "";
    case Value::number:
      return "a whole number";
    case Value::decimal:
      return "a number such as 0.5";
    case Value::seconds:
      return "a duration such as 30s, 5m, 1h30m, or a whole number of seconds";
    case Value::names:
      return "a list such as a,b";
    case Value::ports:
      return "ports such as 80,443, a range such as 8000-8999, or ALL";
    case Value::endpoint:
      return "an endpoint such as ip=10.0.0.1,port=80";
    case Value::flow:
      return "a packet such as src=10.9.9.9,dst=10.1.0.7,proto=TCP,sport=80,dport=40000";
  }
  return "";
}

std::optional<std::uint64_t> parseSeconds(std::string_view text) {
  constexpr std::uint64_t kMost = 1ull << 40;
  std::uint64_t total = 0;
  std::uint64_t lastUnit = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parseWhole(text.substr(0, digits));
    if (!number || *number > kMost) return std::nullopt;
    text.remove_prefix(digits);
    std::uint64_t unit = 1;
    if (text.empty()) {
      if (lastUnit != std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    } else {
      switch (text.front()) {
        case 's':
          break;
        case 'm':
          unit = 60;
          break;
        case 'h':
          unit = 3600;
          break;
        case 'd':
          unit = 86400;
          break;
        default:  // any other character
          return std::nullopt;
      }
      text.remove_prefix(1);
    }
    if (unit >= lastUnit) return std::nullopt;
    lastUnit = unit;
    total += *number * unit;
  }
  return total;
}

Json switchValue(Value type, bool negated) {
  if (type == Value::reset) return nullptr;
  return (type == Value::offOn) == negated;
}

Result<Json> readValue(const Flag& flag, const std::string& text) {
  // An unset variable in a script must not become "all" or "none".
  if (text.empty()) return Error{fmt::format("{} must not be empty", flag.name)};
  switch (flag.type) {
    case Value::on:
    case Value::onOff:
    case Value::offOn:
    case Value::reset:
      return switchValue(flag.type, false);
    case Value::text:
      return Json(text);
    case Value::word:
      return Json(readWord(flag, text));
    case Value::number:
      if (const auto number = parseWhole(text)) return Json(*number);
      return mustBe(flag, allowedText(flag.type), text);
    case Value::decimal:
      if (const auto whole = parseWhole(text)) return Json(*whole);
      if (const auto number = parseDecimal(text)) return Json(*number);
      return mustBe(flag, allowedText(flag.type), text);
    case Value::seconds:
      if (const auto seconds = parseSeconds(text)) return Json(*seconds);
      return mustBe(flag, allowedText(flag.type), text);
    case Value::names:
      return readNames(flag, text);
    case Value::ports:
      return readPorts(flag, text);
    case Value::endpoint:
      return readEndpoint(flag, text);
    case Value::flow:
      return readFlow(flag, text);
  }
  return Json(text);
}

}  // namespace weir::cli
