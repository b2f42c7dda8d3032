// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "weir/address.h"

namespace weir {

// Longest-prefix match on an immutable set of prefixes: a hash table for each length that occurs,
// asked from the longest to the shortest. Configurations use few lengths, and an empty map costs
// one comparison.
template <class Value>
class PrefixMap {
 public:
  PrefixMap() = default;
  // Of equal prefixes the first one counts.
  explicit PrefixMap(const std::vector<std::pair<Prefix, Value>>& items) {
    std::map<unsigned, std::vector<std::pair<Address, Value>>, std::greater<>> byLength[2];
    for (const auto& [prefix, value] : items) {
      byLength[index(prefix.family())][prefix.length()].emplace_back(prefix.address(), value);
    }
    for (const Family family : {Family::ipv4, Family::ipv6}) {
      for (const auto& [length, entries] : byLength[index(family)]) {
        levels_[index(family)].emplace_back(family, length, entries);
      }
    }
  }

  // The value of the longest prefix that contains `address`, or nullptr.
  const Value* find(Address address) const noexcept {
    for (const Level& level : levels_[index(address.family())]) {
      if (const Value* value = level.find(address)) return value;
    }
    return nullptr;
  }

 private:
  struct Slot {
    Address address;
    Value value{};
    bool used = false;
  };

  // The prefixes of one family and length.
  class Level {
   public:
    Level(Family family, unsigned length, const std::vector<std::pair<Address, Value>>& entries)
        : slots_(std::bit_ceil(entries.size() * 2)),
          shift_(64 - static_cast<unsigned>(std::countr_zero(slots_.size()))) {
      // The mapped form puts an IPv4 prefix behind 96 bits of its own.
      const unsigned bits = family == Family::ipv4 ? length + 96 : length;
      highMask_ = upper(std::min(bits, 64u));
      lowMask_ = upper(bits > 64 ? bits - 64 : 0);
      for (const auto& [address, value] : entries) {
        std::size_t at = start(address);
        while (slots_[at].used && slots_[at].address != address) at = next(at);
        if (!slots_[at].used) slots_[at] = {address, value, true};
      }
    }

    const Value* find(Address address) const noexcept {
      const Address wanted = Address::ipv6(address.hi() & highMask_, address.lo() & lowMask_);
      for (std::size_t at = start(wanted); slots_[at].used; at = next(at)) {
        if (slots_[at].address == wanted) return &slots_[at].value;
      }
      return nullptr;
    }

   private:
    static std::uint64_t upper(unsigned bits) noexcept {
      return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits);
    }
    std::size_t start(Address address) const noexcept {
      return std::hash<Address>{}(address) >> shift_;
    }
    std::size_t next(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }

    std::uint64_t highMask_ = 0;
    std::uint64_t lowMask_ = 0;
    std::vector<Slot> slots_;  // a power of two, at most half full
    unsigned shift_;
  };

  static std::size_t index(Family family) noexcept { return family == Family::ipv4 ? 0 : 1; }

  std::vector<Level> levels_[2];  // by family, longest first
};

}  // namespace weir
