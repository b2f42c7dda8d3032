// SPDX-License-Identifier: GPL-2.0-or-later
//
// Any consistent message of the proxy's survives the wire; any bytes are refused or have one form.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "support/proxy_service.h"
#include "weir/snapshot.h"

namespace weir {
namespace {

using namespace test;
using Bytes = std::vector<std::uint8_t>;

template <class T>
T any(T least, T most) {
  return static_cast<T>(*rc::gen::inRange<std::int64_t>(static_cast<std::int64_t>(least),
                                                        static_cast<std::int64_t>(most) + 1));
}
bool coin() { return *rc::gen::arbitrary<bool>(); }
double fraction() { return any(0, 1000) / 1000.0; }
std::string text() { return *rc::gen::arbitrary<std::string>(); }
std::chrono::seconds seconds(int least) { return std::chrono::seconds(any(least, 2147483647)); }
Time time() { return Time(std::chrono::milliseconds(any<std::int64_t>(0, 1'000'000'000'000))); }
ProxyUtilization utilization() { return {fraction() * 3, time()}; }

GroupCapacity anyCapacity() {
  GroupCapacity capacity;
  capacity.mode = any(BalancingMode::connection, BalancingMode::rate);
  if (capacity.mode == BalancingMode::rate)
    (coin() ? capacity.maxRate : capacity.maxRatePerEndpoint) = 0.001 + fraction();
  else if (capacity.mode == BalancingMode::connection || coin())
    (coin() ? capacity.maxConnections : capacity.maxConnectionsPerEndpoint) = any(1u, 0x7fffffffu);
  capacity.maxUtilization = fraction();
  capacity.capacityScaler = fraction();
  capacity.preference = any(Preference::byAlgorithm, Preference::preferred);
  return capacity;
}

ProxyServiceSnapshot anyService() {
  auto service = serviceOf({}, any(LocalityPolicy::roundRobin, LocalityPolicy::originalDestination),
                           any(SessionAffinity::none, SessionAffinity::clientIpNoDestination));
  service.name = text();
  service.generation = Generation(any(0u, 0xffffffffu));
  service.policy = {text(), any(LbAlgorithm::waterfallByRegion, LbAlgorithm::sprayToWorld), coin(),
                    any(1u, 99u), any(Isolation::unspecified, Isolation::strict)};
  if (coin()) service.maxConnections = any(0u, 0xffffffffu);
  service.idleTimeout = seconds(1);
  service.connectTimeout = seconds(1);
  service.addressSelection = any(AddressSelection::ipv4Only, AddressSelection::ipv6Only);
  service.logEnable = coin();
  service.logSampleRate = fraction();
  const auto groups = any(0u, 4u);
  for (unsigned i = 0; i < groups; ++i) {
    ProxyGroup group = groupOf(i, any(0u, 4u), 1, text(), text());
    group.capacity = anyCapacity();
    group.drained = coin();
    for (ProxyEndpoint& endpoint : group.endpoints) {
      if (coin()) endpoint.ipv6 = Address::ipv6(any<std::uint64_t>(1, 1'000'000), 1);
      if (coin()) {
        endpoint.ipv4.reset();
        endpoint.ipv6.reset();
        endpoint.fqdn = "x" + text();
      }
      endpoint.port = any<std::uint16_t>(1, 65535);
      endpoint.weight = any(0u, 1000u);
      endpoint.healthy = coin();
      if (coin()) endpoint.drainDeadline = time();
      if (coin()) endpoint.utilization = utilization();
    }
    service.groups.push_back(std::move(group));
  }
  return service;
}

std::vector<std::string> texts() { return *rc::gen::arbitrary<std::vector<std::string>>(); }

ProxySnapshot anyNode() {
  ProxySnapshot node;
  node.generation = Generation(any(0u, 0xffffffffu));
  node.hashSeed = *rc::gen::arbitrary<std::uint64_t>();
  node.settings.clientHelloTimeout = seconds(1);
  node.settings.shutdownGrace = seconds(0);
  node.settings.threads = any(0u, 256u);
  node.settings.keepaliveIdle = seconds(0);
  node.settings.keepaliveInterval = seconds(1);
  node.settings.keepaliveProbes = any(1u, 127u);
  node.settings.userTimeout = seconds(0);
  for (auto i = any(0u, 2u); i-- > 0;) node.settings.nameServers.push_back(Address::ipv4(i));
  node.settings.dnsMinTtl = seconds(1);
  node.settings.dnsMaxTtl = seconds(static_cast<int>(node.settings.dnsMinTtl.count()));
  for (auto i = any(0u, 2u); i-- > 0;) node.settings.sourceAddresses.push_back(Address::ipv4(i));
  node.zone = text();
  node.region = text();
  for (unsigned i = 0, count = any(0u, 5u); i < count; ++i)
    node.zones.push_back({"z" + std::to_string(i), "r" + std::to_string(i / 2)});
  for (unsigned i = 0, count = any(0u, 3u); i < count; ++i)
    node.targetProxies.push_back(
        {"t" + std::to_string(i),
         text(),
         any(TargetTcpProxy::ProxyHeader::none, TargetTcpProxy::ProxyHeader::proxyV2),
         {Prefix(Address::ipv4(any(0u, 0xffffffffu)), any(0u, 32u))}});
  if (!node.targetProxies.empty())
    for (unsigned i = 0, count = any(0u, 4u); i < count; ++i)
      node.fronts.push_back({text(), Address::ipv4(i), any<std::uint16_t>(1, 65535),
                             (*rc::gen::elementOf(node.targetProxies)).name});
  for (unsigned i = 0, count = any(0u, 2u); i < count; ++i) {
    TlsRule rule;
    rule.matches = {{texts(), texts()}};
    rule.destinations = {{text(), any(1u, 1000u)}, {text(), any(0u, 1000u)}};
    rule.idleTimeout = seconds(0);
    node.tlsRoutes.push_back({text(), texts(), {rule}});
  }
  return node;
}

ProxyLoadReport anyReport() {
  ProxyLoadReport report{text(), Generation(any(0u, 9u)), {}};
  for (auto i = any(0u, 5u); i-- > 0;) report.items.push_back({text(), text(), utilization()});
  return report;
}

SnapshotMessage anyMessage() {
  switch (any(0, 3)) {
    case 0:
      return anyNode();
    case 1:
      return anyService();
    case 2:
      return anyReport();
    default:  // a number of this file
      return ProxyServiceRemoved{text()};
  }
}

RC_GTEST_PROP(ProxyCodec, AnyMessageComesBack, ()) {
  const SnapshotMessage message = anyMessage();
  const auto decoded = decode(encode(message));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == message);
}

RC_GTEST_PROP(ProxyCodec, ADamagedMessageIsRefusedOrHasOneForm, ()) {
  Bytes bytes = encode(anyMessage());
  bytes[any<std::size_t>(3, bytes.size() - 1)] = *rc::gen::arbitrary<std::uint8_t>();
  const auto decoded = decode(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

RC_GTEST_PROP(ProxyCodec, AnyBytesAreRefusedOrHaveOneForm, ()) {
  Bytes bytes{1, 0, any<std::uint8_t>(6, 9)};
  const auto rest = *rc::gen::container<Bytes>(rc::gen::weightedOneOf<std::uint8_t>(
      {{3, rc::gen::just<std::uint8_t>(0)}, {1, rc::gen::arbitrary<std::uint8_t>()}}));
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const auto decoded = decode(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

}  // namespace
}  // namespace weir
