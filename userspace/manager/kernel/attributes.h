// SPDX-License-Identifier: GPL-2.0-or-later
//
// Addresses and numbers in netlink attributes.
#pragma once

#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/address.h"

namespace weir::manager {

inline constexpr std::array kFamilies{Family::ipv4, Family::ipv6};
constexpr std::size_t indexOf(Family family) noexcept { return static_cast<std::size_t>(family); }

inline std::uint8_t addressFamily(Family family) noexcept {
  return family == Family::ipv4 ? AF_INET : AF_INET6;
}

inline const char* familyName(Family family) noexcept {
  return family == Family::ipv4 ? "IPv4" : "IPv6";
}

inline std::size_t addressLength(Family family) noexcept { return family == Family::ipv4 ? 4 : 16; }

// The address in network order: 4 or 16 bytes at the end of `bytes`.
inline std::span<const std::uint8_t> wireBytes(const std::array<std::uint8_t, 16>& bytes,
                                               Family family) noexcept {
  return std::span(bytes).last(addressLength(family));
}

inline void putAddress(nlmsghdr* message, std::uint16_t type, Address address) {
  const auto bytes = address.bytes();
  const auto wire = wireBytes(bytes, address.family());
  mnl_attr_put(message, type, wire.size(), wire.data());
}

// From 4 or 16 bytes in network order.
inline std::optional<Address> addressFrom(std::span<const std::uint8_t> wire) noexcept {
  std::uint64_t words[2] = {0, 0};
  if (wire.size() != 4 && wire.size() != 16) return std::nullopt;
  for (std::size_t i = 0; i < wire.size(); ++i) words[i / 8] = words[i / 8] << 8 | wire[i];
  if (wire.size() == 4) return Address::ipv4(static_cast<std::uint32_t>(words[0]));
  return Address::ipv6(words[0], words[1]);
}

inline std::span<const std::uint8_t> attributeBytes(const nlattr* attribute) noexcept {
  return {static_cast<const std::uint8_t*>(mnl_attr_get_payload(attribute)),
          mnl_attr_get_payload_len(attribute)};
}

// Visits the attributes that follow a header of `headerLength` bytes.
template <class Visit>
void forEachAttribute(const nlmsghdr& message, std::size_t headerLength, Visit visit) {
  const auto* attribute =
      static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(&message, headerLength));
  const auto* end = static_cast<const std::uint8_t*>(mnl_nlmsg_get_payload_tail(&message));
  while (mnl_attr_ok(attribute,
                     static_cast<int>(end - reinterpret_cast<const std::uint8_t*>(attribute)))) {
    visit(attribute);
    attribute = mnl_attr_next(attribute);
  }
}

// A number of the attribute's own length (1, 2 or 4 bytes, host order); another length: 0.
inline std::uint32_t attributeNumber(const nlattr* attribute) noexcept {
  const std::size_t length = mnl_attr_get_payload_len(attribute);
  if (length == 1) return mnl_attr_get_u8(attribute);
  if (length == 2) return mnl_attr_get_u16(attribute);
  return length == 4 ? mnl_attr_get_u32(attribute) : 0;
}

}  // namespace weir::manager
