// SPDX-License-Identifier: GPL-2.0-or-later
//
// The wire form of the TCP proxy's messages: their fields in the order of their declaration.
#include <set>
#include <tuple>
#include <unordered_set>

#include "snapshot_wire.h"

namespace weir::wire {
namespace {

constexpr std::uint32_t kMaxSeconds = 2147483647;  // X5.1
constexpr std::uint32_t kMaxWeight = 1000;
constexpr double kMaxLimit = 2147483647;  // of connections and rates
constexpr std::size_t kPrefixBytes = 16 + 1;

constexpr auto putString = [](Writer& out) {
  return [&out](const std::string& text) { out.put(text); };
};
auto takeStrings(Reader& in) {
  return in.takeList<std::string>(2, [&] { return in.takeString(); });
}

// Names, or whatever must be there once.
template <class Key>
class Unique {
 public:
  void add(Reader& in, Key key, const char* what) {
    in.check(seen_.insert(std::move(key)).second, what);
  }
  bool has(const Key& key) const { return seen_.contains(key); }

 private:
  std::set<Key> seen_;
};

void put(Writer& out, const ProxySettings& settings) {
  out.putList(settings.sourceAddresses, [&](const Address& address) { out.put(address); });
  out.put(settings.clientHelloTimeout);
  out.put(settings.shutdownGrace);
  out.put(static_cast<std::uint32_t>(settings.threads));
  out.put(settings.keepaliveIdle);
  out.put(settings.keepaliveInterval);
  out.put(static_cast<std::uint32_t>(settings.keepaliveProbes));
  out.put(settings.userTimeout);
  out.putList(settings.nameServers, [&](const Address& address) { out.put(address); });
  out.put(settings.dnsMinTtl);
  out.put(settings.dnsMaxTtl);
}

ProxySettings takeSettings(Reader& in) {
  ProxySettings settings;
  settings.sourceAddresses = in.takeList<Address>(16, [&] { return in.takeAddress(); });
  settings.clientHelloTimeout = in.takeSeconds(1, kMaxSeconds, "hello timeout");
  settings.shutdownGrace = in.takeSeconds(0, kMaxSeconds, "shutdown grace");
  settings.threads = in.take<std::uint32_t>();
  in.check(settings.threads <= 256, "number of threads");
  settings.keepaliveIdle = in.takeSeconds(0, kMaxSeconds, "keepalive idle time");
  settings.keepaliveInterval = in.takeSeconds(1, kMaxSeconds, "keepalive interval");
  settings.keepaliveProbes = in.take<std::uint32_t>();
  in.check(settings.keepaliveProbes >= 1 && settings.keepaliveProbes <= 127, "keepalive probes");
  settings.userTimeout = in.takeSeconds(0, kMaxSeconds, "user timeout");
  settings.nameServers = in.takeList<Address>(16, [&] { return in.takeAddress(); });
  settings.dnsMinTtl = in.takeSeconds(1, kMaxSeconds, "shortest TTL");
  settings.dnsMaxTtl = in.takeSeconds(1, kMaxSeconds, "longest TTL");
  in.check(settings.dnsMinTtl <= settings.dnsMaxTtl, "bounds of TTLs");
  return settings;
}

void put(Writer& out, const TargetTcpProxy& proxy) {
  out.put(proxy.name);
  out.put(proxy.service);
  out.put(proxy.proxyHeader);
  out.putList(proxy.acceptProxyFrom, [&](const Prefix& range) { out.put(range); });
}

TargetTcpProxy takeTargetProxy(Reader& in) {
  TargetTcpProxy proxy;
  proxy.name = in.takeString();
  proxy.service = in.takeString();
  proxy.proxyHeader = in.takeEnum(TargetTcpProxy::ProxyHeader::proxyV2, "proxy header");
  proxy.acceptProxyFrom = in.takeList<Prefix>(kPrefixBytes, [&] { return in.takePrefix(); });
  return proxy;
}

void put(Writer& out, const TlsRule& rule) {
  out.putList(rule.matches, [&](const TlsMatch& match) {
    out.putList(match.sniHosts, putString(out));
    out.putList(match.alpn, putString(out));
  });
  out.putList(rule.destinations, [&](const TlsDestination& destination) {
    out.put(destination.service);
    out.put(destination.weight);
  });
  out.put(rule.idleTimeout);
}

TlsRule takeTlsRule(Reader& in) {
  TlsRule rule;
  rule.matches = in.takeList<TlsMatch>(4 + 4, [&] {
    TlsMatch match;
    match.sniHosts = takeStrings(in);
    match.alpn = takeStrings(in);
    return match;
  });
  std::uint64_t weights = 0;
  rule.destinations = in.takeList<TlsDestination>(2 + 4, [&] {
    TlsDestination destination;
    destination.service = in.takeString();
    destination.weight = in.take<std::uint32_t>();
    in.check(destination.weight <= kMaxWeight, "weight of a destination");
    weights += destination.weight;
    return destination;
  });
  in.check(weights > 0, "weights of the destinations");
  rule.idleTimeout = in.takeSeconds(0, kMaxSeconds, "idle timeout");
  return rule;
}

void put(Writer& out, const TlsRoute& route) {
  out.put(route.name);
  out.putList(route.targetProxies, putString(out));
  out.putList(route.rules, [&](const TlsRule& rule) { put(out, rule); });
}

TlsRoute takeTlsRoute(Reader& in) {
  TlsRoute route;
  route.name = in.takeString();
  route.targetProxies = takeStrings(in);
  route.rules = in.takeList<TlsRule>(4 + 4 + 4, [&] { return takeTlsRule(in); });
  return route;
}

void put(Writer& out, const ProxyUtilization& utilization) {
  out.put(utilization.value);
  out.put(utilization.until);
}

ProxyUtilization takeUtilization(Reader& in) {
  ProxyUtilization utilization;
  utilization.value = in.takeNumber(0, kMaxLimit, "utilization");
  utilization.until = in.takeTime();
  return utilization;
}

void put(Writer& out, const GroupCapacity& capacity) {
  out.put(capacity.mode);
  out.putOptional(capacity.maxConnections, [&](auto limit) { out.put(limit); });
  out.putOptional(capacity.maxConnectionsPerEndpoint, [&](auto limit) { out.put(limit); });
  out.putOptional(capacity.maxRate, [&](auto limit) { out.put(limit); });
  out.putOptional(capacity.maxRatePerEndpoint, [&](auto limit) { out.put(limit); });
  out.put(capacity.maxUtilization);
  out.put(capacity.capacityScaler);
  out.put(capacity.preference);
}

GroupCapacity takeCapacity(Reader& in) {
  const auto connections = [&] {
    const auto limit = in.take<std::uint32_t>();
    in.check(limit >= 1 && limit <= kMaxSeconds, "limit of connections");
    return limit;
  };
  const auto rate = [&] { return in.takeNumber(0, kMaxLimit, "limit of a rate"); };
  GroupCapacity capacity;
  capacity.mode = in.takeEnum(BalancingMode::rate, "balancing mode");
  capacity.maxConnections = in.takeOptional(connections);
  capacity.maxConnectionsPerEndpoint = in.takeOptional(connections);
  capacity.maxRate = in.takeOptional(rate);
  capacity.maxRatePerEndpoint = in.takeOptional(rate);
  capacity.maxUtilization = in.takeNumber(0, 1, "maxUtilization");
  capacity.capacityScaler = in.takeNumber(0, 1, "capacityScaler");
  capacity.preference = in.takeEnum(Preference::preferred, "preference");
  const bool anyConnections = capacity.maxConnections || capacity.maxConnectionsPerEndpoint;
  const bool anyRate = capacity.maxRate || capacity.maxRatePerEndpoint;
  in.check(!(capacity.maxConnections && capacity.maxConnectionsPerEndpoint) &&
               !(capacity.maxRate && capacity.maxRatePerEndpoint) &&
               (capacity.mode == BalancingMode::rate ? anyRate && !anyConnections : !anyRate) &&
               (capacity.mode != BalancingMode::connection || anyConnections),
           "limits of a group");
  return capacity;
}

void put(Writer& out, const ProxyEndpoint& endpoint) {
  out.put(endpoint.endpoint);
  out.putOptional(endpoint.ipv4, [&](const Address& address) { out.put(address); });
  out.putOptional(endpoint.ipv6, [&](const Address& address) { out.put(address); });
  out.put(endpoint.port);
  out.put(endpoint.fqdn);
  out.put(endpoint.weight);
  out.put(endpoint.healthy);
  out.putOptional(endpoint.drainDeadline, [&](Time deadline) { out.put(deadline); });
  out.putOptional(endpoint.utilization, [&](const auto& value) { put(out, value); });
}

ProxyEndpoint takeEndpoint(Reader& in) {
  ProxyEndpoint endpoint;
  endpoint.endpoint = in.takeString();
  endpoint.ipv4 = in.takeOptional([&] { return in.takeAddress(); });
  endpoint.ipv6 = in.takeOptional([&] { return in.takeAddress(); });
  endpoint.port = in.take<std::uint16_t>();
  endpoint.fqdn = in.takeString();
  endpoint.weight = in.take<std::uint32_t>();
  endpoint.healthy = in.takeBool();
  endpoint.drainDeadline = in.takeOptional([&] { return in.takeTime(); });
  endpoint.utilization = in.takeOptional([&] { return takeUtilization(in); });
  in.check(
      (!endpoint.ipv4 || endpoint.ipv4->isIpv4()) && (!endpoint.ipv6 || !endpoint.ipv6->isIpv4()),
      "family of an address");
  in.check((endpoint.ipv4 || endpoint.ipv6) == endpoint.fqdn.empty(), "addresses of an endpoint");
  in.check(endpoint.port != 0, "port of an endpoint");
  in.check(endpoint.weight <= kMaxWeight, "weight");
  return endpoint;
}

constexpr std::size_t kEndpointBytes = 2 + 1 + 1 + 2 + 2 + 4 + 1 + 1 + 1;

void put(Writer& out, const ProxyGroup& group) {
  out.put(group.name);
  out.put(group.zone);
  out.put(group.region);
  put(out, group.capacity);
  out.put(group.drained);
  out.putList(group.endpoints, [&](const ProxyEndpoint& endpoint) { put(out, endpoint); });
}

ProxyGroup takeGroup(Reader& in) {
  ProxyGroup group;
  group.name = in.takeString();
  group.zone = in.takeString();
  group.region = in.takeString();
  group.capacity = takeCapacity(in);
  group.drained = in.takeBool();
  std::unordered_set<std::string> names;
  group.endpoints = in.takeList<ProxyEndpoint>(kEndpointBytes, [&] {
    ProxyEndpoint endpoint = takeEndpoint(in);
    in.check(names.insert(endpoint.endpoint).second, "name of an endpoint");
    return endpoint;
  });
  return group;
}

constexpr std::size_t kGroupBytes = 2 + 2 + 2 + (1 + 4 + 8 + 8 + 1) + 1 + 4;

}  // namespace

void put(Writer& out, const ProxySnapshot& node) {
  out.put(node.generation);
  out.put(node.hashSeed);
  put(out, node.settings);
  out.put(node.zone);
  out.put(node.region);
  out.putList(node.zones, [&](const ProxyZone& zone) {
    out.put(zone.name);
    out.put(zone.region);
  });
  out.putList(node.fronts, [&](const ProxyFront& front) {
    out.put(front.rule);
    out.put(front.address);
    out.put(front.port);
    out.put(front.targetProxy);
  });
  out.putList(node.targetProxies, [&](const TargetTcpProxy& proxy) { put(out, proxy); });
  out.putList(node.tlsRoutes, [&](const TlsRoute& route) { put(out, route); });
}

ProxySnapshot takeProxy(Reader& in) {
  ProxySnapshot node;
  node.generation = in.takeId<Generation>();
  node.hashSeed = in.take<std::uint64_t>();
  node.settings = takeSettings(in);
  node.zone = in.takeString();
  node.region = in.takeString();
  Unique<std::string> zones;
  Unique<std::string> regions;  // each ends where the next begins
  node.zones = in.takeList<ProxyZone>(2 + 2, [&] {
    ProxyZone zone;
    zone.name = in.takeString();
    zone.region = in.takeString();
    zones.add(in, zone.name, "name of a zone");
    return zone;
  });
  for (std::size_t i = 0; i < node.zones.size(); ++i)
    if (i == 0 || node.zones[i].region != node.zones[i - 1].region)
      regions.add(in, node.zones[i].region, "order of the zones");
  Unique<std::pair<Address, std::uint16_t>> places;
  node.fronts = in.takeList<ProxyFront>(2 + 16 + 2 + 2, [&] {
    ProxyFront front;
    front.rule = in.takeString();
    front.address = in.takeAddress();
    front.port = in.take<std::uint16_t>();
    front.targetProxy = in.takeString();
    in.check(front.port != 0, "port of a front");
    places.add(in, {front.address, front.port}, "place of a front");
    return front;
  });
  Unique<std::string> proxies;
  node.targetProxies = in.takeList<TargetTcpProxy>(2 + 2 + 1 + 4, [&] {
    TargetTcpProxy proxy = takeTargetProxy(in);
    proxies.add(in, proxy.name, "name of a target proxy");
    return proxy;
  });
  for (const ProxyFront& front : node.fronts)
    in.check(proxies.has(front.targetProxy), "target proxy of a front");
  node.tlsRoutes = in.takeList<TlsRoute>(2 + 4 + 4, [&] { return takeTlsRoute(in); });
  return node;
}

void put(Writer& out, const ProxyServiceSnapshot& service) {
  out.put(service.name);
  out.put(service.generation);
  out.put(service.affinity);
  out.put(service.locality);
  out.put(service.policy.name);
  out.put(service.policy.algorithm);
  out.put(service.policy.autoCapacityDrain);
  out.put(static_cast<std::uint8_t>(service.policy.failoverHealthThreshold));
  out.put(service.policy.isolation);
  out.putOptional(service.maxConnections, [&](auto limit) { out.put(limit); });
  out.put(service.idleTimeout);
  out.put(service.connectTimeout);
  out.put(service.addressSelection);
  out.put(service.logEnable);
  out.put(service.logSampleRate);
  out.putList(service.groups, [&](const ProxyGroup& group) { put(out, group); });
}

ProxyServiceSnapshot takeProxyService(Reader& in) {
  ProxyServiceSnapshot service;
  service.name = in.takeString();
  service.generation = in.takeId<Generation>();
  service.affinity = in.takeEnum(SessionAffinity::clientIpNoDestination, "affinity");
  service.locality = in.takeEnum(LocalityPolicy::originalDestination, "locality policy");
  service.policy.name = in.takeString();
  service.policy.algorithm = in.takeEnum(LbAlgorithm::sprayToWorld, "algorithm");
  service.policy.autoCapacityDrain = in.takeBool();
  service.policy.failoverHealthThreshold = in.take<std::uint8_t>();
  in.check(
      service.policy.failoverHealthThreshold >= 1 && service.policy.failoverHealthThreshold <= 99,
      "failover threshold");
  service.policy.isolation = in.takeEnum(Isolation::strict, "isolation");
  service.maxConnections = in.takeOptional([&] { return in.take<std::uint32_t>(); });
  service.idleTimeout = in.takeSeconds(1, kMaxSeconds, "idle timeout");
  service.connectTimeout = in.takeSeconds(1, kMaxSeconds, "connect timeout");
  service.addressSelection = in.takeEnum(AddressSelection::ipv6Only, "address selection");
  service.logEnable = in.takeBool();
  service.logSampleRate = in.takeNumber(0, 1, "sample rate");
  std::unordered_set<std::string> names;
  service.groups = in.takeList<ProxyGroup>(kGroupBytes, [&] {
    ProxyGroup group = takeGroup(in);
    in.check(names.insert(group.name).second, "name of a group");
    return group;
  });
  return service;
}

void put(Writer& out, const ProxyServiceRemoved& removed) { out.put(removed.name); }

ProxyServiceRemoved takeProxyServiceRemoved(Reader& in) { return {in.takeString()}; }

void put(Writer& out, const ProxyLoadReport& report) {
  out.put(report.service);
  out.put(report.generation);
  out.putList(report.items, [&](const ProxyLoadReport::Item& item) {
    out.put(item.group);
    out.put(item.endpoint);
    put(out, item.utilization);
  });
}

ProxyLoadReport takeProxyLoadReport(Reader& in) {
  ProxyLoadReport report;
  report.service = in.takeString();
  report.generation = in.takeId<Generation>();
  report.items = in.takeList<ProxyLoadReport::Item>(2 + 2 + 8 + 8, [&] {
    ProxyLoadReport::Item item;
    item.group = in.takeString();
    item.endpoint = in.takeString();
    item.utilization = takeUtilization(in);
    return item;
  });
  return report;
}

}  // namespace weir::wire
