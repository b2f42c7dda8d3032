// SPDX-License-Identifier: GPL-2.0-or-later
//
// The tracking table's slots: the part of it that outlives the process. One kind for IPv4 flows
// (32 bytes) and one for IPv6 flows (64 bytes); words are in the machine's byte order, since slots
// never leave the machine.
//
//   addresses  source and destination (IPv4: one word, source in the upper half)
//   rest       source port 16, destination port 16, protocol 8, kind of tuple 8, service 16
//   target     generation 32, backend 16, checksum 16 of everything up to here
//   use        last used 32 (milliseconds, wrapping), idle timeout 16 (seconds), established 1,
//              checksum 15 of the rest of this word; 0: the slot is empty
//
// A writer that dies half way leaves an empty slot or a whole one: a new key is written into an
// empty slot and published by its `use` word, a new target for an old key is a single word. The
// checksums are for memory that something else has written to: they catch every change of a single
// byte, and all but one of 65,000 (32,000) others. The table's seed and the layout's version are
// part of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weir/affinity.h"
#include "weir/types.h"

namespace weir {

// What a slot says besides its key.
struct SlotTarget {
  BackendSlot backend;
  Generation madeIn;
};
struct SlotUse {
  std::uint32_t lastUsed = 0;  // lower 32 bits of milliseconds
  std::uint16_t idleTimeout = 0;
  bool established = false;
};

constexpr std::uint64_t packUse(const SlotUse& use) noexcept {
  // Modulo a prime above 255 no change of one byte goes unseen; never 0, which means empty.
  constexpr std::uint64_t kPrime = 32749;
  const std::uint64_t established = use.established ? 1 : 0;
  const std::uint64_t facts = static_cast<std::uint64_t>(use.lastUsed) << 17 |
                              static_cast<std::uint64_t>(use.idleTimeout) << 1 | established;
  return static_cast<std::uint64_t>(use.lastUsed) << 32 |
         static_cast<std::uint64_t>(use.idleTimeout) << 16 | established << 15 |
         (1 + facts % kPrime);
}
constexpr SlotUse unpackUse(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
          (word >> 15 & 1) != 0};
}
constexpr bool isUseIntact(std::uint64_t word) noexcept { return packUse(unpackUse(word)) == word; }

// Writes a word of a slot after everything before it, in one piece: for a successor that finds the
// memory as it was at the moment of a crash.
inline void publish(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

namespace slot_detail {

// Raised when the layout changes: slots of another layout fail their checksum.
inline constexpr std::uint32_t kVersion = 1;

// Factors below 2^27 for the checksum's sum, none of them a multiple of its prime.
inline constexpr std::array<std::uint64_t, 12> kFactors = [] {
  std::array<std::uint64_t, 12> factors{};
  std::uint64_t factor = 48271;
  for (std::uint64_t& f : factors) {
    f = factor;
    factor = factor * 48271 % 134217689;
  }
  return factors;
}();

}  // namespace slot_detail

// Where flows of a family keep their key. kWords: 64-bit words of both addresses.
template <std::size_t kWords>
struct SlotKey {
  static_assert(kWords == 1 || kWords == 4);
  std::array<std::uint64_t, kWords> addresses;
  std::uint64_t rest;

  static SlotKey of(const FlowKey& key, ServiceId service) noexcept {
    SlotKey packed;
    if constexpr (kWords == 1) {
      packed.addresses[0] =
          static_cast<std::uint64_t>(key.source.ipv4Bits()) << 32 | key.destination.ipv4Bits();
    } else {
      packed.addresses = {key.source.hi(), key.source.lo(), key.destination.hi(),
                          key.destination.lo()};
    }
    packed.rest = static_cast<std::uint64_t>(key.sourcePort) << 48 |
                  static_cast<std::uint64_t>(key.destinationPort) << 32 |
                  static_cast<std::uint64_t>(key.protocol) << 24 |
                  static_cast<std::uint64_t>(key.kind) << 16 | service.value();
    return packed;
  }
  // Does this family's slot hold such a key? The destination of a 1-tuple is no address.
  static bool holds(const FlowKey& key) noexcept {
    const bool ipv4 =
        key.source.isIpv4() &&
        (key.kind == TupleKind::one ? key.destination == Address() : key.destination.isIpv4());
    return ipv4 == (kWords == 1);
  }

  ServiceId service() const noexcept { return ServiceId(static_cast<std::uint16_t>(rest)); }
  FlowKey key() const noexcept {
    FlowKey key;
    key.kind = static_cast<TupleKind>(rest >> 16 & 0xff);
    key.protocol = static_cast<Protocol>(rest >> 24 & 0xff);
    key.sourcePort = static_cast<std::uint16_t>(rest >> 48);
    key.destinationPort = static_cast<std::uint16_t>(rest >> 32);
    if constexpr (kWords == 1) {
      key.source = Address::ipv4(static_cast<std::uint32_t>(addresses[0] >> 32));
      if (key.kind != TupleKind::one) {
        key.destination = Address::ipv4(static_cast<std::uint32_t>(addresses[0]));
      }
    } else {
      key.source = Address::ipv6(addresses[0], addresses[1]);
      key.destination = Address::ipv6(addresses[2], addresses[3]);
    }
    return key;
  }
};

template <std::size_t kWords>
struct alignas(kWords == 1 ? 32 : 64) Slot {
  SlotKey<kWords> key;
  std::uint64_t target;
  std::uint64_t use;

  bool isEmpty() const noexcept { return use == 0; }
  bool isUntouched() const noexcept {
    std::uint64_t any = key.rest | target | use;
    for (const std::uint64_t word : key.addresses) any |= word;
    return any == 0;
  }
  bool hasKey(const SlotKey<kWords>& other) const noexcept {
    std::uint64_t difference = key.rest ^ other.rest;
    for (std::size_t i = 0; i < kWords; ++i) difference |= key.addresses[i] ^ other.addresses[i];
    return difference == 0;
  }
  SlotTarget targetOf() const noexcept {
    return {BackendSlot(static_cast<std::uint16_t>(target >> 16)),
            Generation(static_cast<std::uint32_t>(target >> 32))};
  }

  // The key must have been written before.
  std::uint64_t packTarget(const SlotTarget& to, std::uint32_t salt) const noexcept {
    const std::uint64_t unsummed = static_cast<std::uint64_t>(to.madeIn.value()) << 32 |
                                   static_cast<std::uint64_t>(to.backend.value()) << 16;
    constexpr std::uint64_t kPrime = 65521;
    std::uint64_t sum = static_cast<std::uint64_t>(salt) + slot_detail::kVersion;
    std::size_t at = 0;
    const auto add = [&](std::uint64_t word) {
      sum += (word & 0xffffffff) * slot_detail::kFactors[at];
      sum += (word >> 32) * slot_detail::kFactors[at + 1];
      at += 2;
    };
    for (const std::uint64_t word : key.addresses) add(word);
    add(key.rest);
    add(unsummed);
    return unsummed | sum % kPrime;
  }
  // Is this what a table with this salt would have written?
  bool isIntact(std::uint32_t salt) const noexcept {
    constexpr std::uint64_t kLongestIdleTimeout = 57600;
    return isUseIntact(use) && unpackUse(use).idleTimeout <= kLongestIdleTimeout &&
           (key.rest >> 16 & 0xff) <= static_cast<std::uint64_t>(TupleKind::one) &&
           packTarget(targetOf(), salt) == target && SlotKey<kWords>::holds(key.key());
  }
};
static_assert(sizeof(Slot<1>) == 32 && sizeof(Slot<4>) == 64);

}  // namespace weir
