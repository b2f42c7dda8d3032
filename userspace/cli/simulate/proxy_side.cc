// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/proxy_side.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "weir/dns_name.h"
#include "weir/proxy_placement.h"

namespace weir::cli {
namespace {

// Equal input gives equal output.
constexpr std::uint64_t kRandomSeed = 0;

// What a client's hello would be read as.
struct Said {
  explicit Said(const ConnectionEvent& event) {
    if (!event.sni) {
      seen.problem = HelloProblem::noServerName;
    } else if (auto normal = normalizeDnsName(*event.sni)) {
      name = std::move(*normal);
    } else {
      seen.problem = HelloProblem::badServerName;
    }
    seen.serverName = name;
    seen.protocols = event.alpn;
  }
  std::string name;
  HelloSeen seen;
};

Line closed(std::string_view rule, CloseReason reason) {
  Line line;
  line.action = "close";
  line.rule = rule;
  line.reason = toString(reason);
  return line;
}

// Nothing is resolved without a network: a name stands for itself.
std::string endpointOf(const BackendPick& pick) {
  if (!pick.endpoint->fqdn.empty()) return pick.endpoint->endpoint;
  Endpoint at;
  (pick.address.address.isIpv4() ? at.ipAddress : at.ipv6Address) = pick.address.address;
  at.port = pick.address.port;
  return at.identity();
}

}  // namespace

void ProxySide::apply(const Configuration& configuration, Time now) {
  tell(plane_.apply(configuration, now), now);
}
void ProxySide::setHealth(std::span<const ControlPlane::HealthUpdate> updates, Time now) {
  tell(plane_.setHealth(updates, now), now);
}
void ProxySide::setWeight(std::span<const ControlPlane::WeightUpdate> updates, Time now) {
  tell(plane_.setWeight(updates, now), now);
}
void ProxySide::setUtilization(std::span<const ProxyPlane::UtilizationUpdate> updates, Time now) {
  tell(plane_.setUtilization(updates, now), now);
}

void ProxySide::advance(Time now) {
  for (auto due = plane_.nextDeadline(); due && *due <= now; due = plane_.nextDeadline())
    tell(plane_.advance(*due), *due);
  closeDrained(now);
}

void ProxySide::update(const std::string& name, Time now) {
  const auto service = world_->service(name);
  std::shared_ptr<ServiceBalancer>& balancer = balancers_[name];
  if (balancer == nullptr)
    balancer = std::make_shared<ServiceBalancer>(world_->node().hashSeed, kRandomSeed);
  for (const ProxyGroup& group : service->groups)
    for (const ProxyEndpoint& endpoint : group.endpoints)
      if (!endpoint.fqdn.empty()) balancer->resolved(endpoint.fqdn, {Address()});
  balancer->update(service, world_->zoneOrder(), now);
}

void ProxySide::tell(ProxyChanges changes, Time now) {
  std::set<std::string> changed;
  for (const ProxyServiceSnapshot& service : changes.services) changed.insert(service.name);
  const bool nodeChanged = changes.node.has_value();
  const std::vector<ProxyLoadReport> reports = changes.reports;
  for (const std::string& name : changes.removed) balancers_.erase(name);
  for (const SnapshotMessage& message : messagesOf(std::move(changes)))
    world_ = world_->after(message);
  if (nodeChanged)
    for (const auto& [name, service] : world_->services()) changed.insert(name);
  for (const std::string& name : changed) update(name, now);
  for (const ProxyLoadReport& report : reports) balancers_.at(report.service)->report(report, now);
  closeDrained(now);
}

void ProxySide::closeDrained(Time now) {
  std::set<std::pair<const ServiceBalancer*, ProxySlot>> drained;
  for (const auto& [name, balancer] : balancers_)
    for (const ProxySlot slot : balancer->expired(now)) drained.emplace(balancer.get(), slot);
  if (drained.empty()) return;
  for (auto it = open_.begin(); it != open_.end();) {
    const Connection& connection = it->second;
    if (!drained.contains({connection.balancer.get(), connection.slot})) {
      ++it;
      continue;
    }
    connection.balancer->closed(connection.slot, now);
    it = open_.erase(it);
  }
}

Line ProxySide::connect(const ConnectionEvent& event, Time now) {
  const ProxyWorld::Front* const front = world_->frontOf(event.ends.server);
  if (front == nullptr) return closed("X1.4", CloseReason::connectionRefused);
  const Said said(event);
  const ProxyRoute route =
      world_->route(*front, front->needsHello() ? &said.seen : nullptr, event.ends);
  Line line;
  if (!route) {
    line = closed(route.rule, route.reason);
  } else {
    const auto& balancer = balancers_.at(route.service->name);
    const BackendPick pick = balancer->pick({event.ends, now});
    if (pick) {
      balancer->opened(pick.slot, now);
      open_.insert_or_assign(event.id, Connection{balancer, pick.slot});
      line.action = "proxy";
      line.group = pick.group->name;
      line.endpoint = endpointOf(pick);
      line.connection = "new";
      line.rule = pick.rule;
    } else {
      line = closed(pick.rule, pick.reason);
    }
    line.service = route.service->name;
  }
  line.forwardingRule = front->rule->rule;
  line.route = route.tlsRoute;
  return line;
}

void ProxySide::close(const CloseEvent& event, Time now) {
  const auto connection = open_.find(event.id);
  if (connection == open_.end()) return;  // it never was, or its backend has drained
  connection->second.balancer->closed(connection->second.slot, now);
  open_.erase(connection);
}

Line ProxySide::load(const LoadEvent& event) const {
  const auto service = world_->service(event.service);
  const PlacementPlan plan = planOf(*service, world_->zoneOrder());
  // X4.4: the breaker closes what is beyond it, whatever room the groups have.
  const double most = service->maxConnections ? static_cast<double>(*service->maxConnections)
                                              : std::numeric_limits<double>::infinity();
  const double served = plan.stages.empty() ? 0 : std::min<double>(event.connections, most);
  const std::vector<double> loads = distribute(plan, served);
  const std::vector<PlacedGroup> placed = placedGroups(*service);
  Line line;
  line.service = event.service;
  Line::Load load;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const double usable = plan.groups[i].usable;
    load.groups.push_back({placed[i].name, loads[i], placed[i].capacity, usable,
                           usable > 0 ? loads[i] / usable : 0, service->groups[i].drained});
  }
  load.unserved = event.connections - served;
  line.load = std::move(load);
  return line;
}

}  // namespace weir::cli
