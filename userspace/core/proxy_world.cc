// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_world.h"

#include <algorithm>

#include "hash.h"
#include "weir/affinity.h"

namespace weir {

namespace {

struct PlaceHash {
  std::size_t operator()(const SocketAddress& place) const noexcept {
    return std::hash<Address>()(place.address) ^ (place.port * std::size_t{0x9e3779b97f4a7c15ull});
  }
};

ProxyRoute closeWith(CloseReason reason, std::string_view detail, std::string_view rule) {
  ProxyRoute route;
  route.reason = reason;
  route.detail = detail;
  route.rule = rule;
  return route;
}

// The part of a rule's destinations that a hash falls on, each as large as its weight.
const TlsDestination& destinationOf(const TlsRule& rule, std::uint64_t hash) {
  std::uint64_t sum = 0;
  for (const TlsDestination& destination : rule.destinations) sum += destination.weight;
  std::uint64_t point = ((hash >> 32) * sum) >> 32;
  for (const TlsDestination& destination : rule.destinations) {
    if (point < destination.weight) return destination;
    point -= destination.weight;
  }
  return rule.destinations.front();  // a valid rule has a weight above 0
}

}  // namespace

struct ProxyWorld::Node {
  explicit Node(ProxySnapshot from)
      : snapshot(std::move(from)), order({snapshot.zone, snapshot.region}, snapshot.zones) {
    std::map<std::string_view, std::size_t> proxies;
    std::vector<std::vector<const TlsRoute*>> routes(snapshot.targetProxies.size());
    for (std::size_t i = 0; i < snapshot.targetProxies.size(); ++i)
      proxies.emplace(snapshot.targetProxies[i].name, i);
    for (const TlsRoute& route : snapshot.tlsRoutes) {
      std::set<std::size_t> named;  // a route that names a proxy twice is one of its routes once
      for (const std::string& proxy : route.targetProxies)
        if (const auto found = proxies.find(proxy); found != proxies.end())
          named.insert(found->second);
      for (const std::size_t proxy : named) routes[proxy].push_back(&route);
    }
    routings.reserve(routes.size());
    for (const auto& ofProxy : routes) routings.emplace_back(ofProxy);
    for (const ProxyFront& front : snapshot.fronts) {
      const auto proxy = proxies.find(front.targetProxy);
      if (proxy == proxies.end()) continue;
      byPlace.try_emplace({front.address, front.port}, fronts.size());
      fronts.push_back({&front, &snapshot.targetProxies[proxy->second], &routings[proxy->second]});
    }
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  ProxySnapshot snapshot;
  ZoneOrder order;
  std::vector<TlsRouting> routings;  // by target proxy
  std::vector<Front> fronts;
  std::unordered_map<SocketAddress, std::size_t, PlaceHash> byPlace;
};

ProxyWorld::ProxyWorld() : node_(std::make_shared<const Node>(ProxySnapshot{})) {}
ProxyWorld::~ProxyWorld() = default;

std::shared_ptr<const ProxyWorld> ProxyWorld::after(const SnapshotMessage& message) const {
  auto next = std::make_shared<ProxyWorld>(*this);
  if (const auto* node = std::get_if<ProxySnapshot>(&message)) {
    next->node_ = std::make_shared<const Node>(*node);
  } else if (const auto* service = std::get_if<ProxyServiceSnapshot>(&message)) {
    next->services_.insert_or_assign(service->name,
                                     std::make_shared<const ProxyServiceSnapshot>(*service));
    if (next->heardInSync_) next->heardInSync_->insert(service->name);
  } else if (const auto* removed = std::get_if<ProxyServiceRemoved>(&message)) {
    next->services_.erase(removed->name);
  } else if (std::holds_alternative<SyncBegin>(message)) {
    next->heardInSync_.emplace();
  } else if (std::holds_alternative<SyncEnd>(message) && next->heardInSync_) {
    std::erase_if(next->services_,
                  [&](const auto& known) { return !next->heardInSync_->contains(known.first); });
    next->heardInSync_.reset();
  }
  return next;
}

const ProxySnapshot& ProxyWorld::node() const noexcept { return node_->snapshot; }
const ZoneOrder& ProxyWorld::zoneOrder() const noexcept { return node_->order; }
std::span<const ProxyWorld::Front> ProxyWorld::fronts() const noexcept { return node_->fronts; }

const ProxyWorld::Front* ProxyWorld::frontOf(const SocketAddress& server) const noexcept {
  const auto found = node_->byPlace.find(server);
  return found == node_->byPlace.end() ? nullptr : &node_->fronts[found->second];
}

std::shared_ptr<const ProxyServiceSnapshot> ProxyWorld::service(std::string_view name) const {
  const auto found = services_.find(name);
  return found == services_.end() ? nullptr : found->second;
}

ProxyRoute ProxyWorld::route(const Front& front, const HelloSeen* hello,
                             const ProxyConnection& connection) const {
  const std::string* service = &front.proxy->service;
  ProxyRoute route;
  if (front.needsHello()) {
    const HelloProblem problem = hello == nullptr ? HelloProblem::notTls : hello->problem;
    if (problem != HelloProblem::none)
      return closeWith(CloseReason::tlsProtocolError, toString(problem), "X6.2");
    const TlsRouting::Match match = front.routing->find(hello->serverName, hello->protocols);
    if (!match)
      return closeWith(CloseReason::destinationUnavailable, close_detail::kDestinationNotFound,
                       "X6.2");
    // Not the hash that backends are chosen by: a destination must not get the same few of them.
    const std::uint64_t hash =
        hashKey(makeKey(TupleKind::five, connection.tuple()), node().hashSeed ^ kPi6);
    service = &destinationOf(*match.rule, hash).service;
    route.tlsRoute = match.route->name;
    route.idleTimeout = match.rule->idleTimeout;
  }
  const auto found = services_.find(*service);
  if (found == services_.end()) {  // never in a steady state
    route.reason = CloseReason::destinationUnavailable;
    route.detail = close_detail::kDestinationNotFound;
    route.rule = "X2.1";
    return route;
  }
  route.service = found->second.get();
  if (!front.needsHello()) route.idleTimeout = route.service->idleTimeout;
  return route;
}

}  // namespace weir
