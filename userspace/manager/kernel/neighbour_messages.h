// SPDX-License-Identifier: GPL-2.0-or-later
//
// Entries of the kernel's neighbour tables (ARP, neighbour discovery) as rtnetlink messages.
#pragma once

#include <linux/neighbour.h>
#include <linux/netlink.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>

#include "manager/kernel/netlink.h"
#include "weir/address.h"
#include "weir/types.h"

namespace weir::manager {

// Where the extended flags stand in Neighbour::flags.
inline constexpr unsigned kExtendedFlagsShift = 8;

using MacAddress = std::array<std::uint8_t, 6>;

struct NeighbourKey {
  unsigned interface = 0;
  Address address;
  friend auto operator<=>(const NeighbourKey&, const NeighbourKey&) = default;
};

struct Neighbour {
  NeighbourKey key;
  std::uint16_t state = NUD_NONE;  // NUD_*
  std::uint32_t flags = 0;         // NTF_*, with NTF_EXT_* above them
  std::uint8_t protocol = 0;
  std::optional<MacAddress> mac;

  bool valid() const noexcept {
    return (state &
            (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)) != 0;
  }
  bool managed() const noexcept { return (flags & (NTF_EXT_MANAGED << kExtendedFlagsShift)) != 0; }
};

void addNeighbourDump(Messages&, Family);
// An entry that the kernel keeps resolved, that garbage collection spares, and that carries our
// protocol number; what is known about an entry that is there already stays.
void addKeptNeighbour(Messages&, const NeighbourKey&, std::uint8_t protocol);
// Makes the kernel ask a neighbour of ours now whether it is still there; until it has failed to
// answer, packets go on. Two messages.
void addNeighbourCheck(Messages&, const NeighbourKey&, std::uint8_t protocol);
// An entry as ARP and neighbour discovery make them, with `of`'s address and NTF_ROUTER, and
// another protocol number (0: none).
void addOrdinaryNeighbour(Messages&, const Neighbour& of, std::uint8_t protocol);
void addNeighbourDeletion(Messages&, const NeighbourKey&);

// From RTM_NEWNEIGH and RTM_DELNEIGH of an IP family; nullopt: none of these.
std::optional<Neighbour> readNeighbour(const nlmsghdr&);

}  // namespace weir::manager
