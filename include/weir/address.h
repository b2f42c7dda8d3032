// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/types.h"

namespace weir {

// An IPv4 or IPv6 address. IPv4 is held in its IPv4-mapped form (::ffff:a.b.c.d), which cannot
// meet a real IPv6 address: the parsers of text and of packets both refuse mapped addresses.
// Words are in host order: hi holds the first eight bytes of the address.
class Address {
 public:
  constexpr Address() noexcept = default;  // "::"
  static constexpr Address ipv4(std::uint32_t hostOrder) noexcept {
    return Address(0, kMapped | hostOrder);
  }
  static constexpr Address ipv6(std::uint64_t hi, std::uint64_t lo) noexcept {
    return Address(hi, lo);
  }
  // Strict: dotted quad without leading zeros, or RFC 4291 text without zone or mapped form.
  static std::optional<Address> parse(std::string_view text);

  constexpr bool isIpv4() const noexcept { return hi_ == 0 && (lo_ >> 32) == (kMapped >> 32); }
  constexpr Family family() const noexcept { return isIpv4() ? Family::ipv4 : Family::ipv6; }
  constexpr std::uint32_t ipv4Bits() const noexcept { return static_cast<std::uint32_t>(lo_); }
  constexpr std::uint64_t hi() const noexcept { return hi_; }
  constexpr std::uint64_t lo() const noexcept { return lo_; }
  // Network byte order; an IPv4 address fills the last four bytes of its mapped form.
  std::array<std::uint8_t, 16> bytes() const noexcept;
  // Canonical text: dotted quad, or RFC 5952.
  std::string toString() const;

  friend constexpr auto operator<=>(const Address&, const Address&) noexcept = default;

 private:
  static constexpr std::uint64_t kMapped = 0x0000ffff00000000ull;
  constexpr Address(std::uint64_t hi, std::uint64_t lo) noexcept : hi_(hi), lo_(lo) {}
  std::uint64_t hi_ = 0;
  std::uint64_t lo_ = 0;
};

// A prefix whose host bits are zero.
class Prefix {
 public:
  // length: 0..32 for IPv4, 0..128 for IPv6. Host bits of `address` are cleared.
  Prefix(Address address, unsigned length) noexcept;
  // "10.1.0.0/16", "fd00::/8"; a bare address is a /32 or /128. Host bits set: nullopt.
  static std::optional<Prefix> parse(std::string_view text);

  Address address() const noexcept { return address_; }
  unsigned length() const noexcept { return length_; }
  Family family() const noexcept { return address_.family(); }
  bool contains(Address other) const noexcept;
  std::string toString() const;

  friend auto operator<=>(const Prefix&, const Prefix&) noexcept = default;

 private:
  Address address_;
  std::uint8_t length_;
};

}  // namespace weir

template <>
struct std::hash<weir::Address> {
  std::size_t operator()(const weir::Address& a) const noexcept {
    return static_cast<std::size_t>((a.hi() ^ (a.lo() * 0x9e3779b97f4a7c15ull)) *
                                    0xff51afd7ed558ccdull);
  }
};
