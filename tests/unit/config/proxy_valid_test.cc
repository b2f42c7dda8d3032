// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is written about proxies arrives in the model, and what is not written has its default.
#include <chrono>

#include "config/resource_schemas.h"
#include "proxy_fixture.h"
#include "weir/control_plane.h"

namespace weir::config::test {
namespace {

using namespace std::chrono_literals;

Configuration valid(const std::string& text) {
  const Loaded loaded = loadText(text);
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  return loaded.configuration;
}
BackendService serviceOf(const std::string& fields) {
  const Configuration c = valid(proxyService(fields));
  return c.services.empty() ? BackendService{} : c.services.front();
}
GroupCapacity capacityOf(const std::string& fields) {
  return serviceOf("backends: [{group: g, " + fields + "}]").backends.at(0).capacity;
}

const std::string kMax = "backends: [{group: g, maxConnections: 10}], ";

TEST(ValidProxy, X1_DefaultsAreThoseOfTheModel) {
  const Configuration c = valid(kProxyAll);
  BackendService service;
  service.name = "s";
  service.scheme = LoadBalancingScheme::internalManaged;
  service.healthCheck = "hc";
  service.backends = {{"g", false, {}}};
  service.backends[0].capacity.maxConnections = 10;
  EXPECT_THAT(c.services, testing::ElementsAre(service));
  ForwardingRule rule;
  rule.name = "r";
  rule.scheme = LoadBalancingScheme::internalManaged;
  rule.address = *Address::parse("10.9.9.9");
  rule.ports = {{80, 80}};
  rule.target = "t";
  EXPECT_THAT(c.rules, testing::ElementsAre(rule));
  EXPECT_THAT(c.targetProxies, testing::ElementsAre(TargetTcpProxy{"t", "s", {}, {}}));
}

TEST(ValidProxy, X1_1_OnePortInEveryWayToWriteIt) {
  for (const std::string port : {"ports: [80]", "ports: ['80']", "portRange: 80-80",
                                 "portRange: '80'", "ports: [80], allPorts: false"})
    EXPECT_THAT(valid(proxyRule(port + ", target: t")).rules.at(0).ports,
                testing::ElementsAre(PortRange{80, 80}))
        << port;
}

TEST(ValidProxy, X1_1_OneProxyForSeveralRulesAndAddressesWithSeveralPorts) {
  const Configuration c =
      valid(kProxyAll +
            "---\nforwardingRules:\n"
            "  - {name: q, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.9.9.9, "
            "ports: [81], target: https://x/targetTcpProxies/t, announce: NONE}\n"
            "  - {name: p, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: "
            "'fd00::9', ports: [80], target: t, announce: ROUTE}\n");
  ASSERT_EQ(c.rules.size(), 3u);
  EXPECT_EQ(c.rules[1].target, "t");
  EXPECT_EQ(c.rules[2].announce, Announce::route) << "families of front and back are independent";
}

TEST(ValidProxy, X3_X4_X5_EveryFieldOfAService) {
  const BackendService s = serviceOf(
      kMax +
      "protocol: TCP, sessionAffinity: CLIENT_IP, localityLbPolicy: RING_HASH, timeoutSec: "
      "2147483647, connectTimeoutSec: 300, ipAddressSelectionPolicy: PREFER_IPV6, circuitBreakers: "
      "{maxConnections: 5000}, connectionDraining: {drainingTimeoutSec: 60}, logConfig: {enable: "
      "true, sampleRate: 0.25}");
  EXPECT_EQ(s.affinity, SessionAffinity::clientIp);
  EXPECT_EQ(s.proxy.locality, LocalityPolicy::ringHash);
  EXPECT_EQ(s.proxy.idleTimeout, 2147483647s);
  EXPECT_EQ(s.proxy.connectTimeout, 300s);
  EXPECT_EQ(s.proxy.addressSelection, AddressSelection::preferIpv6);
  EXPECT_EQ(s.proxy.maxConnections, 5000u);
  EXPECT_EQ(s.drainingTimeout, 60s);
  EXPECT_TRUE(s.logEnable);
  EXPECT_EQ(s.logSampleRate, 0.25);
  EXPECT_FALSE(s.weighted);
}

TEST(ValidProxy, X4_EveryLocalityPolicy) {
  const std::vector<std::pair<std::string, LocalityPolicy>> policies{
      {"ROUND_ROBIN", LocalityPolicy::roundRobin},
      {"LEAST_REQUEST", LocalityPolicy::leastRequest},
      {"RANDOM", LocalityPolicy::random},
      {"RING_HASH", LocalityPolicy::ringHash},
      {"MAGLEV", LocalityPolicy::maglev},
      {"WEIGHTED_ROUND_ROBIN", LocalityPolicy::weightedRoundRobin},
      {"ORIGINAL_DESTINATION", LocalityPolicy::originalDestination}};
  for (const auto& [word, policy] : policies)
    EXPECT_EQ(serviceOf(kMax + "localityLbPolicy: " + word).proxy.locality, policy) << word;
  EXPECT_EQ(serviceOf(kMax + "protocol: TCP").proxy.locality, std::nullopt);
}

TEST(ValidProxy, X4_2_Capacity) {
  EXPECT_EQ(capacityOf("maxConnections: 2147483647").maxConnections, 2147483647u);
  EXPECT_EQ(capacityOf("maxConnectionsPerEndpoint: 5").maxConnectionsPerEndpoint, 5u);
  EXPECT_EQ(capacityOf("balancingMode: CONNECTION, maxConnectionsPerInstance: 6")
                .maxConnectionsPerEndpoint,
            6u);
  const GroupCapacity utilization = capacityOf("balancingMode: UTILIZATION");
  EXPECT_EQ(utilization.mode, BalancingMode::utilization);
  EXPECT_EQ(utilization.maxUtilization, 0.8);
  const GroupCapacity both =
      capacityOf("balancingMode: UTILIZATION, maxUtilization: 0.5, maxConnectionsPerEndpoint: 9");
  EXPECT_EQ(both.maxUtilization, 0.5);
  EXPECT_EQ(both.maxConnectionsPerEndpoint, 9u);
  EXPECT_EQ(capacityOf("balancingMode: RATE, maxRate: 1000").maxRate, 1000.0);
  EXPECT_EQ(capacityOf("balancingMode: RATE, maxRatePerEndpoint: 0.5").maxRatePerEndpoint, 0.5);
  EXPECT_EQ(capacityOf("balancingMode: RATE, maxRatePerInstance: 2.5").maxRatePerEndpoint, 2.5);
  EXPECT_EQ(capacityOf("maxConnections: 1, capacityScaler: 0.1").capacityScaler, 0.1);
  EXPECT_EQ(capacityOf("maxConnections: 1, capacityScaler: 1").capacityScaler, 1.0);
  EXPECT_EQ(capacityOf("maxConnections: 1, preference: PREFERRED").preference,
            Preference::preferred);
  EXPECT_EQ(capacityOf("maxConnections: 1, preference: DEFAULT").preference,
            Preference::byAlgorithm);
}

TEST(ValidProxy, X4_2_AScalerOfZeroBesideAnotherGroup) {
  const Configuration c = valid(
      kCheck +
      "networkEndpointGroups: [{name: g, defaultPort: 80, endpoints: [{ipAddress: 10.2.0.1}]}, "
      "{name: h, defaultPort: 80, endpoints: [{ipAddress: 10.2.0.2}]}]\nbackendServices: [{name: "
      "s, loadBalancingScheme: INTERNAL_MANAGED, healthChecks: [hc], backends: [{group: g, "
      "maxConnections: 1, capacityScaler: 0}, {group: h, maxConnections: 1}]}]\n" +
      kTargetProxy + kProxyRule);
  EXPECT_EQ(c.services.at(0).backends.at(0).capacity.capacityScaler, 0.0);
}

TEST(ValidProxy, X3_1_EveryTypeOfGroup) {
  const std::string rest = "}]\n" + kProxyService + kTargetProxy + kProxyRule;
  const auto groupOf = [&](const std::string& fields) {
    return valid(kCheck + "networkEndpointGroups: [{name: g, zone: za, " + fields + rest)
        .groups.at(0);
  };
  using Type = NetworkEndpointGroup::Type;
  EXPECT_EQ(groupOf("defaultPort: 80, endpoints: [{ipAddress: 10.2.0.1}]").type, Type::gceVmIpPort);
  EXPECT_EQ(groupOf("networkEndpointType: NON_GCP_PRIVATE_IP_PORT, endpoints: [{ipv6Address: "
                    "'fd00::1', port: 1}]")
                .type,
            Type::nonGcpPrivateIpPort);
  EXPECT_EQ(groupOf("networkEndpointType: INTERNET_IP_PORT, endpoints: [{ipAddress: 203.0.113.1, "
                    "port: 443}]")
                .type,
            Type::internetIpPort);
  const NetworkEndpointGroup names = groupOf(
      "networkEndpointType: INTERNET_FQDN_PORT, defaultPort: 443, endpoints: [{fqdn: "
      "API.Example.com.}, {fqdn: _x.example.com, port: 8443}]");
  EXPECT_EQ(names.type, Type::internetFqdnPort);
  EXPECT_EQ(names.endpoints.at(0).fqdn, "api.example.com");
  EXPECT_EQ(names.endpoints.at(0).identity(), "api.example.com:443");
  EXPECT_EQ(names.endpoints.at(1).identity(), "_x.example.com:8443");
}

TEST(ValidProxy, H3_AProxyServiceHasAServingPort) {
  const Configuration c =
      valid("healthChecks: [{name: hc, tcpHealthCheck: {portSpecification: USE_SERVING_PORT}}]\n" +
            kPortGroup + kProxyService + kTargetProxy + kProxyRule);
  EXPECT_EQ(c.healthChecks.at(0).portSpecification, HealthCheck::PortSpecification::servingPort);
}

TEST(ValidProxy, X2_EveryFieldOfATargetProxy) {
  const TargetTcpProxy proxy =
      valid(targetProxy("service: x/backendServices/s, proxyHeader: PROXY_V2, acceptProxyFrom: "
                        "[10.0.0.0/8, 'fd00::/8', 192.0.2.1], proxyBind: false"))
          .targetProxies.at(0);
  EXPECT_EQ(proxy.service, "s");
  EXPECT_EQ(proxy.proxyHeader, TargetTcpProxy::ProxyHeader::proxyV2);
  EXPECT_THAT(proxy.acceptProxyFrom,
              testing::ElementsAre(*Prefix::parse("10.0.0.0/8"), *Prefix::parse("fd00::/8"),
                                   *Prefix::parse("192.0.2.1/32")));
}

TEST(ValidProxy, X6_EveryFieldOfATlsRoute) {
  const TlsRoute route =
      valid(tlsRules("{matches: [{sniHost: [WWW.Example.COM., '*.Example.com', _a.b, xn--mnchen-3ya"
                     ".de], alpn: [h2, http/1.1]}, {sniHost: [c.d]}], action: {destinations: "
                     "[{serviceName: projects/p/locations/l/backendServices/s, weight: 0}, "
                     "{serviceName: u, weight: 1000}], idleTimeout: 0s}}") +
            "---\nbackendServices: [{name: u, loadBalancingScheme: INTERNAL_MANAGED, healthChecks: "
            "[hc], backends: [{group: g, maxConnections: 1}]}]\n")
          .tlsRoutes.at(0);
  EXPECT_EQ(route.name, "x");
  EXPECT_THAT(route.targetProxies, testing::ElementsAre("t"));
  ASSERT_EQ(route.rules.size(), 1u);
  const TlsRule& rule = route.rules[0];
  ASSERT_EQ(rule.matches.size(), 2u);
  EXPECT_THAT(rule.matches[0].sniHosts, testing::ElementsAre("www.example.com", "*.example.com",
                                                             "_a.b", "xn--mnchen-3ya.de"));
  EXPECT_THAT(rule.matches[0].alpn, testing::ElementsAre("h2", "http/1.1"));
  EXPECT_THAT(rule.matches[1].alpn, testing::IsEmpty());
  EXPECT_THAT(rule.destinations,
              testing::ElementsAre(TlsDestination{"s", 0}, TlsDestination{"u", 1000}));
  EXPECT_EQ(rule.idleTimeout, 0s);
}

TEST(ValidProxy, X6_5_IdleTimeoutOfARoute) {
  const auto idleOf = [](const std::string& text) {
    return valid(tlsAction("destinations: [{serviceName: s}]" + text))
        .tlsRoutes.at(0)
        .rules.at(0)
        .idleTimeout;
  };
  EXPECT_EQ(idleOf(""), 3600s);
  EXPECT_EQ(idleOf(", idleTimeout: 7200s"), 7200s);
  EXPECT_EQ(idleOf(", idleTimeout: '2147483647s'"), 2147483647s);
}

TEST(ValidProxy, X6_3_LongestNameAndLabel) {
  const std::string label(63, 'a');
  const std::string name = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(name.size(), 253u);
  EXPECT_EQ(valid(tlsMatch("{sniHost: [" + name + "]}"))
                .tlsRoutes.at(0)
                .rules.at(0)
                .matches.at(0)
                .sniHosts.at(0),
            name);
  expectOneError({"TooLong", tlsMatch("{sniHost: [@" + name + "b]}"), "a DNS name"});
}

ServiceLbPolicy policyOf(const std::string& fields) {
  return valid(policy(fields)).lbPolicies.at(0);
}

TEST(ValidProxy, S2_S5_EveryFieldOfAPolicy) {
  const ServiceLbPolicy p = policyOf(
      "loadBalancingAlgorithm: SPRAY_TO_WORLD, autoCapacityDrain: {enable: true}, failoverConfig: "
      "{failoverHealthThreshold: 99}, isolationConfig: {isolationGranularity: REGION, "
      "isolationMode: STRICT}");
  EXPECT_EQ(p.algorithm, LbAlgorithm::sprayToWorld);
  EXPECT_TRUE(p.autoCapacityDrain);
  EXPECT_EQ(p.failoverHealthThreshold, 99u);
  EXPECT_EQ(p.isolation, Isolation::strict);
  EXPECT_EQ(policyOf("description: none"), (ServiceLbPolicy{"p", {}, false, 70, {}}));
}

TEST(ValidProxy, S6_WordsThatTurnAFeatureOff) {
  EXPECT_EQ(policyOf("loadBalancingAlgorithm: LOAD_BALANCING_ALGORITHM_UNSPECIFIED, "
                     "autoCapacityDrain: {enable: false}, isolationConfig: {isolationGranularity: "
                     "UNSPECIFIED, isolationMode: UNSPECIFIED}"),
            (ServiceLbPolicy{"p", {}, false, 70, {}}));
  EXPECT_EQ(policyOf("isolationConfig: {isolationGranularity: ISOLATION_GRANULARITY_UNSPECIFIED, "
                     "isolationMode: ISOLATION_MODE_UNSPECIFIED}")
                .isolation,
            Isolation::unspecified);
  EXPECT_EQ(policyOf("isolationConfig: {isolationMode: STRICT}").isolation, Isolation::unspecified)
      << "S5: it acts only with REGION";
}

TEST(ValidProxy, PoliciesAreFoundByNameAndByPath) {
  for (const std::string name : {"p", "projects/x/locations/global/serviceLbPolicies/p"}) {
    const Configuration c =
        valid(proxyService(kMax + "serviceLbPolicy: " + name) + "serviceLbPolicies: [{name: p}]\n");
    EXPECT_EQ(c.services.at(0).proxy.lbPolicy, "p");
  }
}

TEST(ValidProxy, EverySettingOfTheNode) {
  const Node node =
      valid(
          "interfaces: [eth0, bond0.100]\nmanageSysctls: true\nengineGraceSec: 0\nflowCache: "
          "require\nproxy: {sourceAddresses: [10.0.0.1, 'fd00::1'], clientHelloTimeoutSec: 300, "
          "shutdownGraceSec: 0, threads: 8, keepaliveIdleSec: 0, keepaliveIntervalSec: 1, "
          "keepaliveProbes: 127, userTimeoutSec: 0, nameServers: [10.0.0.53, 'fd00::53'], "
          "dnsMinTtlSec: 60, dnsMaxTtlSec: 60}\n")
          .node;
  EXPECT_THAT(node.interfaces, testing::ElementsAre("eth0", "bond0.100"));
  EXPECT_TRUE(node.manageSysctls);
  EXPECT_EQ(node.engineGrace, 0s);
  EXPECT_EQ(node.flowCache, FlowCache::require);
  EXPECT_EQ(node.proxy.sourceAddresses.size(), 2u);
  EXPECT_EQ(node.proxy.clientHelloTimeout, 300s);
  EXPECT_EQ(node.proxy.shutdownGrace, 0s);
  EXPECT_EQ(node.proxy.threads, 8u);
  EXPECT_EQ(node.proxy.keepaliveIdle, 0s);
  EXPECT_EQ(node.proxy.keepaliveInterval, 1s);
  EXPECT_EQ(node.proxy.keepaliveProbes, 127u);
  EXPECT_EQ(node.proxy.userTimeout, 0s);
  EXPECT_EQ(node.proxy.nameServers.size(), 2u);
  EXPECT_EQ(node.proxy.dnsMinTtl, 60s);
  EXPECT_EQ(node.proxy.dnsMaxTtl, 60s);
}

TEST(ValidProxy, PassthroughAndProxyShareAnAddressAndAGroup) {
  const Configuration c = valid(
      kProxyAll +
      "---\nbackendServices: [{name: u, healthChecks: [hc], timeoutSec: 30, backends: [{group: g, "
      "balancingMode: CONNECTION}]}]\nforwardingRules: [{name: q, IPAddress: 10.9.9.9, ports: "
      "[81], backendService: u, announce: ARP}]\n");
  ASSERT_EQ(c.services.size(), 2u);
  EXPECT_EQ(c.services[1].proxy, ProxyService{}) << "timeoutSec is a proxy's";
  EXPECT_EQ(c.services[1].backends.at(0).capacity, GroupCapacity{});
}

TEST(ValidProxy, WhatIsWrittenIsReadAgain) {
  const Configuration c = valid(
      tlsMatch("{sniHost: [a.b, '*.b'], alpn: [h2]}") +
      "---\nnetworkEndpointGroups: [{name: h, networkEndpointType: INTERNET_FQDN_PORT, "
      "defaultPort: 443, endpoints: [{fqdn: a.example.com}]}]\nbackendServices: [{name: u, "
      "loadBalancingScheme: EXTERNAL_MANAGED, localityLbPolicy: LEAST_REQUEST, timeoutSec: 7, "
      "circuitBreakers: {maxConnections: 3}, serviceLbPolicy: p, healthChecks: [hc], backends: "
      "[{group: g, balancingMode: UTILIZATION, maxUtilization: 0.25, preference: PREFERRED}, "
      "{group: h, balancingMode: RATE, maxRatePerInstance: 0.5, capacityScaler: "
      "0.3}]}]\nserviceLbPolicies: [{name: p, isolationConfig: {isolationGranularity: REGION, "
      "isolationMode: NEAREST}, failoverConfig: {failoverHealthThreshold: 1}}]\ntargetTcpProxies: "
      "[{name: v, service: u, proxyHeader: PROXY_V1, acceptProxyFrom: [10.0.0.0/8]}]\n");
  Problems problems;
  const weir::config::Text text(Source{"written", ""});
  Reader reader(text, problems);
  const auto again = [&](auto value, auto write, auto read) {
    decltype(value) out{};
    read(*write(value), out, reader);
    return out;
  };
  for (const auto& v : c.services) EXPECT_EQ(again(v, writeService, readService), v);
  for (const auto& v : c.groups) EXPECT_EQ(again(v, writeGroup, readGroup), v);
  for (const auto& v : c.rules) EXPECT_EQ(again(v, writeRule, readRule), v);
  for (const auto& v : c.targetProxies) EXPECT_EQ(again(v, writeTargetProxy, readTargetProxy), v);
  for (const auto& v : c.tlsRoutes) EXPECT_EQ(again(v, writeTlsRoute, readTlsRoute), v);
  for (const auto& v : c.lbPolicies) EXPECT_EQ(again(v, writeLbPolicy, readLbPolicy), v);
  EXPECT_EQ(problems.errors(), 0u) << all(problems.take());
}

// Services and rules of proxies have no snapshots; those beside them are what they would be alone.
TEST(ValidProxy, TheControlPlaneServesOnlyPassthrough) {
  const Configuration c = valid(
      kProxyAll +
      "---\nnetworkEndpointGroups: [{name: n, networkEndpointType: INTERNET_FQDN_PORT, "
      "defaultPort: 443, endpoints: [{fqdn: a.example.com}, {fqdn: b.example.com}]}, {name: h, "
      "endpoints: [{ipAddress: 10.2.0.2}]}]\nbackendServices: [{name: e, loadBalancingScheme: "
      "EXTERNAL_MANAGED, backends: [{group: n, maxConnections: 1}]}, {name: u, healthChecks: [hc], "
      "backends: [{group: h}]}]\ntargetTcpProxies: [{name: e, service: e}]\nforwardingRules: "
      "[{name: e, loadBalancingScheme: EXTERNAL_MANAGED, IPAddress: 10.9.9.8, ports: [80], target: "
      "e}, {name: q, IPAddress: 10.9.9.9, ports: [81], backendService: u}]\n");
  ControlPlane plane(Health::healthy);
  const auto changes = plane.apply(c, Time{});
  ASSERT_TRUE(changes) << changes.error().message;
  ASSERT_EQ(changes->services.size(), 1u);
  ASSERT_TRUE(changes->rules);
  ASSERT_EQ(changes->rules->rules.size(), 1u);
  EXPECT_EQ(changes->rules->rules[0].name, "q");
  EXPECT_EQ(plane.view("s"), std::nullopt);
  EXPECT_TRUE(plane.view("u"));
  EXPECT_EQ(plane.routes().size(), 1u) << "only backends of passthrough services have marks";
  EXPECT_EQ(plane.health({"n", "b.example.com:443"}), Health::healthy);

  Configuration without = c;
  std::erase_if(without.services, [](const auto& s) { return s.isManaged(); });
  std::erase_if(without.rules, [](const auto& r) { return !r.target.empty(); });
  const auto removed = plane.apply(without, Time{});
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->empty()) << "nothing of a data plane depends on services of proxies";
  const std::string saved = plane.save();
  ControlPlane next(Health::healthy);
  EXPECT_TRUE(next.restore(saved));
  EXPECT_TRUE(next.apply(c, Time{}));
}

}  // namespace
}  // namespace weir::config::test
