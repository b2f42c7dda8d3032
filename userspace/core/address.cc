// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/address.h"

namespace weir {
namespace {

constexpr unsigned kIpv4Bits = 32;
constexpr unsigned kIpv6Bits = 128;

// Decimal without sign and leading zeros, at most `max`; nullopt on anything else.
std::optional<unsigned> parseDecimal(std::string_view text, unsigned max) noexcept {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= max ? std::optional(value) : std::nullopt;
}

std::optional<std::uint32_t> parseDottedQuad(std::string_view text) noexcept {
  std::uint32_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto octet = parseDecimal(text.substr(0, dot), 255);
    if (!octet) return std::nullopt;
    bits = bits << 8 | *octet;
    text.remove_prefix(part < 3 ? dot + 1 : dot);
  }
  return bits;
}

std::optional<std::uint16_t> parseGroup(std::string_view text) noexcept {
  if (text.empty() || text.size() > 4) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return static_cast<std::uint16_t>(value);
}

using Groups = std::array<std::uint16_t, 8>;

// Groups separated by colons, the last of which may be a dotted quad, into `groups` from `used`
// on. False: not such a list, or too long.
bool parseGroups(std::string_view text, Groups& groups, std::size_t& used, bool mayEndInQuad) {
  for (bool last = false; !last;) {
    const std::size_t colon = text.find(':');
    last = colon == std::string_view::npos;
    const std::string_view part = text.substr(0, colon);
    if (last && mayEndInQuad && part.find('.') != std::string_view::npos) {
      const auto quad = parseDottedQuad(part);
      if (!quad || used + 2 > groups.size()) return false;
      groups[used++] = static_cast<std::uint16_t>(*quad >> 16);
      groups[used++] = static_cast<std::uint16_t>(*quad);
    } else {
      const auto group = parseGroup(part);
      if (!group || used == groups.size()) return false;
      groups[used++] = *group;
    }
    if (!last) text.remove_prefix(colon + 1);
  }
  return true;
}

std::optional<Address> parseIpv6(std::string_view text) noexcept {
  Groups groups{};
  std::size_t used = 0;
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (!parseGroups(text, groups, used, true) || used != groups.size()) return std::nullopt;
  } else {
    const std::string_view head = text.substr(0, gap);
    const std::string_view tail = text.substr(gap + 2);
    if (!head.empty() && !parseGroups(head, groups, used, false)) return std::nullopt;
    Groups after{};
    std::size_t afterUsed = 0;
    if (!tail.empty() && !parseGroups(tail, after, afterUsed, true)) return std::nullopt;
    // "::" stands for at least one group.
    if (used + afterUsed >= groups.size()) return std::nullopt;
    for (std::size_t i = 0; i < afterUsed; ++i) groups[groups.size() - afterUsed + i] = after[i];
  }
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < groups.size(); ++i) words[i / 4] = words[i / 4] << 16 | groups[i];
  const Address address = Address::ipv6(words[0], words[1]);
  if (address.isIpv4()) return std::nullopt;  // the mapped form
  return address;
}

void appendHex(std::string& text, std::uint16_t group) {
  constexpr char kDigits[] = "0123456789abcdef";
  bool significant = false;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = (static_cast<unsigned>(group) >> shift) & 0xf;
    significant = significant || digit != 0 || shift == 0;
    if (significant) text += kDigits[digit];
  }
}

// RFC 5952: lower case, no leading zeros, the longest run of two or more zero groups (the first
// of several) written as "::".
std::string ipv6Text(const Address& address) {
  Groups groups{};
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint64_t word = i < 4 ? address.hi() : address.lo();
    groups[i] = static_cast<std::uint16_t>(word >> (48 - 16 * (i % 4)));
  }
  std::size_t runStart = 0;
  std::size_t runLength = 1;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > runLength) {
      runStart = i;
      runLength = end - i;
    }
    i = end + 1;
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size();) {
    if (runLength > 1 && i == runStart) {
      text += "::";
      i += runLength;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    appendHex(text, groups[i]);
    ++i;
  }
  return text;
}

// The upper `length` bits of a 64-bit word; length 0..64.
constexpr std::uint64_t upperBits(unsigned length) noexcept {
  return length == 0 ? 0 : ~std::uint64_t{0} << (64 - length);
}

Address masked(Address address, unsigned length) noexcept {
  if (address.isIpv4()) {
    const auto mask = static_cast<std::uint32_t>(upperBits(length) >> 32);
    return Address::ipv4(address.ipv4Bits() & mask);
  }
  return Address::ipv6(address.hi() & upperBits(length < 64 ? length : 64),
                       address.lo() & upperBits(length < 64 ? 0 : length - 64));
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parseIpv6(text);
  const auto bits = parseDottedQuad(text);
  return bits ? std::optional(ipv4(*bits)) : std::nullopt;
}

std::array<std::uint8_t, 16> Address::bytes() const noexcept {
  std::array<std::uint8_t, 16> result{};
  for (unsigned i = 0; i < 8; ++i) {
    result[i] = static_cast<std::uint8_t>(hi_ >> (56 - 8 * i));
    result[8 + i] = static_cast<std::uint8_t>(lo_ >> (56 - 8 * i));
  }
  return result;
}

std::string Address::toString() const {
  if (!isIpv4()) return ipv6Text(*this);
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += std::to_string((ipv4Bits() >> shift) & 0xff);
    if (shift != 0) text += '.';
  }
  return text;
}

Prefix::Prefix(Address address, unsigned length) noexcept
    : address_(masked(address, length)), length_(static_cast<std::uint8_t>(length)) {}

std::optional<Prefix> Prefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = Address::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned bits = address->isIpv4() ? kIpv4Bits : kIpv6Bits;
  if (slash == std::string_view::npos) return Prefix(*address, bits);
  const auto length = parseDecimal(text.substr(slash + 1), bits);
  if (!length) return std::nullopt;
  const Prefix prefix(*address, *length);
  if (prefix.address() != *address) return std::nullopt;
  return prefix;
}

bool Prefix::contains(Address other) const noexcept {
  return other.isIpv4() == address_.isIpv4() && masked(other, length_) == address_;
}

std::string Prefix::toString() const { return address_.toString() + '/' + std::to_string(length_); }

}  // namespace weir
