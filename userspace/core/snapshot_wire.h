// SPDX-License-Identifier: GPL-2.0-or-later
//
// Values of snapshots as bytes. Integers are little-endian and fixed in size, strings and lists are
// preceded by their count (16 and 32 bits), an optional value by a byte that is 0 or 1; a real
// number is its IEEE 754 double.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/snapshot.h"

namespace weir::wire {

class Writer {
 public:
  template <std::unsigned_integral Int>
  void put(Int value) {
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  template <class Tag, class Rep>
  void put(Id<Tag, Rep> id) {
    put(id.value());
  }
  void put(std::string_view text) {
    put(static_cast<std::uint16_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void put(const Address& address) {
    put(address.hi());
    put(address.lo());
  }
  void put(const Prefix& prefix) {
    put(prefix.address());
    put(static_cast<std::uint8_t>(prefix.length()));
  }
  void put(double number) { put(std::bit_cast<std::uint64_t>(number)); }
  void put(bool value) { put(static_cast<std::uint8_t>(value ? 1 : 0)); }
  void put(Time time) { put(static_cast<std::uint64_t>(time.time_since_epoch().count())); }
  void put(std::chrono::seconds seconds) { put(static_cast<std::uint32_t>(seconds.count())); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { put(static_cast<std::uint8_t>(value)); }
  template <class Value, class PutValue>
  void putOptional(const std::optional<Value>& value, PutValue putValue) {
    put(value.has_value());
    if (value) putValue(*value);
  }
  template <class Item, class PutItem>
  void putList(const std::vector<Item>& list, PutItem putItem) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const Item& item : list) putItem(item);
  }
  std::vector<std::uint8_t> finish() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Takes values off the front. The first thing that is wrong ends the reading: it is kept as the
// error, and everything taken afterwards is zero or empty.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <std::unsigned_integral Int>
  Int take() {
    if (!need(sizeof(Int))) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) {
      value |= static_cast<std::uint64_t>(rest_[i]) << (8 * i);
    }
    rest_ = rest_.subspan(sizeof(Int));
    return static_cast<Int>(value);
  }
  template <class StrongId>
  StrongId takeId() {
    return StrongId(take<typename StrongId::rep>());
  }
  template <class Enum>
  Enum takeEnum(Enum last, const char* what) {
    const auto value = take<std::uint8_t>();
    check(value <= static_cast<std::uint8_t>(last), what);
    return static_cast<Enum>(value);
  }
  bool takeBool() {
    const auto value = take<std::uint8_t>();
    check(value <= 1, "a yes or no");
    return value == 1;
  }
  // Zero has one form.
  double takeNumber(double least, double most, const char* what) {
    const auto number = std::bit_cast<double>(take<std::uint64_t>());
    const bool good = number >= least && number <= most && !(number == 0 && std::signbit(number));
    check(good, what);
    return good ? number : least;
  }
  Time takeTime() {
    const auto count = take<std::uint64_t>();
    check(count <= static_cast<std::uint64_t>(std::numeric_limits<Clock::rep>::max()), "time");
    return Time(std::chrono::milliseconds(static_cast<Clock::rep>(count)));
  }
  std::chrono::seconds takeSeconds(std::uint32_t least, std::uint32_t most, const char* what) {
    const auto count = take<std::uint32_t>();
    check(count >= least && count <= most, what);
    return std::chrono::seconds(count);
  }
  template <class TakeValue>
  auto takeOptional(TakeValue takeValue) -> std::optional<decltype(takeValue())> {
    if (!takeBool()) return std::nullopt;
    return takeValue();
  }
  std::string takeString() {
    const std::size_t size = take<std::uint16_t>();
    if (!need(size)) return {};
    std::string text(size, '\0');
    if (size != 0) std::memcpy(text.data(), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  Address takeAddress() {
    const auto hi = take<std::uint64_t>();
    const auto lo = take<std::uint64_t>();
    return Address::ipv6(hi, lo);  // an IPv4 address travels in its mapped form
  }
  Prefix takePrefix() {
    const Address address = takeAddress();
    const unsigned length = take<std::uint8_t>();
    check(length <= (address.isIpv4() ? 32u : 128u), "prefix length");
    if (failed()) return Prefix(Address{}, 0);
    const Prefix prefix(address, length);
    check(prefix.address() == address, "host bits of a prefix");
    return prefix;
  }
  // `itemBytes`: what the smallest item takes, so that a count is refused before its room is made.
  template <class Item, class TakeItem>
  std::vector<Item> takeList(std::size_t itemBytes, TakeItem takeItem) {
    const std::size_t count = take<std::uint32_t>();
    if (!need(count * itemBytes)) return {};
    std::vector<Item> list;
    list.reserve(count);
    for (std::size_t i = 0; i < count && !failed(); ++i) list.push_back(takeItem());
    return list;
  }

  void check(bool holds, const char* what) {
    if (!holds && !failed()) {
      error_ = fmt::format("snapshot refused: {} out of range", what);
    }
  }
  bool failed() const noexcept { return !error_.empty(); }
  Result<SnapshotMessage> finish(SnapshotMessage message) && {
    if (!failed() && !rest_.empty()) {
      error_ = fmt::format("snapshot refused: {} bytes too many", rest_.size());
    }
    if (failed()) return Error{std::move(error_)};
    return message;
  }

 private:
  bool need(std::size_t count) {
    if (failed()) return false;
    if (count <= rest_.size()) return true;
    error_ = "snapshot refused: it ends before its contents do";
    return false;
  }

  std::span<const std::uint8_t> rest_;
  std::string error_;
};

// Of the proxy's messages, in proxy_snapshot_codec.cc.
void put(Writer&, const ProxySnapshot&);
void put(Writer&, const ProxyServiceSnapshot&);
void put(Writer&, const ProxyServiceRemoved&);
void put(Writer&, const ProxyLoadReport&);
ProxySnapshot takeProxy(Reader&);
ProxyServiceSnapshot takeProxyService(Reader&);
ProxyServiceRemoved takeProxyServiceRemoved(Reader&);
ProxyLoadReport takeProxyLoadReport(Reader&);

}  // namespace weir::wire
