// SPDX-License-Identifier: GPL-2.0-or-later
//
// Answers to ARP and neighbour solicitations for addresses that this host does not hold: proxy
// entries of the kernel, which go on answering when the manager is gone.
//
// An entry alone is not enough. For IPv4 the kernel answers only when its own route to the address
// leads out of another interface than the question came in by, and a virtual address in the subnet
// of that interface, or without any route, has none such; for IPv6 a solicitation sent to the
// address itself (how neighbours check what they know) is routed like any packet. So both get a
// mark before they are looked up, by `table arp weir` here and in the prerouting chain of the
// diversion, and the mark's table has the route that the kernel wants: anywhere but back for ARP,
// to this host for solicitations. No other packet ever sees that table.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "manager/kernel/neighbour_messages.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/own_routes.h"
#include "manager/kernel/own_rules.h"
#include "manager/kernel/ownership.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct ProxyNeighbour {
  unsigned interface = 0;
  Address address;
  std::string toString() const;
  friend auto operator<=>(const ProxyNeighbour&, const ProxyNeighbour&) = default;
};

struct ProxyNeighbours {
  std::set<ProxyNeighbour> ours;
  std::set<ProxyNeighbour> others;  // an operator's, or another program's
};
Result<ProxyNeighbours> proxyNeighbours(Netlink&, std::uint8_t protocol);
void addProxyNeighbour(Messages&, const ProxyNeighbour&, std::uint8_t protocol);
void addProxyNeighbourDeletion(Messages&, const ProxyNeighbour&);

// What the marked lookups of these families need.
std::set<OwnRule> neighbourRules(const std::set<Family>&, const RoutingOwnership&,
                                 std::uint32_t fwmarkMask);
std::set<OwnRoute> neighbourRoutes(const std::set<Family>&, const RoutingOwnership&);

// `table arp weir`, ours as a whole, known by its comment.
class ArpMarking {
 public:
  explicit ArpMarking(Netlink& netlink) : netlink_(netlink) {}
  // Marks the requests for exactly these addresses; none: no table. True: something was changed.
  Result<bool> converge(const std::set<Address>&, std::uint32_t fwmarkMask);
  Status removeAll();

 private:
  struct Found {
    bool table = false;
    bool ours = false;
    bool structure = false;          // flags and chain are as they should be
    std::vector<std::string> rules;  // contents
  };
  Result<Found> read();
  Result<bool> chainHolds();

  Netlink& netlink_;
};

}  // namespace weir::manager
