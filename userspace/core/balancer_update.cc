// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>

#include "balancer_state.h"
#include "weir/proxy_placement.h"

namespace weir {

using balancer::Group;
using balancer::GroupUpdate;
using balancer::kNowhere;
using balancer::Member;

namespace balancer {

double Member::utilizationPerConnection() const noexcept {
  constexpr std::uint64_t kTelling = 100;
  return report ? report->value / static_cast<double>(std::max(openAtReport, kTelling)) : 0;
}

double Group::load() const noexcept {
  const auto connections = static_cast<double>(open);
  switch (snapshot->capacity.mode) {
    case BalancingMode::connection:
      return connections;
    case BalancingMode::rate:
      return static_cast<double>(rate.count());
    case BalancingMode::utilization:
      break;
  }
  // Groups that are equally idle take turns.
  constexpr double kTrace = 1e-6;
  const double wanted = snapshot->capacity.maxUtilization;
  const double mean =
      reports == 0 ? 0 : std::max(0.0, utilizationSum) / static_cast<double>(reports);
  const auto count = static_cast<double>(std::max<std::size_t>(1, serving.size()));
  const double share = wanted > 0 ? (mean + connections * kTrace / count) / wanted : 1;
  const double load = share * target;
  return limitsConnections(snapshot->capacity) ? std::max(load, connections) : load;
}

}  // namespace balancer

namespace {

std::string keyOf(const std::string& group, const std::string& endpoint) {
  return group + '/' + endpoint;
}

}  // namespace

bool ServiceBalancer::Impl::mayServe(const Member& member) const {
  const ProxyEndpoint* const endpoint = endpointOf(member);
  return endpoint != nullptr && endpoint->healthy && !endpoint->draining() &&
         !member.addresses.empty();
}

Member& ServiceBalancer::Impl::memberOf(const ProxyGroup& group, const ProxyEndpoint& endpoint) {
  const auto [slot, added] = slots.try_emplace(keyOf(group.name, endpoint.endpoint), nextSlot);
  Member& member = members[slot->second];
  if (!added) return member;
  ++nextSlot;
  member.slot = ProxySlot(slot->second);
  member.groupName = group.name;
  member.identity = endpoint.endpoint;
  return member;
}

// nullptr: there is nowhere to connect to any more.
void ServiceBalancer::Impl::setAddresses(Member& member, const ProxyEndpoint* endpoint) {
  for (const Address& address : member.addresses)
    for (auto [it, end] = atAddress.equal_range(address); it != end;)
      it = it->second == member.slot.value() ? atAddress.erase(it) : std::next(it);
  member.addresses.clear();
  member.firstBlock = 0;
  if (endpoint == nullptr) return;
  std::vector<Address> ipv4, ipv6;
  const auto add = [&](const Address& address) {
    (address.isIpv4() ? ipv4 : ipv6).push_back(address);
  };
  if (endpoint->ipv4) add(*endpoint->ipv4);
  if (endpoint->ipv6) add(*endpoint->ipv6);
  if (!endpoint->fqdn.empty())
    if (const auto name = names.find(endpoint->fqdn); name != names.end())
      for (const Address& address : name->second) add(address);

  // The selection is for members that have both.
  const bool both = !ipv4.empty() && !ipv6.empty();
  switch (snapshot->addressSelection) {
    case AddressSelection::ipv4Only:
      if (both) ipv6.clear();
      break;
    case AddressSelection::ipv6Only:
      if (both) ipv4.clear();
      break;
    case AddressSelection::preferIpv6:
      break;
  }
  member.addresses = std::move(ipv6);
  member.firstBlock = member.addresses.empty() ? ipv4.size() : member.addresses.size();
  member.addresses.insert(member.addresses.end(), ipv4.begin(), ipv4.end());
  if (snapshot->locality != LocalityPolicy::originalDestination) return;
  for (const Address& address : member.addresses) atAddress.emplace(address, member.slot.value());
}

void ServiceBalancer::Impl::setReport(Member& member, const ProxyUtilization& utilization) {
  if (member.report == utilization) return;
  member.report = utilization;
  member.openAtReport = member.open;
}

void ServiceBalancer::Impl::takeMember(Member& member, const ProxyEndpoint& endpoint) {
  member.drainedAway = false;
  member.drainDeadline = endpoint.drainDeadline;
  if (member.drainDeadline)
    departing.insert(member.slot.value());
  else
    departing.erase(member.slot.value());
  if (endpoint.utilization) setReport(member, *endpoint.utilization);
  setAddresses(member, &endpoint);
}

void ServiceBalancer::Impl::takeMembers(Group& group, std::size_t index) {
  group.listed.clear();
  group.open = 0;
  for (std::size_t place = 0; place < group.snapshot->endpoints.size(); ++place) {
    const ProxyEndpoint& endpoint = group.snapshot->endpoints[place];
    Member& member = memberOf(*group.snapshot, endpoint);
    member.group = index;
    member.place = place;
    departed.erase(member.slot.value());
    takeMember(member, endpoint);
    group.listed.push_back(&member);
    group.open += member.open;
  }
}

// Drained away: its group is still there, so it was taken out of it.
void ServiceBalancer::Impl::unlist(Member& member, bool drainedAway) {
  member.group = member.place = kNowhere;
  member.drainedAway = drainedAway;
  member.reportCounts = false;
  departed.insert(member.slot.value());
  if (drainedAway) departing.insert(member.slot.value());
}

void ServiceBalancer::Impl::forget(Member& member) {
  const std::uint32_t slot = member.slot.value();
  setAddresses(member, nullptr);
  departing.erase(slot);
  departed.erase(slot);
  slots.erase(keyOf(member.groupName, member.identity));
  members.erase(slot);
}

// Members that are not listed any more stay as long as they have connections, which are load of
// their group while that is there.
void ServiceBalancer::Impl::takeDeparted() {
  if (departed.empty()) return;
  std::unordered_map<std::string_view, std::size_t> indices;
  for (std::size_t i = 0; i < groups.size(); ++i) indices.emplace(groups[i].snapshot->name, i);
  for (auto it = departed.begin(); it != departed.end();) {
    Member& member = members.at(*it++);
    if (member.open == 0) {
      forget(member);
      continue;
    }
    const auto group = indices.find(member.groupName);
    if (group == indices.end()) continue;
    member.group = group->second;
    groups[member.group].open += member.open;
  }
}

// `places`: of those that are fit; DNS names serve once they are resolved.
void ServiceBalancer::Impl::gatherServing(Group& group, const std::vector<std::size_t>& places) {
  group.serving.clear();
  for (const std::size_t place : places)
    if (Member* const member = group.listed[place]; !member->addresses.empty())
      group.serving.push_back(member);
}

void ServiceBalancer::Impl::chooseAmongServing(Group& group) {
  MemberChooser::Members chosen;
  const bool weighted = snapshot->locality == LocalityPolicy::weightedRoundRobin;
  for (const Member* member : group.serving) {
    chosen.identities.push_back(member->identity);
    chosen.weights.push_back(weighted ? endpointOf(*member)->weight : 1);
  }
  if (group.chooser.policy() == snapshot->locality && group.chooser.members() == chosen) return;
  MemberChooser made(snapshot->locality, std::move(chosen), hashSeed);
  made.takeTurns(group.chooser);
  group.chooser = std::move(made);
}

void ServiceBalancer::Impl::gatherReports(std::size_t index, Time now) {
  Group& group = groups[index];
  group.reportEnd.reset();
  if (group.snapshot->capacity.mode != BalancingMode::utilization) return;
  group.utilizationSum = 0;
  group.reports = 0;
  for (Member* member : group.listed) member->reportCounts = false;
  for (Member* member : group.serving) {
    member->reportCounts = member->report && member->report->until >= now;
    if (!member->reportCounts) continue;
    ++group.reports;
    group.utilizationSum += member->report->value + member->utilizationPerConnection() *
                                                        (static_cast<double>(member->open) -
                                                         static_cast<double>(member->openAtReport));
    // After `until`, not at it.
    const Time end = member->report->until + Clock::duration(1);
    if (!group.reportEnd || end < *group.reportEnd) group.reportEnd = end;
  }
}

void ServiceBalancer::Impl::scheduleReports(std::size_t index) {
  if (groups[index].reportEnd) reportDue.emplace(*groups[index].reportEnd, index);
}

void ServiceBalancer::Impl::scheduleRate(std::size_t index) {
  if (const auto next = groups[index].rate.nextChange()) rateDue.emplace(*next, index);
}

void ServiceBalancer::Impl::noteLoad(std::size_t index) {
  if (picker) picker->setLoad(index, groups[index].load());
}

void ServiceBalancer::Impl::takeGroup(std::size_t index, GroupUpdate& update, Time now) {
  Group& group = groups[index];
  const bool moved = update.before != index;
  group.snapshot = &snapshot->groups[index];
  group.target = update.target;
  switch (update.kind) {
    case GroupUpdate::Kind::same:
    case GroupUpdate::Kind::sameMembers:
      if (moved)
        for (Member* const member : group.listed) member->group = index;
      for (const std::size_t place : update.changed)
        takeMember(*group.listed[place], group.snapshot->endpoints[place]);
      break;
    case GroupUpdate::Kind::other: {
      const std::vector<Member*> before = std::move(group.listed);
      for (Member* const member : before) member->place = kNowhere;
      takeMembers(group, index);
      for (Member* const member : before)
        if (member->place == kNowhere) unlist(*member, true);
      break;
    }
  }
  group.rate.advance(now);
  if (update.kind == GroupUpdate::Kind::same) return;
  gatherServing(group, update.serving);
  // Prepared for all that are fit; names that are not resolved are not among those that serve.
  if (group.serving.size() != update.serving.size()) {
    chooseAmongServing(group);
  } else if (update.chooser) {
    update.chooser->takeTurns(group.chooser);
    std::swap(group.chooser, *update.chooser);
  } else if (group.chooser.size() != group.serving.size()) {
    chooseAmongServing(group);
  }
  gatherReports(index, now);
}

void ServiceBalancer::Impl::update(Prepared& prepared, Time now) {
  if (snapshot != nullptr && snapshot->affinity != prepared.snapshot->affinity) clients.clear();
  prepared.old = std::exchange(snapshot, prepared.snapshot);  // names in it are read until the end
  prepared.oldGroups = std::move(groups);
  prepared.oldPicker = std::move(picker);
  picker.reset();
  rateDue.clear();
  reportDue.clear();
  // Connections of departed members are counted anew.
  for (const std::uint32_t slot : departed) {
    Member& member = members.at(slot);
    if (member.group != kNowhere) prepared.oldGroups[member.group].open -= member.open;
    member.group = kNowhere;
  }
  groups = std::vector<Group>(prepared.groups.size());
  std::vector<bool> stays(prepared.oldGroups.size(), false);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t before = prepared.groups[i].before;
    if (before == kNowhere) continue;
    stays[before] = true;
    groups[i] = std::move(prepared.oldGroups[before]);
  }
  for (std::size_t i = 0; i < stays.size(); ++i)
    if (!stays[i])
      for (Member* const member : prepared.oldGroups[i].listed) unlist(*member, false);
  for (std::size_t i = 0; i < groups.size(); ++i) takeGroup(i, prepared.groups[i], now);
  takeDeparted();

