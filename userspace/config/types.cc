// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/types.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "weir/host_address.h"

namespace weir::config {
namespace {

constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool isLower(char c) noexcept { return c >= 'a' && c <= 'z'; }

std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// Digits without a leading zero.
bool isCount(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), isDigit) &&
         (text.size() == 1 || text[0] != '0');
}

// The whole of `text` as a number in base 10 or 16; nullopt when it does not fit.
template <class N>
std::optional<N> toNumber(std::string_view text, int base = 10) noexcept {
  N number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The shortest text that parseDecimal() makes the same number of.
std::string toText(double number) {
  std::array<char, 400> text;  // the longest double without an exponent has about 330 digits
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

std::optional<std::uint16_t> toPort(std::string_view text) noexcept {
  const auto number = isCount(text) ? toNumber<std::uint16_t>(text) : std::nullopt;
  return number && *number != 0 ? number : std::nullopt;
}

// A scalar type: `convert` gives nullopt for text that is not allowed.
template <class V, class Convert>
Type<V> scalar(std::string allowed, Convert convert) {
  Type<V> type;
  type.allowed = allowed;
  type.read = [allowed = std::move(allowed), convert](const Value& value,
                                                      Reader& reader) -> std::optional<V> {
    std::optional<V> converted;
    if (value.kind == Value::Kind::scalar) converted = convert(value.text);
    if (!converted) reader.mustBe(value, allowed);
    return converted;
  };
  return type;
}

std::string showAddress(const Address& address) { return address.toString(); }

// nullopt: of either family.
Type<Address> addressOfHost(std::string allowed, std::optional<Family> family) {
  auto type =
      scalar<Address>(std::move(allowed), [family](const std::string& t) -> std::optional<Address> {
        const auto address = Address::parse(t);
        const bool good =
            address && isHost(*address) && address->family() == family.value_or(address->family());
        return good ? address : std::nullopt;
      });
  type.show = showAddress;
  return type;
}

}  // namespace

bool isResourceName(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 63 && isLower(name.front()) && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return isLower(c) || isDigit(c) || c == '-'; });
}

