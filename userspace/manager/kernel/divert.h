// SPDX-License-Identifier: GPL-2.0-or-later
//
// nf_tables to the wish: which destinations go to the queues. Chain and rules (divert_rules.h) are
// fixed for given parameters, so what changes from day to day is the elements of two sets.
//
// The tables `ip weir` and `ip6 weir` are ours as a whole. Where chain, rules or sets are not as
// they should be, one transaction replaces the table; other changes are one transaction with the
// elements that differ. Packets see the state before or after, nothing in between.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <span>

#include "manager/kernel/divert_rules.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/netlink.h"
#include "weir/result.h"

namespace weir::manager {

// First and last address, inclusive.
struct AddressRange {
  Address first;
  Address last;
  friend auto operator<=>(const AddressRange&, const AddressRange&) = default;
};

// The elements of a family's two sets.
struct DivertElements {
  std::set<Address> addresses;    // prefixes of one address
  std::set<AddressRange> ranges;  // the others, without those that lie inside another
  bool empty() const noexcept { return addresses.empty() && ranges.empty(); }
  friend bool operator==(const DivertElements&, const DivertElements&) = default;
};
DivertElements divertElements(std::span<const Prefix>, Family);

class Divert {
 public:
  explicit Divert(Netlink& netlink) : netlink_(netlink) {}

  Status converge(const KernelWish&, KernelState::Prune);
  Status removeAll();

 private:
  struct Found {
    bool table = false;
    bool structure = false;  // sets, chain and rules are as they should be
    DivertElements elements;
  };
  Status convergeFamily(Family, const DivertElements&, const DivertParameters&, KernelState::Prune);
  Result<Found> read(Family, const DivertParameters&);
  Result<bool> structureHolds(Family, const DivertParameters&);
  Status rebuild(Family, const DivertElements&, const DivertParameters&, bool tableExists);
  Status update(Family, const DivertElements& add, const DivertElements& remove);

  Netlink& netlink_;
  QueueForm form_ = QueueForm::native;  // until the kernel refuses it
};

}  // namespace weir::manager