  std::vector<double> loads;
  loads.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    scheduleRate(i);
    scheduleReports(i);
    loads.push_back(groups[i].load());
  }
  anyHealthy = prepared.anyHealthy;
  picker.emplace(std::move(prepared.plan), std::move(loads));
}

void ServiceBalancer::Impl::report(const ProxyLoadReport& report, Time now) {
  std::set<std::size_t> touched;
  for (const auto& item : report.items) {
    const auto slot = slots.find(keyOf(item.group, item.endpoint));
    if (slot == slots.end()) continue;
    Member& member = members.at(slot->second);
    setReport(member, item.utilization);
    if (member.group != kNowhere) touched.insert(member.group);
  }
  for (const std::size_t group : touched) {
    if (groups[group].reportEnd) reportDue.erase({*groups[group].reportEnd, group});
    gatherReports(group, now);
    scheduleReports(group);
    noteLoad(group);
  }
}

void ServiceBalancer::Impl::resolved(std::string_view fqdn, std::vector<Address> addresses) {
  const std::string name(fqdn);
  names.insert_or_assign(name, std::move(addresses));
  if (snapshot == nullptr) return;
  for (Group& group : groups) {
    bool concerned = false;
    for (std::size_t i = 0; i < group.listed.size(); ++i) {
      if (group.snapshot->endpoints[i].fqdn != name) continue;
      concerned = true;
      setAddresses(*group.listed[i], &group.snapshot->endpoints[i]);
    }
    if (!concerned) continue;
    gatherServing(group, balancer::fitPlaces(*group.snapshot));
    chooseAmongServing(group);
  }
}

