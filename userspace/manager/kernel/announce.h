// SPDX-License-Identifier: GPL-2.0-or-later
//
// Virtual addresses made known to the links: answers to ARP and neighbour discovery
// (neighbour_proxies.h) and gratuitous announcements (gratuitous.h).
//
// Where: on the interfaces that the wish names; without names, on those with a subnet that contains
// the address. An address outside of all subnets needs names, since nobody on the other links has a
// reason to ask for it, and backends would hear their own address announced. Gratuitous ones go out
// when an address begins to be answered for on a link, when the link comes (back) or its link-layer
// address changes, and when again() asks for them; once more after kRepeat, since a switch that
// just learned of the link may lose the first one.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "manager/kernel/connected.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/links.h"
#include "manager/kernel/neighbour_proxies.h"
#include "manager/kernel/own_routing.h"
#include "manager/kernel/owned_things.h"

namespace weir::manager {

// The links on which an address is answered for. Empty: nowhere.
std::vector<const Link*> announcingLinks(Address, const std::vector<std::string>& interfaces,
                                         const Links&, const std::vector<ConnectedSubnet>&);

// What to tell an operator then.
std::string announcedNowhere(Address, const std::vector<std::string>& interfaces);

class Announcements {
 public:
  static constexpr std::chrono::milliseconds kRepeat{1000};

  Announcements(Netlink& route, Netlink& netfilter) : netlink_(route), arp_(netfilter) {}

  // Decides where; the result is what the answers need of routing.
  OwnRoutingWish plan(const KernelWish&, const Links&, const std::vector<ConnectedSubnet>&);
  // Reads the kernel and adds what the plan wants, then announces.
  Status addMissing(const KernelWish&, const Links&, ChangeLog&);
  // What addMissing() found besides the wanted.
  Status removeOthers();
  Status removeAll(std::uint8_t routeProtocol);
  // Those of a former protocol number.
  Status removeProxies(std::uint8_t routeProtocol);

  // What is there was made under other numbers.
  void forget() { things_.forget(); }

  // Announces everything with the next addMissing().
  void again() { announced_.clear(); }
  // Addresses that should be answered for and are not, in words.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  struct Announced {
    MacAddress mac{};
    std::uint32_t carrierUps = 0;
    bool running = false;
    bool repeated = false;
    std::chrono::steady_clock::time_point at;
  };
  void announce(const Links&);

  Netlink& netlink_;
  ArpMarking arp_;
  OwnedThings<ProxyNeighbour> things_{"proxy neighbour"};
  std::set<ProxyNeighbour> wanted_;
  std::map<ProxyNeighbour, Announced> announced_;
  std::vector<std::string> warnings_;
};

}  // namespace weir::manager
