// SPDX-License-Identifier: GPL-2.0-or-later
//
// What weir's nf_tables chains say, as libnftnl objects; nothing is sent here. Per family:
//
//   table ip weir {
//     comment "weir-manager: rules 10000, tables 2003107840, protocol 87"
//     set addresses { type ipv4_addr }                   virtual addresses: a hash
//     set ranges { type ipv4_addr; flags interval }      destinations of routes
//     set appliances { type iface_index . ether_addr }   who sends processed packets back
//     set appliance_links { type iface_index }           the same, on links without such addresses
//     set appliance_marks { type mark }                  where routes send packets
//     chain prerouting {
//       type filter hook prerouting priority -450; policy accept;
//       meta mark & MASK != 0 accept                     decided already: no loops
//       ip6 daddr @addresses icmpv6 type 135 mark A      (ip6) see neighbour_proxies.h
//       icmpv6 type 133-137 accept                       (ip6) the virtual address's own ND
//       ip daddr @addresses notrack queue ...
//       ip daddr @ranges jump routes
//     }
//     chain routes {
//       iif . ether saddr @appliances accept             processed already (N7)
//       iif @appliance_links accept
//       fib daddr type != {local, broadcast, anycast, multicast} notrack queue ...
//     }
//     chain returned {                                   only where a route covers an address
//       type filter hook prerouting priority -449; policy accept;
//       meta mark & MASK == 0 accept
//       ip daddr @addresses meta mark & MASK @appliance_marks iif . ether saddr @appliances
//         meta mark set meta mark & ~MASK
//       (the same by iif @appliance_links)
//     }
//   }
//
// While the engine is away too long, `queue` is replaced by a mark (fallback.h).
//
// Routes are for packets that this machine forwards (N1): its own addresses, its neighbours'
// broadcasts and multicast are none of these, and with a destination of 0.0.0.0/0 it would
// otherwise lose its own traffic. A queue without a listener drops.
//
// A virtual address wins over a route that covers it, as with the data plane's rules, so its
// packets are queued from wherever they come. The data plane gives those that no rule takes to the
// route; an appliance sends them back, and they would go round until their TTL ends. So the chain
// `returned` takes the mark away again when a packet that comes from an appliance would be sent to
// one.
#pragma once

#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "manager/kernel/ownership.h"
#include "manager/kernel/rule_expressions.h"
#include "weir/types.h"

namespace weir::manager {

inline constexpr char kTableName[] = "weir";
inline constexpr char kChainName[] = "prerouting";
inline constexpr char kRoutesChainName[] = "routes";
inline constexpr char kReturnedChainName[] = "returned";
enum class DivertSet : std::uint8_t {
  addresses,
  ranges,
  appliances,
  applianceLinks,
  applianceMarks
};
inline constexpr std::array kDivertSets{DivertSet::addresses, DivertSet::ranges,
                                        DivertSet::appliances, DivertSet::applianceLinks,
                                        DivertSet::applianceMarks};
const char* nameOf(DivertSet) noexcept;
std::uint32_t keyLength(DivertSet, Family) noexcept;
// Before defragmentation (-400) and connection tracking (-200).
inline constexpr std::int32_t kChainPriority = -450;

// How a rule hands packets to NFQUEUE: nf_tables' own expression, or on kernels without it
// (CONFIG_NFT_QUEUE) the target of iptables through the compatibility expression.
enum class QueueForm : std::uint8_t { native, compat };

struct DivertParameters {
  std::uint32_t fwmarkMask = 0;
  std::uint16_t queueBase = 0;
  std::uint16_t queues = 1;
  bool overlap = false;  // a route covers a virtual address
  // Told in the table's comment, for a successor with other numbers: this run's, and those of
  // earlier ones whose rules and routes are still there.
  std::vector<RoutingOwnership> owners;
  bool fallback = false;  // to the fallback's mark instead of the queues
  friend bool operator==(const DivertParameters&, const DivertParameters&) = default;
};

using NftTable = std::unique_ptr<nftnl_table, NftnlDeleter<nftnl_table_free>>;
using NftChain = std::unique_ptr<nftnl_chain, NftnlDeleter<nftnl_chain_free>>;
using NftSet = std::unique_ptr<nftnl_set, NftnlDeleter<nftnl_set_free>>;

// `own`, then the newest of the former ones, as many as a comment has room for.
std::vector<RoutingOwnership> ownersOf(const RoutingOwnership& own,
                                       std::span<const RoutingOwnership> former);
// By its comment a table is known as weir's. Without owners: a table's name alone, to remove it.
NftTable makeTable(Family, const std::vector<RoutingOwnership>& owners);
// The same, from a comment; empty: not one of weir's.
std::vector<RoutingOwnership> ownersIn(const nftnl_table*);
std::vector<NftChain> makeChains(Family, const DivertParameters&);
// Is the chain that a message of the kernel's tells of hooked as the wanted one is?
bool isChain(const nlmsghdr* dumped, const nftnl_chain* wanted);
// A set without elements.
NftSet makeSet(Family, DivertSet);
// Of all chains, in the order of makeChains() and then of the rules.
std::vector<NftRule> makeRules(Family, const DivertParameters&, QueueForm);

}  // namespace weir::manager
