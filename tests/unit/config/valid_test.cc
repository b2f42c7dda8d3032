// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is written arrives in the model, and what is not written has Google's defaults.
#include "fixture.h"

namespace weir::config::test {
namespace {

Configuration valid(const std::string& text) {
  const Loaded loaded = loadText(text);
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  return loaded.configuration;
}

TEST(Valid, NothingIsAConfiguration) {
  EXPECT_EQ(valid(""), Configuration{});
  EXPECT_EQ(valid("# nothing\n---\n---\n"), Configuration{});
  EXPECT_EQ(valid("healthChecks:\nroutes: []\nbackendServices: ~\n"), Configuration{});
}

TEST(Valid, DefaultsAreThoseOfTheModel) {
  const Configuration c = valid(kAll);
  HealthCheck check;
  check.name = "hc";
  EXPECT_THAT(c.healthChecks, testing::ElementsAre(check));
  BackendService service;
  service.name = "s";
  service.healthCheck = "hc";
  service.backends = {{"g", false, {}}};
  EXPECT_THAT(c.services, testing::ElementsAre(service));
  EXPECT_EQ(c.node, Node{});
}

TEST(Valid, C1_TheExampleOfTheInterface) {
  const Configuration c = valid(R"(
healthChecks:
  - {name: web-hc, type: TCP, tcpHealthCheck: {port: 80}}
networkEndpointGroups:
  - name: web-a
    zone: zone-a
    endpoints: [{ipAddress: 10.2.0.11}, {ipAddress: 10.2.0.12}]
  - name: web-standby
    zone: zone-b
    endpoints: [{ipAddress: 10.2.1.11}]
backendServices:
  - name: web
    loadBalancingScheme: INTERNAL
    protocol: TCP
    sessionAffinity: CLIENT_IP
    connectionTrackingPolicy: {trackingMode: PER_SESSION, idleTimeoutSec: 3600}
    failoverPolicy: {failoverRatio: 0.5, dropTrafficIfUnhealthy: true, disableConnectionDrainOnFailover: true}
    connectionDraining: {drainingTimeoutSec: 300}
    healthChecks: [web-hc]
    backends: [{group: web-a}, {group: web-standby, failover: true}]
forwardingRules:
  - {name: web-vip, loadBalancingScheme: INTERNAL, IPAddress: 10.9.9.9, IPProtocol: TCP, ports: [80, 443], backendService: web}
routes:
  - {name: default-via-fw, destRange: 0.0.0.0/0, priority: 900, nextHopIlb: web-vip}
)");
  ASSERT_EQ(c.services.size(), 1u);
  const BackendService& s = c.services[0];
  EXPECT_EQ(s.affinity, SessionAffinity::clientIp);
  EXPECT_EQ(s.tracking, TrackingMode::perSession);
  EXPECT_EQ(s.idleTimeout.count(), 3600);
  EXPECT_EQ(s.failover, (FailoverPolicy{0.5, true, true}));
  EXPECT_EQ(s.drainingTimeout.count(), 300);
  EXPECT_EQ(s.healthCheck, "web-hc");
  EXPECT_THAT(s.backends, testing::ElementsAre(ServiceBackend{"web-a", false, {}},
                                               ServiceBackend{"web-standby", true, {}}));
  ASSERT_EQ(c.rules.size(), 1u);
  EXPECT_EQ(c.rules[0].address.toString(), "10.9.9.9");
  EXPECT_THAT(c.rules[0].ports, testing::ElementsAre(PortRange{80, 80}, PortRange{443, 443}));
  ASSERT_EQ(c.routes.size(), 1u);
  EXPECT_EQ(c.routes[0].destRange.toString(), "0.0.0.0/0");
  EXPECT_EQ(c.routes[0].priority, 900);
  EXPECT_EQ(c.routes[0].nextHopIlb, "web-vip");
}

HealthCheck checkOf(const std::string& fields) {
  return valid("healthChecks: [{name: hc, " + fields + "}]\n").healthChecks.at(0);
}

TEST(Valid, H3_DefaultPortOfEachType) {
  EXPECT_EQ(checkOf("type: TCP").port, 80);
  EXPECT_EQ(checkOf("type: HTTP").port, 80);
  EXPECT_EQ(checkOf("type: SSL").port, 443);
  EXPECT_EQ(checkOf("type: HTTPS, httpsHealthCheck: {}").port, 443);
  EXPECT_EQ(checkOf("type: HTTP2").port, 443);
  EXPECT_EQ(checkOf("type: GRPC, grpcHealthCheck: {port: 9000}").port, 9000);
  EXPECT_EQ(checkOf("type: GRPC_WITH_TLS, grpcTlsHealthCheck: {port: 9001}").type,
            HealthCheck::Type::grpcWithTls);
  EXPECT_EQ(checkOf("type: GRPC, grpcHealthCheck: {portSpecification: USE_SERVING_PORT}")
                .portSpecification,
            HealthCheck::PortSpecification::servingPort);
}

TEST(Valid, H2_H9_EveryFieldOfAHealthCheck) {
  const HealthCheck c = checkOf(
      "type: HTTP, checkIntervalSec: 300, timeoutSec: '300', healthyThreshold: 1, "
      "unhealthyThreshold: 10, probeTarget: ENDPOINT, logConfig: {enable: true}, httpHealthCheck: "
      "{port: '8080', host: a.example.com, requestPath: '/h?x=1', response: ok, proxyHeader: "
      "PROXY_V1, portSpecification: USE_FIXED_PORT}");
  EXPECT_EQ(c.checkInterval.count(), 300);
  EXPECT_EQ(c.timeout.count(), 300);
  EXPECT_EQ(c.healthyThreshold, 1u);
  EXPECT_EQ(c.unhealthyThreshold, 10u);
  EXPECT_EQ(c.target, HealthCheck::Target::endpoint);
  EXPECT_TRUE(c.logEnable);
  EXPECT_EQ(c.port, 8080);
  EXPECT_EQ(c.host, "a.example.com");
  EXPECT_EQ(c.requestPath, "/h?x=1");
  EXPECT_EQ(c.response, "ok");
  EXPECT_EQ(c.proxyHeader, HealthCheck::ProxyHeader::proxyV1);
  const HealthCheck tcp = checkOf("tcpHealthCheck: {request: 010, response: no}");
  EXPECT_EQ(tcp.request, "010") << "a plain scalar stays text where text is wanted";
  EXPECT_EQ(tcp.response, "no");
  EXPECT_EQ(checkOf("tcpHealthCheck: {request: " + std::string(1024, 'x') + "}").request.size(),
            1024u);
}

NetworkEndpointGroup groupOf(const std::string& fields) {
  return valid("networkEndpointGroups: [{name: g, " + fields + "}]\n").groups.at(0);
}

TEST(Valid, C1_TypeOfAGroupFollowsItsPorts) {
  using Type = NetworkEndpointGroup::Type;
  EXPECT_EQ(groupOf("endpoints: [{ipAddress: 10.2.0.1}]").type, Type::gceVmIp);
  EXPECT_EQ(groupOf("endpoints: [{ipAddress: 10.2.0.1, port: 80}]").type, Type::gceVmIpPort);
  const auto group = groupOf("defaultPort: '80', endpoints: [{ipAddress: 10.2.0.1}]");
  EXPECT_EQ(group.type, Type::gceVmIpPort);
  EXPECT_EQ(group.endpoints[0].port, 80);
  const auto names = groupOf(
      "networkEndpointType: INTERNET_FQDN_PORT, defaultPort: 443, endpoints: [{fqdn: "
      "a.example.com.}]");
  EXPECT_EQ(names.endpoints[0].fqdn, "a.example.com");
}

TEST(Valid, C1_EveryFieldOfAnEndpoint) {
  const auto group = groupOf(
      "zone: https://x/projects/p/zones/za, endpoints: [{ipAddress: 10.2.0.1, ipv6Address: "
      "'fd00::1', instance: 'no', weight: 0, annotations: {a: b}}]");
  EXPECT_EQ(group.zone, "za");
  const Endpoint& e = group.endpoints[0];
  EXPECT_EQ(e.ipAddress->toString(), "10.2.0.1");
  EXPECT_EQ(e.ipv6Address->toString(), "fd00::1");
  EXPECT_EQ(e.instance, "no");
  EXPECT_EQ(e.weight, 0u);
}

TEST(Valid, P6_1_IdleTimeoutUpToItsRange) {
  const auto idle = [](const std::string& policy, const std::string& affinity) {
    return valid("backendServices: [{name: s, sessionAffinity: " + affinity +
                 ", connectionTrackingPolicy: {" + policy + "}}]\n")
        .services.at(0)
        .idleTimeout.count();
  };
  EXPECT_EQ(idle("idleTimeoutSec: 60", "NONE"), 60);
  EXPECT_EQ(idle("idleTimeoutSec: 600", "CLIENT_IP"), 600);
  for (const char* affinity : {"CLIENT_IP", "CLIENT_IP_PROTO", "CLIENT_IP_NO_DESTINATION"})
    EXPECT_EQ(idle("trackingMode: PER_SESSION, idleTimeoutSec: 57600", affinity), 57600);
}

TEST(Valid, EveryPassthroughFieldOfAService) {
  const BackendService s =
      valid(
          "backendServices: [{name: s, loadBalancingScheme: EXTERNAL, protocol: UDP, "
          "localityLbPolicy: WEIGHTED_GCP_RENDEZVOUS, networkPassThroughLbTrafficPolicy: "
          "{zonalAffinity: {spillover: ZONAL_AFFINITY_SPILL_CROSS_ZONE, spilloverRatio: 0.25}}, "
          "connectionTrackingPolicy: {connectionPersistenceOnUnhealthyBackends: ALWAYS_PERSIST, "
          "enableStrongAffinity: false}, logConfig: {enable: true, sampleRate: 0.5}, enableCDN: "
          "false, timeoutSec: 30, description: x}]\n")
          .services.at(0);
  EXPECT_EQ(s.scheme, LoadBalancingScheme::external);
  EXPECT_EQ(s.protocol, ServiceProtocol::udp);
  EXPECT_TRUE(s.weighted);
  EXPECT_EQ(s.spillover, Spillover::spillCrossZone);
  EXPECT_EQ(s.spilloverRatio, 0.25);
  EXPECT_EQ(s.persist, PersistOnUnhealthy::alwaysPersist);
  EXPECT_TRUE(s.logEnable);
}

ForwardingRule ruleOf(const std::string& fields) {
  return valid(
             "backendServices: [{name: s, protocol: UNSPECIFIED}]\nforwardingRules: [{name: r, "
             "backendService: s, " +
             fields + "}]\n")
      .rules.at(0);
}

TEST(Valid, P8_2_PortsOfARule) {
  EXPECT_THAT(ruleOf("IPAddress: 10.9.9.9, portRange: 8000-8999").ports,
              testing::ElementsAre(PortRange{8000, 8999}));
  EXPECT_THAT(ruleOf("IPAddress: 10.9.9.9, portRange: 80-80").ports,
              testing::ElementsAre(PortRange{80, 80}));
  EXPECT_THAT(ruleOf("IPAddress: 10.9.9.9, portRange: '80', allPorts: false").ports,
              testing::ElementsAre(PortRange{80, 80}));
  EXPECT_THAT(ruleOf("IPAddress: 10.9.9.9, allPorts: true").ports, testing::IsEmpty());
  EXPECT_EQ(ruleOf("IPAddress: 10.9.9.9/32, IPProtocol: L3_DEFAULT, allPorts: true").protocol,
            Protocol::none);
  EXPECT_EQ(ruleOf("IPAddress: 'fd00::9/128', IPProtocol: UDP, ports: ['1', 2]").address.toString(),
            "fd00::9");
}

TEST(Valid, P8_3_RulesMayShareAnAddress) {
  valid(kCheck + kGroup + R"(
backendServices:
  - {name: s, healthChecks: [hc], backends: [{group: g}]}
  - {name: u, protocol: UNSPECIFIED, healthChecks: [hc], backends: [{group: g}]}
forwardingRules:
  - {name: a, IPAddress: 10.9.9.9, ports: [80], backendService: s}
  - {name: b, IPAddress: 10.9.9.9, portRange: 81-90, backendService: s}
  - {name: c, IPAddress: 10.9.9.9, IPProtocol: UDP, allPorts: true, backendService: u}
  - {name: d, IPAddress: 10.9.9.9, IPProtocol: L3_DEFAULT, allPorts: true, backendService: u}
  - {name: e, IPAddress: 10.9.9.8, ports: [80], backendService: s}
)");
}

TEST(Valid, N1_NextHopByNameUrlOrAddress) {
  const auto next = [](const std::string& written) {
    return valid(kAll + "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: " + written + "}]\n")
        .routes.at(0)
        .nextHopIlb;
  };
  EXPECT_EQ(next("r"), "r");
  EXPECT_EQ(next("https://x/regions/r1/forwardingRules/r"), "r");
  EXPECT_EQ(next("10.9.9.9"), "r");
}

TEST(Valid, N1_AddressOfSeveralRulesOfOneService) {
  const auto c = valid(kCheck + kGroup + kService +
                       "forwardingRules:\n"
                       "  - {name: b, IPAddress: 10.9.9.9, ports: [80], backendService: s}\n"
                       "  - {name: a, IPAddress: 10.9.9.9, ports: [81], backendService: s}\n"
                       "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: 10.9.9.9}]\n");
  EXPECT_EQ(c.routes[0].nextHopIlb, "a");
}

TEST(Valid, C1_EverySettingOfTheNode) {
  const Node n = valid(R"(
location: {region: r1, zone: za}
zones: [{name: za, region: r1, clientRanges: [10.1.0.0/16, 'fd00::/8', 192.0.2.1]}, {name: zb}]
proximity: {zb: 0.5, r1: '20'}
fwmarkMask: 0xff00
hashSeed: 0xffffffffffffffff
queues: '4'
queueBase: 65532
ruleBase: 10
tableBase: 0x100
routeProtocol: 252
trackingTable: {ipv4Entries: 1024, ipv6Entries: 134217728}
metrics: {address: '[::1]:9000'}
log: {level: debug}
)")
                     .node;
  EXPECT_EQ(n.region, "r1");
  EXPECT_EQ(n.zone, "za");
  ASSERT_EQ(n.zones.size(), 2u);
  EXPECT_EQ(n.zones[0].clientRanges.size(), 3u);
  EXPECT_EQ(n.proximityMs, (std::map<std::string, double>{{"zb", 0.5}, {"r1", 20}}));
  EXPECT_EQ(n.fwmarkMask, 0xff00u);
  EXPECT_EQ(n.hashSeed, UINT64_MAX);
  EXPECT_EQ(n.queues, 4u);
  EXPECT_EQ(n.queueBase, 65532);
  EXPECT_EQ(n.ruleBase, 10u);
  EXPECT_EQ(n.tableBase, 0x100u);
  EXPECT_EQ(n.routeProtocol, 252);
  EXPECT_EQ(n.trackedIpv4, 1024u);
  EXPECT_EQ(n.trackedIpv6, std::size_t{1} << 27);
  EXPECT_EQ(n.metricsAddress, "[::1]:9000");
  EXPECT_EQ(n.logLevel, LogLevel::debug);
}

TEST(Valid, YamlFormsThatMeanTheSame) {
  const Configuration c = valid(kAll);
  EXPECT_EQ(valid("\xef\xbb\xbf" + kAll), c) << "byte order mark";
  std::string crlf;
  for (const char ch : kAll) crlf += ch == '\n' ? "\r\n" : std::string(1, ch);
  EXPECT_EQ(valid(crlf), c);
  EXPECT_EQ(valid("%YAML 1.2\n---\n" + kAll + "...\n"), c);
  EXPECT_EQ(valid(kCheck + "---\n" + kGroup + "---\n" + kService + "---\n" + kRule), c);
  EXPECT_EQ(valid("healthChecks: [&hc {name: hc}]\n" + kGroup + kService + kRule), c) << "anchor";
  EXPECT_EQ(valid(kAll.substr(0, kAll.size() - 1)), c) << "no line end at the end";
}

TEST(Valid, AliasesShareValues) {
  const Configuration c = valid(
      "networkEndpointGroups:\n  - {name: a, endpoints: &e [{ipAddress: 10.2.0.1}]}\n"
      "  - {name: b, endpoints: *e}\n");
  EXPECT_EQ(c.groups[0].endpoints, c.groups[1].endpoints);
}

TEST(Valid, P10_FiftyGroupsOfEachKind) {
  std::string text = "networkEndpointGroups:\n", backends;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "g" + std::to_string(i);
    text += "  - {name: " + name + "}\n";
    backends += "      - {group: " + name + ", failover: " + (i < 50 ? "false" : "true") + "}\n";
  }
  EXPECT_EQ(valid(text + "backendServices:\n  - name: s\n    backends:\n" + backends)
                .services[0]
                .backends.size(),
            100u);
}

TEST(Valid, DefinitionsTellWhereResourcesAre) {
  const Loaded loaded = load({"weir.yaml", "\n" + kCheck}, {{"conf.d/a.yaml", "\n\n" + kGroup}});
  ASSERT_EQ(loaded.definitions.size(), 2u);
  EXPECT_EQ(loaded.definitions[0].collection, "healthChecks");
  EXPECT_EQ(loaded.definitions[0].name, "hc");
  EXPECT_EQ(loaded.definitions[0].file, "weir.yaml");
  EXPECT_EQ(loaded.definitions[0].line, 2u);
  EXPECT_EQ(loaded.definitions[1].file, "conf.d/a.yaml");
  EXPECT_EQ(loaded.definitions[1].line, 3u);
}

}  // namespace
}  // namespace weir::config::test
