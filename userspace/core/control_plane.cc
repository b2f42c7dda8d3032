// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/control_plane.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "control_plane_state.h"

namespace weir {
namespace control {

Index::Index(const Configuration& configuration) {
  for (const NetworkEndpointGroup& group : configuration.groups) groups.emplace(group.name, &group);
  for (const BackendService& service : configuration.services) {
    if (!isPassthrough(service.scheme)) continue;
    services.emplace(service.name, &service);
    for (const ServiceBackend& backend : service.backends) {
      auto& users = servicesOfGroup[backend.group];
      if (users.empty() || users.back() != service.name) users.push_back(service.name);
    }
  }
}

}  // namespace control

using namespace control;

struct ControlPlane::Impl {
  Health initialHealth;
  State state;
  Index index;
  std::optional<Time> deadline;  // earliestDeadline() of the state

  // Rebuilds the named services after an event.
  Changes rebuild(const std::set<std::string>& names) {
    Changes changes;
    const Generation next(state.generation.value() + 1);
    for (const std::string& name : names) {
      ServiceState& service = state.services.at(name);
      if (rebuildService(state, index, *index.services.at(name), service, next))
        changes.services.push_back(service.snapshot);
    }
    if (!changes.empty()) state.generation = next;
    deadline = earliestDeadline(state);
    return changes;
  }

  void expire(Time now, std::set<std::string>& affected) {
    if (!deadline || *deadline > now) return;
    expireDrains(state, index, now, affected);
    returnMarks(state, index);
  }

  // The services that use the group; `only`: if not empty, of these the one of that name.
  void addServicesOf(const std::string& group, std::string_view only,
                     std::set<std::string>& affected) const {
    const auto users = index.servicesOfGroup.find(group);
    if (users == index.servicesOfGroup.end()) return;
    for (const std::string& service : users->second)
      if (only.empty() || service == only) affected.insert(service);
  }