std::string_view lastSegment(std::string_view text) noexcept {
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

std::optional<std::int64_t> parseInteger(std::string_view text) noexcept {
  const std::string_view digits = text.substr(text.substr(0, 1) == "-" ? 1 : 0);
  return isCount(digits) ? toNumber<std::int64_t>(text) : std::nullopt;
}

std::optional<double> parseDecimal(std::string_view text) noexcept {
  const std::size_t dot = text.find('.');
  if (!isCount(text.substr(0, dot))) return std::nullopt;
  if (dot != std::string_view::npos) {
    const std::string_view fraction = text.substr(dot + 1);
    if (fraction.empty() || !std::all_of(fraction.begin(), fraction.end(), isDigit))
      return std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> parseBits(std::string_view text) noexcept {
  if (text.substr(0, 2) == "0x") return toNumber<std::uint64_t>(text.substr(2), 16);
  return isCount(text) ? toNumber<std::uint64_t>(text) : std::nullopt;
}

bool isPrintable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Type<std::string> textWhere(std::string allowed, std::function<bool(std::string_view)> isGood) {
  auto type = scalar<std::string>(
      std::move(allowed),
      [isGood = std::move(isGood)](const std::string& text) -> std::optional<std::string> {
        return isGood(text) ? std::optional(text) : std::nullopt;
      });
  type.show = [](const std::string& text) { return text; };
  return type;
}

Type<std::string> text(std::size_t maxLength) {
  return textWhere(fmt::format("text of at most {} characters", maxLength),
                   [maxLength](std::string_view t) { return characters(t) <= maxLength; });
}

Type<std::string> printableText(std::size_t maxLength) {
  return textWhere(
      fmt::format("at most {} printable ASCII characters", maxLength),
      [maxLength](std::string_view t) { return t.size() <= maxLength && isPrintable(t); });
}

Type<std::string> resourceName() {
  return textWhere("1 to 63 characters of a-z, 0-9 and '-', the first a letter, the last not '-'",
                   isResourceName);
}

Type<std::string> reference() {
  return scalar<std::string>("a name or a URL that ends with one",
                             [](const std::string& t) -> std::optional<std::string> {
                               const std::string_view name = lastSegment(t);
                               if (!isResourceName(name)) return std::nullopt;
                               return std::string(name);
                             });
}

Type<std::int64_t> integer(std::int64_t min, std::int64_t max) {
  return integer(min, max, fmt::format("a whole number from {} to {}", min, max));
}

Type<std::int64_t> integer(std::int64_t min, std::int64_t max, std::string allowed) {
  auto type = scalar<std::int64_t>(std::move(allowed), [min, max](const std::string& t) {
    const auto number = parseInteger(t);
    const bool good = number && *number >= min && *number <= max;
    return good ? number : std::nullopt;
  });
  type.show = [](const std::int64_t& number) { return std::to_string(number); };
  type.write = [show = type.show](const std::int64_t& number) { return plainValue(show(number)); };
  return type;
}

Type<std::uint64_t> bits(std::uint64_t min, std::uint64_t max) {
  auto type =
      scalar<std::uint64_t>(fmt::format("a number from {} to 0x{:x}, decimal or with 0x", min, max),
                            [min, max](const std::string& t) {
                              const auto number = parseBits(t);
                              const bool good = number && *number >= min && *number <= max;
                              return good ? number : std::nullopt;
                            });
  type.show = [](const std::uint64_t& number) {
    return number < 10 ? std::to_string(number) : fmt::format("0x{:x}", number);
  };
  return type;
}

Type<double> decimal(double min, double max) {
  auto type = scalar<double>(fmt::format("a number from {} to {}", min, max),
                             [min, max](const std::string& t) {
                               const auto number = parseDecimal(t);
                               const bool good = number && *number >= min && *number <= max;
                               return good ? number : std::nullopt;
                             });
  type.show = [](const double& number) { return fmt::format("{:.1f}", number); };
  type.write = [](const double& number) { return plainValue(toText(number)); };
  return type;
}

Type<bool> boolean() {
  Type<bool> type;
  type.allowed = "true or false";
  type.show = [](const bool& value) { return value ? "true" : "false"; };
  type.write = [](const bool& value) { return plainValue(value ? "true" : "false"); };
  type.read = [](const Value& value, Reader& reader) -> std::optional<bool> {
    const bool isWord = value.kind == Value::Kind::scalar && !value.quoted;
    if (isWord && value.text == "true") return true;
    if (isWord && value.text == "false") return false;
    reader.mustBe(value, value.quoted ? "true or false without quotes" : "true or false");
    return std::nullopt;
  };
  return type;
}

Type<bool> alwaysFalse(std::string_view reason) {
  Type<bool> type = boolean();
  type.allowed = "false";
  type.read = [inner = type.read, reason](const Value& value,
                                          Reader& reader) -> std::optional<bool> {
    const auto read = inner(value, reader);
    if (!read || !*read) return read;
    reader.error(value.mark, fmt::format("{} must be false: {}", reader.field(), reason));
    return std::nullopt;
  };
  return type;
}

Type<Address> ipv4HostAddress() { return addressOfHost("an IPv4 address of a host", Family::ipv4); }
Type<Address> ipv6HostAddress() { return addressOfHost("an IPv6 address of a host", Family::ipv6); }
Type<Address> hostAddress() {
  return addressOfHost("an IPv4 or IPv6 address of a host", std::nullopt);
}

Type<Address> virtualAddress() {
  auto type = scalar<Address>(
      "an IPv4 or IPv6 address of a host", [](const std::string& t) -> std::optional<Address> {
        std::string_view text = t;
        const std::size_t slash = text.find('/');
        const auto address = Address::parse(text.substr(0, slash));
        if (!address || !isHost(*address)) return std::nullopt;
        const std::string_view whole = address->isIpv4() ? "/32" : "/128";
        const bool single = slash == std::string_view::npos || text.substr(slash) == whole;
        return single ? address : std::nullopt;
      });
  type.show = showAddress;
  return type;
}

Type<Prefix> prefix() {
  Type<Prefix> type;
  type.allowed = "a range of addresses such as 10.1.0.0/16 or fd00::/8";
  type.show = [](const Prefix& p) { return p.toString(); };
  type.read = [allowed = type.allowed](const Value& value,
                                       Reader& reader) -> std::optional<Prefix> {
    if (value.kind == Value::Kind::scalar) {
      if (auto parsed = Prefix::parse(value.text)) return parsed;
      // Host bits that are set are the usual mistake; name the range that was meant.
      const std::size_t slash = value.text.find('/');
      const auto address = Address::parse(std::string_view(value.text).substr(0, slash));
      const auto length =
          slash == std::string::npos ? std::nullopt : parseInteger(value.text.substr(slash + 1));
      if (address && length && *length >= 0 && *length <= (address->isIpv4() ? 32 : 128)) {
        reader.mustBe(value,
                      fmt::format("{} without host bits, {}", allowed,
                                  Prefix(*address, static_cast<unsigned>(*length)).toString()));
        return std::nullopt;
      }
    }
    reader.mustBe(value, allowed);
    return std::nullopt;
  };
  return type;
}

Type<Ports> portRange() {
  auto type = scalar<Ports>(
      "a range of ports such as 8000-8999, or one port, from 1 to 65535",
      [](const std::string& t) -> std::optional<Ports> {
        const std::string_view text = t;
        const std::size_t dash = text.find('-');
        const auto first = toPort(text.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : toPort(text.substr(dash + 1));
        if (!first || !last || *first > *last) return std::nullopt;
        return Ports{*first, *last};
      });
  type.show = [](const Ports& ports) { return fmt::format("{}-{}", ports.first, ports.last); };
  return type;
}

Type<std::string> socketAddress() {
  return textWhere(
      "an address and port such as 127.0.0.1:9147 or [::1]:9147", [](std::string_view text) {
        const std::size_t colon = text.rfind(':');
        if (colon == std::string_view::npos || !toPort(text.substr(colon + 1))) return false;
        std::string_view host = text.substr(0, colon);
        const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
        if (brackets) host = host.substr(1, host.size() - 2);
        const auto address = Address::parse(host);
        return address && address->isIpv4() != brackets;
      });
}

namespace {

// What is not there at all is explained however it is spelled: header-field is HEADER_FIELD.
bool isSameWord(std::string_view name, std::string_view typed) {
  return std::ranges::equal(name, typed, {}, {}, [](char c) {
    if (c == '-') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

}  // namespace

std::optional<std::size_t> readChoice(const Value& value, Reader& reader,
                                      const std::vector<std::string>& names,
                                      const std::vector<RefusedChoice>& refused) {
  if (value.kind == Value::Kind::scalar) {
    const auto found = std::find(names.begin(), names.end(), value.text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    for (const RefusedChoice& choice : refused) {
      if (!isSameWord(choice.name, value.text)) continue;
      reader.error(value.mark,
                   fmt::format("{} {} is not supported: {}; allowed are {}", reader.field(),
                               choice.name, choice.reason, join(names, "and")));
      return std::nullopt;
    }
    reader.error(value.mark, fmt::format("{} must be {}, not {}{}", reader.field(), join(names),
                                         value.describe(), didYouMean(value.text, names)));
    return std::nullopt;
  }
  reader.mustBe(value, join(names));
  return std::nullopt;
}

}  // namespace weir::config
