// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cmath>

#include "balancer_state.h"
#include "weir/proxy_placement.h"

namespace weir {

using balancer::Group;
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

void ServiceBalancer::Impl::setAddresses(Member& member) {
  member.addresses.clear();
  member.firstBlock = 0;
  if (member.endpoint == nullptr) return;
  std::vector<Address> ipv4, ipv6;
  const auto add = [&](const Address& address) {
    (address.isIpv4() ? ipv4 : ipv6).push_back(address);
  };
  if (member.endpoint->ipv4) add(*member.endpoint->ipv4);
  if (member.endpoint->ipv6) add(*member.endpoint->ipv6);
  if (const auto name = names.find(member.endpoint->fqdn); name != names.end())
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
}

void ServiceBalancer::Impl::setReport(Member& member, const ProxyUtilization& utilization) {
  if (member.report == utilization) return;
  member.report = utilization;
  member.openAtReport = member.open;
}

void ServiceBalancer::Impl::takeMembers(Group& group, std::size_t index) {
  for (const ProxyEndpoint& endpoint : group.snapshot->endpoints) {
    Member& member = memberOf(*group.snapshot, endpoint);
    member.endpoint = &endpoint;
    member.group = index;
    member.drainedAway = false;
    member.drainDeadline = endpoint.drainDeadline;
    if (endpoint.utilization) setReport(member, *endpoint.utilization);
    setAddresses(member);
  }
}

void ServiceBalancer::Impl::forgetDeparted() {
  std::unordered_map<std::string_view, std::size_t> indices;
  for (std::size_t i = 0; i < groups.size(); ++i) indices.emplace(groups[i].snapshot->name, i);
  for (auto it = members.begin(); it != members.end();) {
    Member& member = it->second;
    if (member.endpoint == nullptr && member.open == 0) {
      slots.erase(keyOf(member.groupName, member.identity));
      it = members.erase(it);
      continue;
    }
    if (member.endpoint == nullptr)
      if (const auto group = indices.find(member.groupName); group != indices.end())
        member.group = group->second;
    if (member.drainedAway || member.drainDeadline) departing.insert(it->first);
    if (member.group != kNowhere) groups[member.group].open += member.open;
    ++it;
  }
}

void ServiceBalancer::Impl::gatherServing(Group& group) {
  group.serving.clear();
  for (const ProxyEndpoint& endpoint : group.snapshot->endpoints)
    if (Member& member = memberOf(*group.snapshot, endpoint); member.mayServe())
      group.serving.push_back(&member);
  std::sort(group.serving.begin(), group.serving.end(),
            [](const Member* a, const Member* b) { return a->identity < b->identity; });
  MemberChooser::Members chosen;
  const bool weighted = snapshot->locality == LocalityPolicy::weightedRoundRobin;
  for (const Member* member : group.serving) {
    chosen.identities.push_back(member->identity);
    chosen.weights.push_back(weighted ? member->endpoint->weight : 1);
  }
  if (group.chooser.policy() == snapshot->locality && group.chooser.members() == chosen) return;
  group.chooser =
      MemberChooser(snapshot->locality, std::move(chosen), hashSeed, std::move(group.chooser));
}

void ServiceBalancer::Impl::gatherReports(std::size_t index, Time now) {
  Group& group = groups[index];
  if (group.snapshot->capacity.mode != BalancingMode::utilization) return;
  group.utilizationSum = 0;
  group.reports = 0;
  std::optional<Time> next;
  for (Member* member : group.serving) {
    member->reportCounts = member->report && member->report->until >= now;
    if (!member->reportCounts) continue;
    ++group.reports;
    group.utilizationSum += member->report->value + member->utilizationPerConnection() *
                                                        (static_cast<double>(member->open) -
                                                         static_cast<double>(member->openAtReport));
    if (!next || member->report->until < *next) next = member->report->until;
  }
  // After `until`, not at it.
  if (next) reportDue.emplace(*next + Clock::duration(1), index);
}

void ServiceBalancer::Impl::scheduleRate(std::size_t index) {
  if (const auto next = groups[index].rate.nextChange()) rateDue.emplace(*next, index);
}

void ServiceBalancer::Impl::noteLoad(std::size_t index) {
  if (picker) picker->setLoad(index, groups[index].load());
}

void ServiceBalancer::Impl::update(std::shared_ptr<const ProxyServiceSnapshot> next,
                                   const ZoneOrder& order, Time now) {
  std::unordered_map<std::string, Group> before;
  for (Group& group : groups) before.emplace(group.snapshot->name, std::move(group));
  if (snapshot != nullptr && snapshot->affinity != next->affinity) clients.clear();
  const auto old = std::exchange(snapshot, std::move(next));  // names in it are read until the end
  groups.clear();
  groups.reserve(snapshot->groups.size());
  departing.clear();
  rateDue.clear();
  reportDue.clear();
  picker.reset();

  std::set<std::string_view> present;
  for (const ProxyGroup& group : snapshot->groups) present.insert(group.name);
  for (auto& [slot, member] : members) {
    const bool wasThere = std::exchange(member.endpoint, nullptr) != nullptr;
    if (wasThere) member.drainedAway = present.contains(member.groupName);
    member.group = kNowhere;
    member.reportCounts = false;
  }
  for (const ProxyGroup& listed : snapshot->groups) {
    const auto known = before.find(listed.name);
    Group& group = groups.emplace_back(known == before.end() ? Group() : std::move(known->second));
    group.snapshot = &listed;
    group.open = 0;
    takeMembers(group, groups.size() - 1);
  }
  forgetDeparted();

  std::vector<double> loads;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& group = groups[i];
    gatherServing(group);
    group.target = targetCapacity(group.snapshot->capacity, placedGroup(*group.snapshot).members);
    group.rate.advance(now);
    scheduleRate(i);
    gatherReports(i, now);
    loads.push_back(group.load());
  }
  picker.emplace(planOf(*snapshot, order), std::move(loads));
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
    std::erase_if(reportDue, [&](const auto& due) { return due.second == group; });
    gatherReports(group, now);
    noteLoad(group);
  }
}

void ServiceBalancer::Impl::resolved(std::string_view fqdn, std::vector<Address> addresses) {
  const std::string name(fqdn);
  names.insert_or_assign(name, std::move(addresses));
  if (snapshot == nullptr) return;
  for (Group& group : groups) {
    bool concerned = false;
    for (const ProxyEndpoint& endpoint : group.snapshot->endpoints) {
      if (endpoint.fqdn != name) continue;
      concerned = true;
      setAddresses(memberOf(*group.snapshot, endpoint));
    }
    if (concerned) gatherServing(group);
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
  if (member->open != 0 || member->endpoint != nullptr) return;
  departing.erase(slot.value());
  slots.erase(keyOf(member->groupName, member->identity));
  members.erase(slot.value());
}

}  // namespace weir
