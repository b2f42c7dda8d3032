// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "weir/address.h"

namespace weir {

// Not unspecified, loopback, multicast, broadcast or reserved: an address that a single other host
// can have, so that traffic can be sent to it.
constexpr bool isHost(Address address) noexcept {
  if (address.isIpv4()) {
    const std::uint32_t first = address.ipv4Bits() >> 24;
    return first != 0 && first != 127 && first < 224;
  }
  const bool unspecifiedOrLoopback = address.hi() == 0 && address.lo() <= 1;
  const bool multicast = (address.hi() >> 56) == 0xff;
  return !unspecifiedOrLoopback && !multicast;
}

}  // namespace weir
