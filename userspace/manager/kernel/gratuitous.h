// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tells the neighbours on a link, unasked, where an address is now: gratuitous ARP (RFC 5227) and
// unsolicited neighbour advertisements (RFC 4861, 7.2.6). Those who knew the address with another
// link-layer address correct it.
#pragma once

#include <array>
#include <cstdint>

#include "manager/kernel/links.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

// The ARP request, Ethernet header included.
std::array<std::uint8_t, 42> gratuitousArp(Address, const MacAddress&);
// The ICMPv6 message, without a checksum, which the kernel computes.
std::array<std::uint8_t, 32> unsolicitedAdvertisement(Address, const MacAddress&);

// Sends one of them on the link. Needs CAP_NET_RAW. An IPv6 link without a link-local address
// cannot send: an error.
Status announceOnce(Address, const Link&);

}  // namespace weir::manager
