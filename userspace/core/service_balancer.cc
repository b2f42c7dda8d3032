// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/service_balancer.h"

#include <algorithm>
#include <tuple>

#include "balancer_state.h"
#include "weir/affinity.h"

namespace weir {

using balancer::Group;
using balancer::kNowhere;
using balancer::Member;

namespace {

std::size_t timesTried(const Member& member, std::span<const ProxySlot> tried) {
  return static_cast<std::size_t>(std::count(tried.begin(), tried.end(), member.slot));
}

std::string_view ruleOf(PlacementPlan::Stage::Kind kind) noexcept {
  switch (kind) {
    case PlacementPlan::Stage::Kind::preferred:
      return "S3.4";
    case PlacementPlan::Stage::Kind::byAlgorithm:
      return "S3";
    case PlacementPlan::Stage::Kind::overfilling:
      return "S3.2";
  }
  return "S3";
}

bool hashes(LocalityPolicy policy) noexcept {
  return policy == LocalityPolicy::maglev || policy == LocalityPolicy::ringHash;
}

BackendPick refusal(CloseReason reason, std::string_view detail, std::string_view rule) {
  BackendPick pick;
  pick.reason = reason;
  pick.detail = detail;
  pick.rule = rule;
  return pick;
}

BackendPick closeBy(std::string_view rule) {
  return refusal(CloseReason::destinationUnavailable, close_detail::kFailedToPickBackend, rule);
}

}  // namespace

// At its own target, where it has one: then a hash looks on for another member.
bool ServiceBalancer::Impl::isFull(const Member& member) const {
  const GroupCapacity& capacity = groups[member.group].snapshot->capacity;
  if (capacity.maxConnectionsPerEndpoint &&
      static_cast<double>(member.open) >=
          capacity.capacityScaler * static_cast<double>(*capacity.maxConnectionsPerEndpoint))
    return true;
  return member.reportCounts && capacity.mode == BalancingMode::utilization &&
         member.report->value >= capacity.capacityScaler * capacity.maxUtilization;
}

BackendPick ServiceBalancer::Impl::found(const Member& member, const Request& request,
                                         std::string_view rule) const {
  BackendPick pick;
  pick.group = groups[member.group].snapshot;
  pick.endpoint = endpointOf(member);
  pick.slot = member.slot;
  pick.rule = rule;
  pick.address.port = pick.endpoint->port;
  // Every client goes through the addresses of a name in an order of its own.
  const std::size_t attempt = timesTried(member, request.tried) % member.addresses.size();
  const std::uint64_t hash =
      hashKey(makeKey(TupleKind::five, request.connection.tuple()), hashSeed ^ kPi5);
  const bool first = attempt < member.firstBlock;
  const std::size_t begin = first ? 0 : member.firstBlock;
  const std::size_t size = first ? member.firstBlock : member.addresses.size() - member.firstBlock;
  pick.address.address = member.addresses[begin + (attempt - begin + (hash >> 32)) % size];
  return pick;
}

// Why there is no backend.
BackendPick ServiceBalancer::Impl::none(const Request& request) const {
  if (!request.tried.empty()) return closeBy("X3.3");
  if (!anyHealthy) return closeBy("X3.2");
  const PlacementPlan& plan = picker->plan();
  if (!plan.stages.empty()) return closeBy("X3.1");  // names without addresses
  const bool isolated = std::any_of(plan.groups.begin(), plan.groups.end(),
                                    [](const auto& group) { return group.keptOutBy() == "S5"; });
  return closeBy(isolated ? "S5" : "S3.3");
}

// The client's last backend, if it may have it again.
Member* ServiceBalancer::Impl::remembered(std::uint64_t client, const Request& request) {
  const auto slot = clients.find(client);
  Member* const member = slot ? find(*slot) : nullptr;
  if (member == nullptr || !mayServe(*member) || !serves(*member) ||
      timesTried(*member, request.tried) != 0)
    return nullptr;
  const bool full = picker->fill(member->group) >= 1 || isFull(*member);
  return !full ? member : nullptr;
}

Member* ServiceBalancer::Impl::choose(Group& group, const Request& request, std::uint64_t hash) {
  const auto at = [&](std::size_t i) -> const Member& { return *group.serving[i]; };
  const auto opened = [&](std::size_t i) { return at(i).open; };
  const auto fresh = [&](std::size_t i) {
    return request.tried.empty() || timesTried(at(i), request.tried) == 0;
  };
  const auto withRoom = [&](std::size_t i) { return fresh(i) && !isFull(at(i)); };
  const auto untriedAddress = [&](std::size_t i) {
    return timesTried(at(i), request.tried) < at(i).addresses.size();
  };
  if (previewing) unpreviewed.emplace(&group, group.chooser);
  std::optional<std::size_t> member;
  if (hashes(group.chooser.policy()))
    member = group.chooser.choose(hash, numbers, {withRoom, opened});
  if (!member) member = group.chooser.choose(hash, numbers, {fresh, opened});
  if (!member) member = group.chooser.choose(hash, numbers, {untriedAddress, opened});
  return member ? group.serving[*member] : nullptr;
}

// Does the policy give its group connections?
bool ServiceBalancer::Impl::serves(const Member& member) const {
  return picker->plan().groups[member.group].serves();
}

BackendPick ServiceBalancer::Impl::toOriginalDestination(const Request& request) const {
  const SocketAddress& wanted = request.connection.server;
  const Member* best = nullptr;
  const Member* keptOut = nullptr;  // its group gets nothing
  // The one at the port too, before others at the address; among equals the first of the service.
  const auto rank = [&](const Member& member) {
    return std::tuple(endpointOf(member)->port != wanted.port, member.group, member.place);
  };
  for (auto [it, end] = atAddress.equal_range(wanted.address); it != end; ++it) {
    const Member& member = members.at(it->second);
    if (!mayServe(member) || timesTried(member, request.tried) != 0) continue;
    if (!serves(member))
      keptOut = &member;
    else if (best == nullptr || rank(member) < rank(*best))
      best = &member;
  }
  if (best == nullptr && keptOut != nullptr && request.tried.empty())
    return closeBy(picker->plan().groups[keptOut->group].keptOutBy());
  if (best == nullptr) return none(request);
  BackendPick pick = found(*best, request, "X4");
  pick.address.address = wanted.address;
  return pick;
}

BackendPick ServiceBalancer::Impl::pick(const Request& request) {
  if (!picker) return closeBy("X3.2");
  refresh(request.now);
  if (snapshot->maxConnections && open >= *snapshot->maxConnections)
    return refusal(CloseReason::connectionLimitReached, close_detail::kMaxConnections, "X4.4");
  if (snapshot->locality == LocalityPolicy::originalDestination)
    return toOriginalDestination(request);

  const Tuple tuple = request.connection.tuple();
  const TupleKind kind = selectionTuple(snapshot->affinity, tuple);
  const std::uint64_t hash = hashKey(makeKey(kind, tuple), hashSeed);
  // The 5-tuple is no client's: every connection has another.
  const bool sticky = kind != TupleKind::five;
  if (sticky)
    if (const Member* member = remembered(hash, request)) {
      if (!previewing) clients.remember(hash, member->slot);
      return found(*member, request, "X4.1");
    }

  const auto any = [&](std::size_t index, auto accepts) {
    const auto& serving = groups[index].serving;
    return std::any_of(serving.begin(), serving.end(),
                       [&](const Member* member) { return accepts(*member); });
  };
  auto choice = picker->pick([&](std::size_t group) {
    return any(group, [&](const Member& m) { return timesTried(m, request.tried) == 0; });
  });
  if (choice.group == GroupPicker::kNone && !request.tried.empty())
    choice = picker->pick([&](std::size_t group) {
      return any(group, [&](const Member& m) {
        return timesTried(m, request.tried) < m.addresses.size();
      });
    });
  if (choice.group == GroupPicker::kNone) return none(request);
  const Member& member = *choose(groups[choice.group], request, hash);
  if (sticky && !previewing) clients.remember(hash, member.slot);
  return found(member, request, ruleOf(choice.stage->kind));
}

BackendPick ServiceBalancer::Impl::preview(const Request& request) {
  const RandomNumbers drawn = numbers;
  previewing = true;
  const BackendPick would = pick(request);
  previewing = false;
  numbers = drawn;
  if (unpreviewed) unpreviewed->first->chooser = std::move(unpreviewed->second);
  unpreviewed.reset();
  return would;
}

ServiceBalancer::ServiceBalancer(std::uint64_t hashSeed, std::uint64_t randomSeed)
    : impl_(std::make_unique<Impl>(hashSeed, randomSeed)) {}
ServiceBalancer::~ServiceBalancer() = default;
ServiceBalancer::ServiceBalancer(ServiceBalancer&&) noexcept = default;
ServiceBalancer& ServiceBalancer::operator=(ServiceBalancer&&) noexcept = default;

std::shared_ptr<ServiceBalancer::Prepared> ServiceBalancer::prepare(
    std::shared_ptr<const ProxyServiceSnapshot> snapshot, const ZoneOrder& order) const {
  return impl_->prepare(std::move(snapshot), order);
}
void ServiceBalancer::update(Prepared& prepared, Time now) { impl_->update(prepared, now); }
void ServiceBalancer::update(std::shared_ptr<const ProxyServiceSnapshot> snapshot,
                             const ZoneOrder& order, Time now) {
  update(*prepare(std::move(snapshot), order), now);
}
void ServiceBalancer::report(const ProxyLoadReport& report, Time now) {
  impl_->report(report, now);
}
void ServiceBalancer::resolved(std::string_view fqdn, std::vector<Address> addresses) {
  impl_->resolved(fqdn, std::move(addresses));
}
BackendPick ServiceBalancer::pick(const Request& request) { return impl_->pick(request); }
BackendPick ServiceBalancer::preview(const Request& request) { return impl_->preview(request); }
std::pair<std::string, std::string> ServiceBalancer::nameOf(ProxySlot slot) const {
  const Member* const member = impl_->find(slot);
  if (member == nullptr) return {};
  return {member->groupName, member->identity};
}
void ServiceBalancer::opened(ProxySlot slot, Time now) { impl_->opened(slot, now); }
void ServiceBalancer::closed(ProxySlot slot, Time now) { impl_->closed(slot, now); }

std::vector<ProxySlot> ServiceBalancer::expired(Time now) const {
  std::vector<ProxySlot> slots;
  for (const std::uint32_t slot : impl_->departing) {
    const Member& member = impl_->members.at(slot);
    const bool due = member.drainedAway || (member.drainDeadline && *member.drainDeadline <= now);
    if (member.open != 0 && due) slots.push_back(member.slot);
  }
  return slots;
}

std::optional<Time> ServiceBalancer::nextDrainDeadline(Time now) const {
  std::optional<Time> next;
  for (const std::uint32_t slot : impl_->departing) {
    const Member& member = impl_->members.at(slot);
    if (member.open == 0 || member.drainedAway || !member.drainDeadline) continue;
    if (*member.drainDeadline > now && (!next || *member.drainDeadline < *next))
      next = member.drainDeadline;
  }
  return next;
}

std::uint64_t ServiceBalancer::openConnections() const noexcept { return impl_->open; }
std::uint64_t ServiceBalancer::openConnections(ProxySlot slot) const {
  const Member* const member = impl_->find(slot);
  return member == nullptr ? 0 : member->open;
}

std::vector<ServiceBalancer::GroupLoad> ServiceBalancer::loads(Time now) {
  impl_->refresh(now);
  std::vector<GroupLoad> loads;
  for (std::size_t i = 0; i < impl_->groups.size(); ++i) {
    const Group& group = impl_->groups[i];
    const double usable = impl_->picker->plan().groups[i].usable;
    const double load = group.load();
    loads.push_back(
        {group.snapshot->name, group.open, load, usable, usable > 0 ? load / usable : 0});
  }
  return loads;
}

}  // namespace weir