  // The configured backend of a service, or an error fit for an operator.
  Result<const BackendService*> backendOf(std::string_view service,
                                          std::string_view endpoint) const {
    const auto found = index.services.find(std::string(service));
    if (found == index.services.end())
      return Error{fmt::format("no passthrough backend service is named '{}'", service)};
    if (const Status drainable = checkDrainable(*found->second, state.endpoints, endpoint);
        !drainable)
      return drainable.error();
    return found->second;
  }
};

namespace {

// A lookup table indexes the backends of a service with 16 bits.
constexpr std::size_t kMaxBackends = 65535;

Status checkSizes(const State& state, const Index& index) {
  for (const auto& [name, service] : index.services) {
    const std::size_t count = listings(state, index, *service, state.services.at(name)).size();
    if (count > kMaxBackends)
      return Error{
          fmt::format("backend service '{}' has {} backends (draining ones included); at "
                      "most {} are possible",
                      name, count, kMaxBackends)};
  }
  return success();
}

std::string nameAll(const std::vector<EndpointRef>& refs) {
  std::string names;
  for (const EndpointRef& ref : refs)
    names += fmt::format("{}{}/{}", names.empty() ? "" : ", ", ref.group, ref.endpoint);
  return names;
}

}  // namespace

ControlPlane::ControlPlane(Health initialHealth) : impl_(std::make_unique<Impl>()) {
  impl_->initialHealth = initialHealth;
}
ControlPlane::~ControlPlane() = default;

Result<Changes> ControlPlane::apply(Configuration configuration, Time now) {
  State state = impl_->state;
  state.configuration = std::move(configuration);
  const Index index(state.configuration);
  Changes changes;

  std::set<std::string> ended;  // every service is rebuilt below
  expireDrains(state, impl_->index, now, ended);
  updateEndpoints(state.configuration, state.endpoints, impl_->initialHealth, now);
  if (Status numbered = numberMarks(state, index); !numbered) return numbered.error();
  if (Status numbered = numberServices(state, index, changes.removed); !numbered)
    return numbered.error();
  if (Status sized = checkSizes(state, index); !sized) return sized.error();

  const Generation next(state.generation.value() + 1);
  for (auto& [name, service] : state.services) {
    const BackendService& configured = *index.services.at(name);
    if (rebuildService(state, index, configured, service, next))
      changes.services.push_back(service.snapshot);
  }
  if (rebuildRules(state, next)) changes.rules = state.rules;
  if (!changes.empty()) state.generation = next;
  state.applied = true;

  impl_->state = std::move(state);
  impl_->index = Index(impl_->state.configuration);
  impl_->deadline = earliestDeadline(impl_->state);
  return changes;
}

const Configuration& ControlPlane::configuration() const noexcept {
  return impl_->state.configuration;
}

Result<Changes> ControlPlane::setHealth(std::span<const HealthUpdate> updates, Time now) {
  std::vector<EndpointRef> refused;
  for (const HealthUpdate& update : updates)
    if (update.health == Health::draining || !impl_->state.endpoints.contains(update.endpoint))
      refused.push_back(update.endpoint);
  if (!refused.empty())
    return Error{fmt::format("no probe can report this (unknown endpoint, or DRAINING): {}",
                             nameAll(refused))};

  std::set<std::string> affected;
  impl_->expire(now, affected);
  for (const HealthUpdate& update : updates) {
    const auto endpoint = impl_->state.endpoints.find(update.endpoint);
    if (endpoint == impl_->state.endpoints.end()) continue;  // its drain has just ended
    if (note(endpoint->second, update))
      impl_->addServicesOf(update.endpoint.group, update.service, affected);
  }
  return impl_->rebuild(affected);
}

Result<Changes> ControlPlane::setWeight(std::span<const WeightUpdate> updates, Time now) {
  constexpr std::uint32_t kMaxWeight = 1000;
  std::vector<EndpointRef> refused;
  for (const WeightUpdate& update : updates)
    if (!impl_->state.endpoints.contains(update.endpoint) ||
        (update.weight.kind == ReportedWeight::Kind::value && update.weight.value > kMaxWeight))
      refused.push_back(update.endpoint);
  if (!refused.empty())
    return Error{
        fmt::format("unknown endpoint, or weight beyond {}: {}", kMaxWeight, nameAll(refused))};

  std::set<std::string> affected;
  impl_->expire(now, affected);
  for (const WeightUpdate& update : updates) {
    const auto endpoint = impl_->state.endpoints.find(update.endpoint);
    if (endpoint == impl_->state.endpoints.end()) continue;  // its drain has just ended
    if (note(endpoint->second, update))
      impl_->addServicesOf(update.endpoint.group, update.service, affected);
  }
  return impl_->rebuild(affected);
}

Result<Changes> ControlPlane::drain(std::string_view service, std::string_view endpoint,
                                    std::optional<std::chrono::seconds> timeout, Time now) {
  const auto backend = impl_->backendOf(service, endpoint);
  if (!backend) return backend.error();
  const Result<Time> deadline = drainDeadline(**backend, timeout, now);
  if (!deadline) return deadline.error();

  std::set<std::string> affected{std::string(service)};
  impl_->expire(now, affected);
  OperatorDrain& drain =
      impl_->state.services.at(std::string(service)).drains[std::string(endpoint)];
  // Of one that has ended nothing is left to count for.
  if (!drain.ended) drain = {*deadline, *deadline == now};
  return impl_->rebuild(affected);
}

Result<Changes> ControlPlane::undrain(std::string_view service, std::string_view endpoint,
                                      Time now) {
  const auto backend = impl_->backendOf(service, endpoint);
  if (!backend) return backend.error();
  std::set<std::string> affected{std::string(service)};
  impl_->expire(now, affected);
  auto& drains = impl_->state.services.at(std::string(service)).drains;
  const auto drain = drains.find(std::string(endpoint));
  if (drain == drains.end())
    return Error{
        fmt::format("'{}' of backend service '{}' is not draining by command", endpoint, service)};
  drains.erase(drain);
  return impl_->rebuild(affected);
}

Changes ControlPlane::advance(Time now) {
  if (!impl_->deadline || *impl_->deadline > now) return {};
  std::set<std::string> affected;
  impl_->expire(now, affected);
  return impl_->rebuild(affected);
}

std::optional<Time> ControlPlane::nextDeadline() const { return impl_->deadline; }

Changes ControlPlane::everything() const {
  Changes all;
  if (!impl_->state.applied) return all;
  for (const auto& [name, service] : impl_->state.services)
    all.services.push_back(service.snapshot);
  all.rules = impl_->state.rules;
  return all;
}

std::vector<BackendRoute> ControlPlane::routes() const {
  const State& state = impl_->state;
  std::map<Mark, BackendRoute> byMark;
  if (!state.applied) return {};
  for (const auto& [name, service] : state.services) {
    for (const auto& [identity, backend] : service.backends) {
      const Mark mark =
          markAt(state.marks.at(backend.addresses), state.configuration.node.fwmarkMask);
      byMark.try_emplace(mark, BackendRoute{mark, backend.addresses.ipv4, backend.addresses.ipv6});
    }
  }
  std::vector<BackendRoute> routes;
  routes.reserve(byMark.size());
  for (auto& [mark, route] : byMark) routes.push_back(route);
  return routes;
}

std::optional<ServiceView> ControlPlane::view(std::string_view name) const {
  const State& state = impl_->state;
  const auto service = impl_->index.services.find(std::string(name));
  if (service == impl_->index.services.end()) return std::nullopt;
  const ServiceState& known = state.services.at(service->first);
  ServiceView view{service->first, known.eligibility, {}};
  std::set<BackendSlot> eligibleSlots;
  for (const auto& member : known.eligibility.set.members) eligibleSlots.insert(member.slot);
  for (const Listing& listing : listings(state, impl_->index, *service->second, known)) {
    BackendView backend;
    backend.group = listing.ref->group;
    backend.endpoint = listing.ref->endpoint;
    backend.zone = listing.group->zone;
    backend.failover = listing.failover;
    backend.health = listing.draining() ? Health::draining
                     : listing.countsHealthy(*service->second)
                         ? Health::healthy
                         : listing.endpoint->verdict(service->first).health;
    backend.weight = listing.endpoint->weight(service->first);
    backend.drainDeadline = listing.deadline();
    if (const auto entry = known.backends.find(listing.ref->endpoint);
        entry != known.backends.end()) {
      backend.eligible = eligibleSlots.contains(entry->second.slot);
      backend.mark =
          markAt(state.marks.at(entry->second.addresses), state.configuration.node.fwmarkMask);
    }
    view.backends.push_back(std::move(backend));
  }
  return view;
}

std::optional<Health> ControlPlane::health(const EndpointRef& ref, std::string_view service) const {
  const auto endpoint = impl_->state.endpoints.find(ref);
  if (endpoint == impl_->state.endpoints.end()) return std::nullopt;
  return endpoint->second.leaves ? Health::draining : endpoint->second.verdict(service).health;
}

std::string ControlPlane::save() const { return toJson(impl_->state); }

Status ControlPlane::restore(std::string_view text) {
  Result<State> state = fromJson(text);
  if (!state) return state.error();
  impl_->state = std::move(*state);
  impl_->index = Index();
  impl_->deadline.reset();
  return success();
}

}  // namespace weir
