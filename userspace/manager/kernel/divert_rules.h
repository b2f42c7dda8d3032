// SPDX-License-Identifier: GPL-2.0-or-later
//
// What weir's nf_tables chain says, as libnftnl objects; nothing is sent here. Per family:
//
//   table ip weir {
//     set addresses { type ipv4_addr }                   virtual addresses: a hash
//     set ranges { type ipv4_addr; flags interval }      destinations of routes
//     chain prerouting {
//       type filter hook prerouting priority -450; policy accept;
//       meta mark & MASK != 0 accept                     decided already: no loops
//       icmpv6 type 133-137 accept                       (ip6) the virtual address's own ND
//       ip daddr @addresses notrack queue ...
//       ip daddr @ranges fib daddr type != {local, broadcast, anycast, multicast} notrack queue ...
//     }
//   }
//
// Routes are for packets that this machine forwards (N1): its own addresses, its neighbours'
// broadcasts and multicast are none of these, and with a destination of 0.0.0.0/0 it would
// otherwise lose its own traffic. A queue without a listener drops.
#pragma once

#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/types.h"

namespace weir::manager {

inline constexpr char kTableName[] = "weir";
inline constexpr char kChainName[] = "prerouting";
inline constexpr char kAddressSet[] = "addresses";
inline constexpr char kRangeSet[] = "ranges";
// Before defragmentation (-400) and connection tracking (-200).
inline constexpr std::int32_t kChainPriority = -450;

// How a rule hands packets to NFQUEUE: nf_tables' own expression, or on kernels without it
// (CONFIG_NFT_QUEUE) the target of iptables through the compatibility expression.
enum class QueueForm : std::uint8_t { native, compat };

struct DivertParameters {
  std::uint32_t fwmarkMask = 0;
  std::uint16_t queueBase = 0;
  std::uint16_t queues = 1;
};

template <auto Free>
struct NftnlDeleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using NftTable = std::unique_ptr<nftnl_table, NftnlDeleter<nftnl_table_free>>;
using NftChain = std::unique_ptr<nftnl_chain, NftnlDeleter<nftnl_chain_free>>;
using NftSet = std::unique_ptr<nftnl_set, NftnlDeleter<nftnl_set_free>>;
using NftRule = std::unique_ptr<nftnl_rule, NftnlDeleter<nftnl_rule_free>>;

NftTable makeTable(Family);
NftChain makeChain(Family);
// A set without elements; `ranges`: of intervals.
NftSet makeSet(Family, bool ranges);
std::vector<NftRule> makeRules(Family, const DivertParameters&, QueueForm);

// What identifies a rule in a dump: its comment, which names every parameter, and the names of its
// expressions in order, the two queue forms alike.
std::string fingerprint(nftnl_rule*);

}  // namespace weir::manager
