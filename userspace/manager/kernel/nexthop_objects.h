// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel's nexthop objects: backends, and groups of them that it spreads packets over by its
// own hash.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "manager/kernel/netlink.h"
#include "manager/kernel/owned_things.h"
#include "manager/kernel/ownership.h"
#include "weir/address.h"
#include "weir/result.h"

namespace weir::manager {

struct NextHopObject {
  std::uint32_t id = 0;
  unsigned interface = 0;
  Address gateway;
  std::string toString() const;
  friend auto operator<=>(const NextHopObject&, const NextHopObject&) = default;
};

struct NextHopGroup {
  struct Member {
    std::uint32_t id = 0;
    std::uint32_t weight = 1;  // 1..256
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  std::uint32_t id = 0;
  std::vector<Member> members;  // by id
  std::string toString() const;
  friend auto operator<=>(const NextHopGroup&, const NextHopGroup&) = default;
};

// Weights 0..1000 as the kernel takes them: relations are kept as well as 1..256 allows, and what
// is not 0 stays at least 1. Those of 0 stay 0.
std::vector<std::uint32_t> kernelWeights(const std::vector<std::uint32_t>&);

class NextHopObjects {
 public:
  explicit NextHopObjects(Netlink& netlink) : netlink_(netlink) {}
  // Objects before the groups that have them. Groups are resilient (a change of members moves no
  // connection that it need not) where the kernel has that, else by hash threshold. A number that
  // somebody else has taken is an error; `former`: other numbers that are weir's too.
  Status addMissing(std::set<NextHopObject>, std::set<NextHopGroup>, const RoutingOwnership&,
                    std::span<const RoutingOwnership> former, ChangeLog&);
  // Nothing may lead to them any more.
  Status removeOthers();
  Status removeAll(const RoutingOwnership&);
  // What is there was made under other numbers.
  void forget() {
    objects_.forget();
    groups_.forget();
  }

 private:
  struct Found {
    std::set<NextHopObject> objects;
    std::set<NextHopGroup> groups;
    std::map<std::uint32_t, std::uint8_t> others;  // number -> protocol, of what is not ours
  };
  Result<Found> read(const RoutingOwnership&);
  Status addObjects(std::uint8_t protocol, const std::function<bool(std::uint32_t)>& isForeign);
  Status addGroup(const NextHopGroup&, std::uint8_t protocol, bool exists);
  Status remove(const std::set<std::uint32_t>& ids);

  Netlink& netlink_;
  OwnedThings<NextHopObject> objects_{"next hop"};
  OwnedThings<NextHopGroup> groups_{"next hop group"};
  bool resilient_ = true;  // until the kernel refuses it
};

}  // namespace weir::manager
