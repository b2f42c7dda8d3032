// SPDX-License-Identifier: GPL-2.0-or-later
//
// The types that fields are declared with. Scalars are read strictly: a number is written as a
// plain or quoted decimal without leading zeros, a boolean is true or false without quotes; text
// is whatever scalar is written.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "config/words.h"
#include "weir/address.h"

namespace weir::config {

// Text that `isGood` accepts; `allowed` says in words what that is.
Type<std::string> textWhere(std::string allowed, std::function<bool(std::string_view)> isGood);
// Any text of at most `maxLength` characters.
Type<std::string> text(std::size_t maxLength);
// Printable ASCII (0x20 to 0x7e) of at most `maxLength` characters.
Type<std::string> printableText(std::size_t maxLength);
// RFC 1035 label: 1 to 63 of a-z, 0-9 and '-', beginning with a letter, not ending with '-'.
Type<std::string> resourceName();
// Another resource by name or URL, of which the last segment counts.
Type<std::string> reference();
Type<std::int64_t> integer(std::int64_t min, std::int64_t max);
// The same for a range that depends on other fields; `allowed` says how.
Type<std::int64_t> integer(std::int64_t min, std::int64_t max, std::string allowed);
// Also as 0x1f: for masks, seeds and table numbers.
Type<std::uint64_t> bits(std::uint64_t min, std::uint64_t max);
Type<double> decimal(double min, double max);
Type<bool> boolean();
// A switch that weir cannot turn on, for the reason given.
Type<bool> alwaysFalse(std::string_view reason);
// An address that a single host can have: not unspecified, loopback, multicast or reserved.
Type<Address> ipv4HostAddress();
Type<Address> ipv6HostAddress();
Type<Address> hostAddress();  // of either family
// Either family, and with /32 or /128 as exports write it.
Type<Address> virtualAddress();
Type<Prefix> prefix();
// "80-90" or "80".
struct Ports {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};
Type<Ports> portRange();
// "127.0.0.1:9147", "[::1]:9147".
Type<std::string> socketAddress();

bool isResourceName(std::string_view) noexcept;
// What bits() reads, of any size.
std::optional<std::uint64_t> parseBits(std::string_view) noexcept;
// What integer() and decimal() read, of any size.
std::optional<std::int64_t> parseInteger(std::string_view) noexcept;
std::optional<double> parseDecimal(std::string_view) noexcept;
bool isPrintable(std::string_view) noexcept;
// The last segment of a URL; a name is its own.
std::string_view lastSegment(std::string_view) noexcept;

// One of Google's enum values. `refused` are values that exist but that weir does not have.
template <class E>
struct Choice {
  std::string_view name;
  E value;
};
struct RefusedChoice {
  std::string_view name;
  std::string_view reason;
};
// Index into `names`; reports otherwise.
std::optional<std::size_t> readChoice(const Value&, Reader&, const std::vector<std::string>& names,
                                      const std::vector<RefusedChoice>& refused);

template <class E>
Type<E> choice(std::vector<Choice<E>> choices, std::vector<RefusedChoice> refused = {}) {
  std::vector<std::string> names;
  for (const auto& c : choices) names.emplace_back(c.name);
  Type<E> type;
  type.allowed = join(names);
  type.show = [choices](const E& value) -> std::string {
    for (const auto& c : choices)
      if (c.value == value) return std::string(c.name);
    return "";
  };
  type.read = [choices, names, refused](const Value& value, Reader& reader) -> std::optional<E> {
    const auto index = readChoice(value, reader, names, refused);
    return index ? std::optional(choices[*index].value) : std::nullopt;
  };
  return type;
}

// A list of at most `max` items. Every item is read, also after a wrong one.
template <class V>
Type<std::vector<V>> listOf(Type<V> item, std::size_t max = kMaxValues) {
  Type<std::vector<V>> type;
  type.list = true;
  type.mapping = item.mapping;
  type.allowed =
      max == kMaxValues ? item.allowed : fmt::format("{}, at most {}", item.allowed, max);
  type.write = [write = detail::writerOf(item)](const std::vector<V>& items) {
    Value list;
    list.kind = Value::Kind::sequence;
    list.items.reserve(items.size());
    for (const V& i : items) list.items.push_back(write(i));
    return std::make_shared<const Value>(std::move(list));
  };
  type.read = [item = std::move(item), max](const Value& value,
                                            Reader& reader) -> std::optional<std::vector<V>> {
    if (value.kind != Value::Kind::sequence) {
      reader.mustBe(value, fmt::format("a list, each item {}", item.allowed));
      return std::nullopt;
    }
    if (value.items.size() > max) {
      reader.error(value.items[max]->mark, fmt::format("{} has {} items; at most {} are allowed",
                                                       reader.field(), value.items.size(), max));
      return std::nullopt;
    }
    const Reader::Scope scope(reader, reader.field(), true);
    std::vector<V> out;
    out.reserve(value.items.size());
    for (const ValuePtr& child : value.items) {
      std::optional<V> read;
      reader.watch(*child, [&] { read = item.read(*child, reader); });
      if (read)
        out.push_back(std::move(*read));
      else if constexpr (std::default_initializable<V>)
        out.emplace_back();  // keeps the places of those that follow
    }
    return out;
  };
  return type;
}

// A mapping from free names to values.
template <class V>
Type<std::map<std::string, V>> mapOf(Type<V> item) {
  Type<std::map<std::string, V>> type;
  type.allowed = fmt::format("a mapping from names to {}", item.allowed);
  type.write = [write = detail::writerOf(item)](const std::map<std::string, V>& items) {
    Value mapping;
    mapping.kind = Value::Kind::mapping;
    for (const auto& [name, i] : items) addEntry(mapping, name, write(i));
    return std::make_shared<const Value>(std::move(mapping));
  };
  type.read = [item = std::move(item), allowed = type.allowed](
                  const Value& value, Reader& reader) -> std::optional<std::map<std::string, V>> {
    if (value.kind != Value::Kind::mapping) {
      reader.mustBe(value, allowed);
      return std::nullopt;
    }
    const Reader::Scope scope(reader, reader.field(), true);
    std::map<std::string, V> out;
    for (const Value::Entry& entry : value.entries) {
      if (!isResourceName(entry.key))
        reader.error(entry.mark, fmt::format("{} has the key {}, which is not a name",
                                             reader.field(), quote(entry.key)));
      if (auto read = item.read(*entry.value, reader)) out.emplace(entry.key, std::move(*read));
    }
    return out;
  };
  return type;
}

}  // namespace weir::config
