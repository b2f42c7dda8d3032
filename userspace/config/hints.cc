// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is allowed but probably not meant.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "config/checks.h"
#include "config/words.h"
#include "weir/model_words.h"

namespace weir::config {
namespace {

// Endpoint addresses of a service's groups, with what matters to hints.
struct ServiceFacts {
  bool anyFixedWeight = false;
  bool anyPort = false;
};

ServiceFacts factsOf(const BackendService& service, const Index& index) {
  ServiceFacts facts;
  for (const ServiceBackend& backend : service.backends) {
    const auto* group = index.group(backend.group);
    if (group == nullptr) continue;
    for (const Endpoint& endpoint : group->value.endpoints) {
      facts.anyFixedWeight = facts.anyFixedWeight || endpoint.weight;
      facts.anyPort = facts.anyPort || endpoint.port;
    }
  }
  return facts;
}

void hintBackends(const Located<BackendService>& located, const Index& index, Problems& problems) {
  const BackendService& service = located.value;
  const std::string name = quote(service.name);
  if (service.healthCheck.empty())
    problems.warning(located.at(), fmt::format("service {} has no health check: all its backends "
                                               "count as healthy",
                                               name));
  if (service.backends.empty()) {
    problems.warning(located.at(), fmt::format("service {} has no backends: its {}", name,
                                               service.isManaged() ? "connections are closed"
                                                                   : "packets are dropped"));
    return;
  }
  const bool noEndpoints =
      std::all_of(service.backends.begin(), service.backends.end(), [&](const auto& backend) {
        const auto* group = index.group(backend.group);
        return group != nullptr && group->value.endpoints.empty();
      });
  if (noEndpoints)
    problems.warning(
        located.at("backends"),
        fmt::format("no group of service {} has an endpoint: its {}", name,
                    service.isManaged() ? "connections are closed" : "packets are dropped"));
  const bool onlyFailover = std::all_of(service.backends.begin(), service.backends.end(),
                                        [](const auto& b) { return b.failover; });
  if (onlyFailover)
    problems.warning(located.at("backends"),
                     fmt::format("all groups of service {} are failover groups", name));
  if (!service.hasFailoverPolicy() && service.failover != FailoverPolicy{})
    problems.hint(located.at("failoverPolicy"),
                  fmt::format("failoverPolicy has no effect: no group of service {} has "
                              "'failover: true'",
                              name));

  if (service.isManaged()) return;  // giveProxyHints()
  const ServiceFacts facts = factsOf(service, index);
  if (facts.anyPort)
    problems.warning(located.at("backends"),
                     fmt::format("groups of service {} give ports, which have no effect: packets "
                                 "arrive at the port the client chose",
                                 name));
  const auto* check = index.healthCheck(service.healthCheck);
  const bool weightsArrive =
      facts.anyFixedWeight || (check != nullptr && readsHeaders(check->value.type));
  if (service.weighted && !weightsArrive)
    problems.warning(located.at("localityLbPolicy"),
                     fmt::format("no backend of service {} can have a weight: it needs a health "
                                 "check of type HTTP, HTTPS or HTTP2, or 'weight' in endpoints",
                                 name));
  if (!service.weighted && facts.anyFixedWeight)
    problems.hint(located.at("backends"),
                  fmt::format("weights of endpoints have no effect in service {}: its "
                              "localityLbPolicy is not WEIGHTED_MAGLEV or WEIGHTED_GCP_RENDEZVOUS",
                              name));
}

void hintZonalAffinity(const Located<BackendService>& located, const Draft& draft,
                       const Index& index, Problems& problems) {
  const BackendService& service = located.value;
  constexpr auto kPath = "networkPassThroughLbTrafficPolicy.zonalAffinity";
  if (service.spilloverRatio > 0 && service.spillover != Spillover::spillCrossZone)
    problems.hint(located.at(fmt::format("{}.spilloverRatio", kPath)),
                  "spilloverRatio acts only with spillover ZONAL_AFFINITY_SPILL_CROSS_ZONE");
  if (service.spillover == Spillover::disabled) return;
  const auto& zones = draft.node.value.zones;
  const bool anyRange = std::any_of(zones.begin(), zones.end(),
                                    [](const Zone& z) { return !z.clientRanges.empty(); });
  if (!anyRange)
    problems.hint(located.at(kPath),
                  "zonal affinity never acts: no zone in weir.yaml has clientRanges");
  for (std::size_t i = 0; i < service.backends.size(); ++i) {
    const auto* group = index.group(service.backends[i].group);
    if (group != nullptr && group->value.zone.empty())
      problems.hint(located.at(fmt::format("backends.{}.group", i)),
                    fmt::format("group {} has no zone: zonal affinity never prefers it",
                                quote(group->value.name)));
  }
}

// P8.4: can all fragments of a datagram reach one backend? Only a rule with allPorts catches later
// fragments, and only attributes without ports are the same for all packets of a client.
void hintFragments(const Draft& draft, const Index& index, Problems& problems) {
  std::set<std::string_view> told;
  for (const auto& rule : draft.rules) {
    const auto* service = index.service(rule.value.backendService);
    if (service == nullptr || rule.value.protocol != Protocol::udp) continue;
    const bool affinityFits = service->value.affinity == SessionAffinity::clientIp ||
                              service->value.affinity == SessionAffinity::clientIpProto ||
                              service->value.affinity == SessionAffinity::clientIpNoDestination;
    const bool fits = rule.value.ports.empty() && affinityFits &&
                      service->value.tracking == TrackingMode::perSession;
    if (fits || !told.insert(service->value.name).second) continue;
    problems.hint(rule.at(),
                  fmt::format("UDP service {} cannot keep the fragments of a datagram together; if "
                              "its datagrams can be larger than a packet, use 'allPorts: true', "
                              "sessionAffinity CLIENT_IP or CLIENT_IP_PROTO, and trackingMode "
                              "PER_SESSION",
                              quote(service->value.name)));
  }
}

void hintEndpoints(const Draft& draft, Problems& problems) {
  std::unordered_set<Address> virtualAddresses;
  for (const auto& rule : draft.rules) virtualAddresses.insert(rule.value.address);
  for (const auto& group : draft.groups) {
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < group.value.endpoints.size(); ++i) {
      const Endpoint& endpoint = group.value.endpoints[i];
      const Origin at = group.at(fmt::format("endpoints.{}", i));
      const std::string identity = endpoint.fqdn.empty() ? endpoint.identity() : endpoint.fqdn;
      if (!seen.insert(identity).second)
        problems.warning(at, fmt::format("endpoint {} is listed twice in group {}; it counts once",
                                         identity, quote(group.value.name)));
      for (const Family family : {Family::ipv4, Family::ipv6}) {
        const auto address = endpoint.addressOf(family);
        if (address && virtualAddresses.contains(*address))
          problems.warning(at, fmt::format("endpoint {} has the address of a forwarding rule: its "
                                           "own address is needed to reach it",
                                           identity));
      }
    }
  }
}

// One endpoint in several groups of a service.
void hintSharedEndpoints(const Draft& draft, const Index& index, Problems& problems) {
  for (const auto& service : draft.services) {
    if (service.value.isManaged()) continue;
    std::unordered_map<std::string, std::string_view> groupOf;
    for (std::size_t i = 0; i < service.value.backends.size(); ++i) {
      const auto* group = index.group(service.value.backends[i].group);
      if (group == nullptr) continue;
      for (const Endpoint& endpoint : group->value.endpoints) {
        const auto [first, isNew] = groupOf.try_emplace(endpoint.identity(), group->value.name);
        if (isNew || first->second == group->value.name) continue;
        problems.warning(service.at(fmt::format("backends.{}.group", i)),
                         fmt::format("endpoint {} is in group {} and in group {} of service {}; it "
                                     "counts once",
                                     first->first, quote(first->second), quote(group->value.name),
                                     quote(service.value.name)));
      }
    }
  }
}

void hintUnused(const Draft& draft, Problems& problems) {
  std::unordered_set<std::string_view> checks, groups, services;
  for (const auto& service : draft.services) {
    checks.insert(service.value.healthCheck);
    for (const ServiceBackend& backend : service.value.backends) groups.insert(backend.group);
  }
  for (const auto& rule : draft.rules) services.insert(rule.value.backendService);
  for (const auto& proxy : draft.targetProxies) services.insert(proxy.value.service);
  for (const auto& route : draft.tlsRoutes)
    for (const TlsRule& rule : route.value.rules)
      for (const TlsDestination& destination : rule.destinations)
        services.insert(destination.service);
  for (const auto& l : draft.healthChecks)
    if (!checks.contains(l.value.name))
      problems.hint(l.at(), fmt::format("no service uses health check {}", quote(l.value.name)));
  for (const auto& l : draft.groups)
    if (!groups.contains(l.value.name))
      problems.hint(l.at(), fmt::format("no service uses group {}", quote(l.value.name)));
  for (const auto& l : draft.services)
    if (!services.contains(l.value.name))
      problems.hint(
          l.at(), fmt::format("no {} leads to service {}",
                              l.value.isManaged() ? "target proxy or TLS route" : "forwarding rule",
                              quote(l.value.name)));
}

// An address is announced once, whatever number of rules it has.
void hintAnnounce(const Draft& draft, Problems& problems) {
  std::unordered_map<Address, const Located<ForwardingRule>*> first;
  for (const auto& rule : draft.rules) {
    const auto [other, isNew] = first.try_emplace(rule.value.address, &rule);
    const Announce announced = other->second->value.announce;
    if (isNew || announced == rule.value.announce) continue;
    problems.warning(rule.at("announce"),
                     fmt::format("rules {} and {} of address {} differ in announce ({} and {}); "
                                 "give all rules of an address the same",
                                 quote(rule.value.name), quote(other->second->value.name),
                                 rule.value.address.toString(), toString(rule.value.announce),
                                 toString(announced)));
  }
}

// N4
void hintRoutes(const Draft& draft, Problems& problems) {
  std::map<std::pair<Prefix, std::uint16_t>, const Located<Route>*> seen;
  for (const auto& route : draft.routes) {
    const auto [first, isNew] =
        seen.try_emplace({route.value.destRange, route.value.priority}, &route);
    if (isNew) continue;
    const std::string& a = first->second->value.name;
    const std::string& b = route.value.name;
    problems.hint(route.at(),
                  fmt::format("routes {} and {} have the same range and priority; {} is used",
                              quote(a), quote(b), quote(std::min(a, b))));
  }
}

void hintZones(const Draft& draft, Problems& problems) {
  const Node& node = draft.node.value;
  if (node.zones.empty()) return;
  std::set<std::string_view> known;
  for (const Zone& zone : node.zones) {
    known.insert(zone.name);
    known.insert(zone.region);
  }
  known.insert(node.zone);
  known.insert(node.region);
  std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, milliseconds] : node.proximityMs)
    if (!known.contains(name))
      problems.warning(
          draft.node.at(fmt::format("proximity.{}", name)),
          fmt::format("there is no zone or region {}{}", quote(name), didYouMean(name, names)));
  for (const auto& group : draft.groups)
    if (!group.value.zone.empty() && !known.contains(group.value.zone))
      problems.hint(group.at("zone"),
                    fmt::format("zone {} of group {} is not among the zones of weir.yaml{}",
                                quote(group.value.zone), quote(group.value.name),
                                didYouMean(group.value.zone, names)));
}

}  // namespace

bool readsHeaders(HealthCheck::Type type) noexcept {
  switch (type) {
    case HealthCheck::Type::http:
    case HealthCheck::Type::https:
    case HealthCheck::Type::http2:
      return true;
    case HealthCheck::Type::tcp:
    case HealthCheck::Type::ssl:
    case HealthCheck::Type::grpc:
    case HealthCheck::Type::grpcWithTls:
      return false;
  }
  return false;
}

void giveHints(const Draft& draft, const Index& index, Problems& problems) {
  for (const auto& service : draft.services) {
    hintBackends(service, index, problems);
    hintZonalAffinity(service, draft, index, problems);
  }
  hintSharedEndpoints(draft, index, problems);
  hintFragments(draft, index, problems);
  hintEndpoints(draft, problems);
  hintUnused(draft, problems);
  hintAnnounce(draft, problems);
  hintRoutes(draft, problems);
  hintZones(draft, problems);
}

}  // namespace weir::config
