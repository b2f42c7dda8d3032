// SPDX-License-Identifier: GPL-2.0-or-later
//
// nf_tables to the wish: which destinations go to the queues. Chains and rules (divert_rules.h) are
// fixed for given parameters, so what changes from day to day is the elements of sets.
//
// The tables `ip weir` and `ip6 weir` are ours as a whole, known by their comment; a table of that
// name that an earlier run has not made is refused. Where chains, rules or sets are not as they
// should be, one transaction replaces the table; other changes are one transaction with the
// elements that differ. Packets see the state before or after, nothing in between.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "manager/kernel/attributes.h"
#include "manager/kernel/change_log.h"
#include "manager/kernel/divert_rules.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel/neighbour_messages.h"
#include "manager/kernel/netlink.h"
#include "weir/result.h"

namespace weir::manager {

// First and last address, inclusive.
struct AddressRange {
  Address first;
  Address last;
  friend auto operator<=>(const AddressRange&, const AddressRange&) = default;
};

// Where processed packets come from.
struct ApplianceOrigin {
  unsigned interface = 0;
  std::optional<MacAddress> mac;  // nullopt: the link has none; all that comes over it counts
  friend auto operator<=>(const ApplianceOrigin&, const ApplianceOrigin&) = default;
};

// The elements of a family's sets.
struct DivertElements {
  std::set<Address> addresses;    // virtual addresses
  std::set<AddressRange> ranges;  // destinations of routes, without those inside another
  std::set<ApplianceOrigin> origins;
  std::set<std::uint32_t> marks;  // of appliances
  // Nothing is diverted.
  bool empty() const noexcept { return addresses.empty() && ranges.empty(); }
  friend bool operator==(const DivertElements&, const DivertElements&) = default;
};
// addresses and ranges: prefixes of several addresses count as routes.
DivertElements divertElements(std::span<const Prefix>, std::span<const DivertedRoute>, Family);
bool anyRangeCoversAnAddress(const DivertElements&);

class Divert {
 public:
  explicit Divert(Netlink& netlink) : netlink_(netlink) {}

  // The numbers that an earlier run used, by its tables. An error: without CAP_NET_ADMIN, or when a
  // table has our name and somebody else's content.
  Result<std::vector<RoutingOwnership>> earlierRuns();

  // `fallback`: what is diverted gets the fallback's mark instead of going to the queues.
  // `former`: numbers that the tables name beside the wish's, until what lies under them has gone.
  Status converge(const KernelWish&, bool fallback, const std::set<ApplianceOrigin>&,
                  std::span<const RoutingOwnership> former, KernelState::Prune, ChangeLog&);
  Status removeAll();

 private:
  struct Found {
    bool table = false;
    std::vector<RoutingOwnership> owners;
    std::uint32_t flags = 0;    // NFT_TABLE_F_*; weir's tables have none
    std::uint32_t objects = 0;  // sets, chains and the like
    bool structure = false;     // comment, flags, sets, chains and rules are as they should be
    DivertElements elements;
  };
  Result<bool> findTable(Family, Found&);
  bool isOurs(Family family, const Found& found) const {
    return !found.owners.empty() || made_[indexOf(family)].has_value();
  }
  Status checkOwner(Family, const Found&) const;
  Status convergeFamily(Family, const DivertElements&, const DivertParameters&, KernelState::Prune,
                        ChangeLog&);
  Result<Found> read(Family, const DivertParameters&);
  Result<bool> structureHolds(Family, const DivertParameters&);
  Result<bool> rulesHold(Family, const DivertParameters&);
  Status rebuild(Family, const DivertElements&, const DivertParameters&, bool tableExists);
  Status update(Family, const DivertElements& add, const DivertElements& remove);
  Status removeTable(Family);
  void noteUpdate(Family, const DivertElements& add, const DivertElements& remove, ChangeLog&);

  Netlink& netlink_;
  QueueForm form_ = QueueForm::native;  // until the kernel refuses it
  // What the last comparison left there; nullopt: no table of this run's.
  std::array<std::optional<DivertElements>, kFamilies.size()> made_;
  std::array<DivertParameters, kFamilies.size()> madeWith_;
};

}  // namespace weir::manager
