// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a service's balancer knows of its groups and members: service_balancer.cc chooses by it,
// balancer_update.cc keeps it up to date, balancer_prepare.cc makes aside what an update needs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "member_chooser.h"
#include "random_numbers.h"
#include "rate_window.h"
#include "remembered_clients.h"
#include "weir/service_balancer.h"

namespace weir::balancer {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// An endpoint that is in the snapshot or has open connections.
struct Member {
  ProxySlot slot;
  std::string groupName;
  std::string identity;
  std::size_t group = kNowhere;  // index, while its group is in the snapshot
  std::size_t place = kNowhere;  // in its group's endpoints, while it is in the snapshot
  std::optional<Time> drainDeadline;
  bool drainedAway = false;  // gone, while its group is still there
  std::uint64_t open = 0;

  // Where to connect to, in the order of trying (X1.3): `firstBlock` addresses that are as good as
  // each other, then the rest, which are as well.
  std::vector<Address> addresses;
  std::size_t firstBlock = 0;

  std::optional<ProxyUtilization> report;
  std::uint64_t openAtReport = 0;
  bool reportCounts = false;  // in the sum of its group

  // What one connection more or less is taken to change in its utilization. Few connections say
  // little about what one of them costs; then most of the utilization is taken for something else.
  double utilizationPerConnection() const noexcept;
};

struct Group {
  const ProxyGroup* snapshot = nullptr;
  double target = 0;             // capacity before the scaler
  std::vector<Member*> listed;   // as in the snapshot
  std::vector<Member*> serving;  // by identity, as the chooser numbers them
  MemberChooser chooser;
  std::uint64_t open = 0;  // of all its members, draining and departed ones too
  RateWindow rate;
  double utilizationSum = 0;  // of the members whose reports count
  std::size_t reports = 0;
  std::optional<Time> reportEnd;  // when a report ages out next

  double load() const noexcept;
};

// Places of endpoints that are healthy and not draining, by identity.
std::vector<std::size_t> fitPlaces(const ProxyGroup&);

// How a group of a snapshot differs from what the balancer has.
struct GroupUpdate {
  enum class Kind {
    same,         // in everything
    sameMembers,  // listed in the same order; `changed` of them differ
    other
  };
  Kind kind = Kind::other;
  std::size_t before = kNowhere;         // where the group is now
  std::vector<std::size_t> changed;      // places
  std::vector<std::size_t> serving;      // places of those that may serve, by identity
  std::optional<MemberChooser> chooser;  // for these; nullopt: the one that there is fits
  double target = 0;
};

}  // namespace weir::balancer

namespace weir {

struct ServiceBalancer::Prepared {
  std::shared_ptr<const ProxyServiceSnapshot> snapshot;
  std::vector<balancer::GroupUpdate> groups;  // as in the snapshot
  PlacementPlan plan;
  bool anyHealthy = false;
  // What the update leaves over: to be destroyed without the lock.
  std::shared_ptr<const ProxyServiceSnapshot> old;
  std::vector<balancer::Group> oldGroups;
  std::optional<GroupPicker> oldPicker;
};

struct ServiceBalancer::Impl {
  Impl(std::uint64_t hash, std::uint64_t random) : hashSeed(hash), numbers(random) {}

  // --- aside, balancer_prepare.cc ---
  std::shared_ptr<Prepared> prepare(std::shared_ptr<const ProxyServiceSnapshot>,
                                    const ZoneOrder&) const;

  // --- keeping up to date, balancer_update.cc ---
  void update(Prepared&, Time now);
  void report(const ProxyLoadReport&, Time now);
  void resolved(std::string_view fqdn, std::vector<Address> addresses);
  // Lets go of what has aged: connections that no longer count for a rate, reports no longer
  // trusted.
  void refresh(Time now);
  void opened(ProxySlot, Time now);
  void closed(ProxySlot, Time now);

  balancer::Member& memberOf(const ProxyGroup&, const ProxyEndpoint&);
  void takeMembers(balancer::Group&, std::size_t index);
  void takeMember(balancer::Member&, const ProxyEndpoint&);
  void unlist(balancer::Member&, bool drainedAway);
  void takeDeparted();
  void forget(balancer::Member&);
  void takeGroup(std::size_t index, balancer::GroupUpdate&, Time now);
  void gatherServing(balancer::Group&, const std::vector<std::size_t>& places);
  void chooseAmongServing(balancer::Group&);
  void setAddresses(balancer::Member&, const ProxyEndpoint*);
  void setReport(balancer::Member&, const ProxyUtilization&);
  void gatherReports(std::size_t group, Time now);
  void scheduleReports(std::size_t group);
  void noteLoad(std::size_t group);
  void scheduleRate(std::size_t group);
  void changeOpen(balancer::Member&, int by);
  balancer::Member* find(ProxySlot slot) {
    const auto found = members.find(slot.value());
    return found == members.end() ? nullptr : &found->second;
  }
  const balancer::Member* find(ProxySlot slot) const { return const_cast<Impl*>(this)->find(slot); }
  // nullptr: it is not in the snapshot any more.
  const ProxyEndpoint* endpointOf(const balancer::Member& member) const {
    return member.place == balancer::kNowhere
               ? nullptr
               : &groups[member.group].snapshot->endpoints[member.place];
  }
  bool mayServe(const balancer::Member&) const;

  // --- choosing, service_balancer.cc ---
  BackendPick pick(const Request&);
  BackendPick preview(const Request&);
  BackendPick toOriginalDestination(const Request&) const;
  BackendPick none(const Request&) const;
  BackendPick found(const balancer::Member&, const Request&, std::string_view rule) const;
  balancer::Member* remembered(std::uint64_t client, const Request&);
  balancer::Member* choose(balancer::Group&, const Request&, std::uint64_t hash);
  bool serves(const balancer::Member&) const;
  bool isFull(const balancer::Member&) const;

  std::uint64_t hashSeed;
  RandomNumbers numbers;
  std::shared_ptr<const ProxyServiceSnapshot> snapshot;  // changed by update() alone
  std::vector<balancer::Group> groups;                   // as in the snapshot
  std::unordered_map<std::uint32_t, balancer::Member> members;
  std::unordered_map<std::string, std::uint32_t> slots;  // by group/endpoint
  std::uint32_t nextSlot = 0;
  std::set<std::uint32_t> departed;   // not in the snapshot, and still with connections
  std::set<std::uint32_t> departing;  // draining, or drained and still with connections
  std::unordered_map<std::string, std::vector<Address>> names;  // resolved
  std::multimap<Address, std::uint32_t> atAddress;              // of ORIGINAL_DESTINATION
  std::optional<GroupPicker> picker;
  bool anyHealthy = false;
  std::set<std::pair<Time, std::size_t>> rateDue;    // when a group's rate falls next
  std::set<std::pair<Time, std::size_t>> reportDue;  // when a report of a group ages out
  // While previewing: whose turns they were before.
  bool previewing = false;
  std::optional<std::pair<balancer::Group*, MemberChooser>> unpreviewed;
  RememberedClients clients{kRememberedClients};
  std::uint64_t open = 0;
};

}  // namespace weir