void ServiceBalancer::Impl::refresh(Time now) {
  while (!rateDue.empty() && rateDue.begin()->first <= now) {
    const std::size_t group = rateDue.begin()->second;
    rateDue.erase(rateDue.begin());
    groups[group].rate.advance(now);
    scheduleRate(group);
    noteLoad(group);
  }
  while (!reportDue.empty() && reportDue.begin()->first <= now) {
    const std::size_t group = reportDue.begin()->second;
    reportDue.erase(reportDue.begin());
    gatherReports(group, now);
    scheduleReports(group);
    noteLoad(group);
  }
}

void ServiceBalancer::Impl::changeOpen(Member& member, int by) {
  const auto change = [by](std::uint64_t& count) { by > 0 ? ++count : --count; };
  change(open);
  change(member.open);
  if (member.group == kNowhere) return;
  Group& group = groups[member.group];
  change(group.open);
  if (member.reportCounts) group.utilizationSum += by * member.utilizationPerConnection();
  noteLoad(member.group);
}

void ServiceBalancer::Impl::opened(ProxySlot slot, Time now) {
  Member* const member = find(slot);
  if (member == nullptr) return;
  refresh(now);
  if (member->group != kNowhere &&
      groups[member->group].snapshot->capacity.mode == BalancingMode::rate) {
    RateWindow& rate = groups[member->group].rate;
    const bool first = !rate.nextChange();
    rate.add(now);
    if (first) scheduleRate(member->group);
  }
  changeOpen(*member, 1);
}

void ServiceBalancer::Impl::closed(ProxySlot slot, Time now) {
  Member* const member = find(slot);
  if (member == nullptr || member->open == 0) return;
  refresh(now);
  changeOpen(*member, -1);
  if (member->open == 0 && member->place == kNowhere) forget(*member);
}

}  // namespace weir
