// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the rules forbid of resources: each case has exactly one error, at its '@'.
#include <fmt/format.h>

#include "fixture.h"

namespace weir::config::test {
namespace {

class Resource : public testing::TestWithParam<WrongCase> {};
TEST_P(Resource, IsRefusedAtItsPlace) { expectOneError(GetParam()); }

std::string check(const std::string& fields) {
  return "healthChecks: [{name: hc, " + fields + "}]\n" + kGroup + kService + kRule;
}
std::string group(const std::string& fields) {
  return kAll + "---\nnetworkEndpointGroups: [{name: n, " + fields + "}]\n";
}
std::string service(const std::string& fields) {
  return kCheck + kGroup + "backendServices: [{name: s, " + fields + "}]\n" + kRule;
}
std::string tracking(const std::string& fields, const std::string& others = "protocol: TCP") {
  return service("connectionTrackingPolicy: {" + fields + "}, " + others);
}
std::string rule(const std::string& fields) {
  return kCheck + kGroup + kService + "forwardingRules: [{name: r, " + fields + "}]\n";
}
std::string rules(const std::string& first, const std::string& second) {
  return kCheck + kGroup + kService + "forwardingRules:\n  - {name: a, IPAddress: 10.9.9.9, " +
         "backendService: s, " + first + "}\n  - {name: b, IPAddress: " + second + "}\n";
}
std::string route(const std::string& fields) {
  return kAll + "routes: [{name: x, " + fields + "}]\n";
}
std::string longText(std::size_t n) { return std::string(n, 'x'); }

INSTANTIATE_TEST_SUITE_P(
    HealthCheck, Resource,
    testing::Values(
        WrongCase{"P10_NameLong", "healthChecks: [{name: @" + longText(64) + "}]\n", "1 to 63"},
        WrongCase{"P10_NameCapital", "healthChecks: [{name: @Web}]\n", "name must be"},
        WrongCase{"P10_NameDigit", "healthChecks: [{name: @1a}]\n", "the first a letter"},
        WrongCase{"P10_NameUnderscore", "healthChecks: [{name: @a_b}]\n", "name must be"},
        WrongCase{"P10_NameEmpty", "healthChecks: [{name: @''}]\n", "name must be"},
        WrongCase{"NameTwice", kAll + "---\nhealthChecks: [{name: @hc}]\n", "already at"},
        WrongCase{"H1_Type", check("type: @ICMP"), "TCP, SSL, HTTP"},
        WrongCase{"H1_OtherBlock", check("type: SSL, @tcpHealthCheck: {}"), "sslHealthCheck"},
        WrongCase{"H1_BlockWithoutType", check("@httpHealthCheck: {port: 1}"), "(the default)"},
        WrongCase{"H1_TwoBlocks", check("tcpHealthCheck: {}, @sslHealthCheck: {}"),
                  "does not belong to type TCP"},
        WrongCase{"H2_IntervalZero", check("checkIntervalSec: @0"), "from 1 to 300"},
        WrongCase{"H2_IntervalLong", check("checkIntervalSec: @301"), "from 1 to 300"},
        WrongCase{"H2_TimeoutZero", check("timeoutSec: @0"), "from 1 to 300"},
        WrongCase{"H2_TimeoutLong", check("timeoutSec: @301, checkIntervalSec: 300"),
                  "from 1 to 300"},
        WrongCase{"H2_TimeoutAboveInterval", check("timeoutSec: @6"),
                  "timeoutSec (6) must be at most checkIntervalSec (5)"},
        WrongCase{"H2_DefaultTimeoutAboveInterval", check("checkIntervalSec: @1"),
                  "timeoutSec (5 when not given)"},
        WrongCase{"H2_HealthyZero", check("healthyThreshold: @0"), "from 1 to 10"},
        WrongCase{"H2_HealthyMany", check("healthyThreshold: @11"), "from 1 to 10"},
        WrongCase{"H2_UnhealthyZero", check("unhealthyThreshold: @0"), "from 1 to 10"},
        WrongCase{"H2_UnhealthyMany", check("unhealthyThreshold: @11"), "from 1 to 10"},
        WrongCase{"H3_PortZero", check("tcpHealthCheck: {port: @0}"), "from 1 to 65535"},
        WrongCase{"H3_PortLarge", check("tcpHealthCheck: {port: @65536}"), "from 1 to 65535"},
        WrongCase{"H3_GrpcNeedsPort", check("type: @GRPC"), "needs a port in grpcHealthCheck"},
        WrongCase{"H3_GrpcBlockNeedsPort",
                  check("type: GRPC, grpcHealthCheck: @{grpcServiceName: a}"), "needs a port"},
        WrongCase{"H3_GrpcTlsNeedsPort", check("type: @GRPC_WITH_TLS"),
                  "needs a port in grpcTlsHealthCheck"},
        WrongCase{"H3_PortName", check("tcpHealthCheck: {@portName: http}"), "give the port"},
        WrongCase{"H3_NamedPort", check("tcpHealthCheck: {portSpecification: @USE_NAMED_PORT}"),
                  "USE_FIXED_PORT and USE_SERVING_PORT"},
        WrongCase{"H3_ServingPortWithPort",
                  check("tcpHealthCheck: {portSpecification: USE_SERVING_PORT, port: @80}"),
                  "USE_SERVING_PORT"},
        WrongCase{"H3_ServingPortOfPassthrough",
                  "healthChecks: [{name: hc, tcpHealthCheck: {portSpecification: "
                  "USE_SERVING_PORT}}]\n" +
                      kGroup + "backendServices: [{name: s, healthChecks: [@hc]}]\n" + kRule,
                  "no serving port"},
        WrongCase{"H4_Path", check("type: HTTP, httpHealthCheck: {requestPath: @health}"),
                  "begins with '/'"},
        WrongCase{"H4_PathBlank", check("type: HTTP, httpHealthCheck: {requestPath: @/a b}"),
                  "no blank"},
        WrongCase{"H4_PathControl",
                  check("type: HTTP, httpHealthCheck: {requestPath: @\"/\\r\\nX: y\"}"),
                  "printable ASCII"},
        WrongCase{"H4_Host", check("type: HTTP, httpHealthCheck: {host: @\"a\\r\\nb\"}"),
                  "printable ASCII"},
        WrongCase{"H4_HostLong",
                  check("type: HTTP, httpHealthCheck: {host: @" + longText(256) + "}"),
                  "at most 255"},
        WrongCase{"H4_HttpResponse",
                  check("type: HTTP2, http2HealthCheck: {response: @" + longText(1025) + "}"),
                  "at most 1024"},
        WrongCase{"H4_NoRequest", check("type: HTTPS, httpsHealthCheck: {@request: x}"),
                  "unknown key 'request'"},
        WrongCase{"H5_RequestLong", check("tcpHealthCheck: {request: @" + longText(1025) + "}"),
                  "at most 1024"},
        WrongCase{"H5_RequestControl", check("tcpHealthCheck: {request: @\"a\\n\"}"), "'a\\n'"},
        WrongCase{"H5_ResponseNotAscii", check("type: SSL, sslHealthCheck: {response: @\xc3\xa9}"),
                  "printable ASCII"},
        WrongCase{"H6_ServiceName",
                  check("type: GRPC, grpcHealthCheck: {port: 1, grpcServiceName: @\"\\t\"}"),
                  "printable ASCII"},
        WrongCase{"H8_ProxyHeader", check("tcpHealthCheck: {proxyHeader: @PROXY_V2}"),
                  "NONE or PROXY_V1"},
        WrongCase{"H8_NoProxyHeaderForGrpc",
                  check("type: GRPC, grpcHealthCheck: {port: 1, @proxyHeader: NONE}"),
                  "unknown key 'proxyHeader'"},
        WrongCase{"H9_ProbeTarget", check("probeTarget: @VIP"), "VIRTUAL_IP or ENDPOINT"},
        WrongCase{"SourceRegions", check("@sourceRegions: [a]"), "not supported"},
        WrongCase{"BlockIsText", check("tcpHealthCheck: @80"), "must be a mapping"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Group, Resource,
    testing::Values(
        WrongCase{"NameTwice", group("zone: za") + "---\nnetworkEndpointGroups: [{name: @n}]\n",
                  "network endpoint group 'n' already"},
        WrongCase{"Zone", group("zone: @ZA"), "zone must be"},
        WrongCase{"Type", group("networkEndpointType: @VM"), "GCE_VM_IP"},
        WrongCase{"TypeServerless", group("networkEndpointType: @SERVERLESS"), "not supported"},
        WrongCase{"CloudRun", group("@cloudRun: {}"), "not supported"},
        WrongCase{"EndpointsIsMapping", group("endpoints: @{ipAddress: 10.2.0.1}"),
                  "endpoints must be a list"},
        WrongCase{"EndpointIsText", group("endpoints: [@10.2.0.1]"), "must be a mapping"},
        WrongCase{"EndpointUnknownKey", group("endpoints: [{@ip: 10.2.0.1, ipAddress: 10.2.0.1}]"),
                  "unknown key 'ip'"},
        WrongCase{"EndpointWithoutAddress", group("endpoints: [@{instance: vm}]"),
                  "needs 'ipAddress' or 'ipv6Address'"},
        WrongCase{"AddressText", group("endpoints: [{ipAddress: @vm1}]"), "an IPv4 address"},
        WrongCase{"AddressLeadingZero", group("endpoints: [{ipAddress: @10.2.0.01}]"), "IPv4"},
        WrongCase{"AddressShort", group("endpoints: [{ipAddress: @10.2}]"), "IPv4"},
        WrongCase{"AddressPrefix", group("endpoints: [{ipAddress: @10.2.0.1/32}]"), "IPv4"},
        WrongCase{"AddressFamily", group("endpoints: [{ipAddress: @'fd00::1'}]"), "IPv4"},
        WrongCase{"AddressFamily6", group("endpoints: [{ipv6Address: @10.2.0.1}]"), "IPv6"},
        WrongCase{"AddressLoopback", group("endpoints: [{ipAddress: @127.0.0.1}]"), "of a host"},
        WrongCase{"AddressUnspecified", group("endpoints: [{ipAddress: @0.0.0.0}]"), "of a host"},
        WrongCase{"AddressMulticast", group("endpoints: [{ipAddress: @224.0.0.1}]"), "of a host"},
        WrongCase{"AddressBroadcast", group("endpoints: [{ipAddress: @255.255.255.255}]"),
                  "of a host"},
        WrongCase{"AddressLoopback6", group("endpoints: [{ipv6Address: @'::1'}]"), "of a host"},
        WrongCase{"AddressMulticast6", group("endpoints: [{ipv6Address: @'ff02::1'}]"),
                  "of a host"},
        WrongCase{"AddressMapped", group("endpoints: [{ipv6Address: @'::ffff:10.2.0.1'}]"), "IPv6"},
        WrongCase{"PortZero", group("endpoints: [{ipAddress: 10.2.0.1, port: @0}]"),
                  "from 1 to 65535"},
        WrongCase{"PortInIpGroup",
                  group("networkEndpointType: GCE_VM_IP, endpoints: [@{ipAddress: 10.2.0.1, port: "
                        "80}]"),
                  "'port' is not allowed"},
        WrongCase{"DefaultPortInIpGroup", group("networkEndpointType: GCE_VM_IP, defaultPort: @80"),
                  "'defaultPort' is not allowed"},
        WrongCase{"DefaultPortLarge", group("defaultPort: @65536"), "from 1 to 65535"},
        WrongCase{"PortMissing",
                  group("networkEndpointType: GCE_VM_IP_PORT, endpoints: [@{ipAddress: 10.2.0.1}]"),
                  "needs 'port'"},
        WrongCase{"PortMissingBesideOne",
                  group("endpoints: [{ipAddress: 10.2.0.1, port: 1}, @{ipAddress: 10.2.0.2}]"),
                  "needs 'port'"},
        WrongCase{"FqdnInIpGroup", group("endpoints: [@{fqdn: a.example.com}]"),
                  "INTERNET_FQDN_PORT only"},
        WrongCase{"FqdnGroupWithAddress",
                  group("networkEndpointType: INTERNET_FQDN_PORT, defaultPort: 1, endpoints: "
                        "[@{ipAddress: 10.2.0.1}]"),
                  "needs 'fqdn'"},
        WrongCase{"FqdnText",
                  group("networkEndpointType: INTERNET_FQDN_PORT, defaultPort: 1, endpoints: "
                        "[{fqdn: @'a b'}]"),
                  "DNS name"},
        WrongCase{"P9_1_Weight", group("endpoints: [{ipAddress: 10.2.0.1, weight: @1001}]"),
                  "from 0 to 1000"},
        WrongCase{"P9_1_WeightNegative", group("endpoints: [{ipAddress: 10.2.0.1, weight: @-1}]"),
                  "from 0 to 1000"}),
    nameOfCase);

const std::string kPersistent = "connectionPersistenceOnUnhealthyBackends: ";
INSTANTIATE_TEST_SUITE_P(
    Service, Resource,
    testing::Values(
        WrongCase{"NameTwice", kAll + "---\nbackendServices: [{name: @s}]\n",
                  "backend service 's' already"},
        WrongCase{"Scheme", service("loadBalancingScheme: @INTERN"), "did you mean 'INTERNAL'?"},
        WrongCase{"SchemeMesh", service("loadBalancingScheme: @INTERNAL_SELF_MANAGED"),
                  "not supported"},
        WrongCase{"P8_1_Protocol", service("protocol: @SCTP"), "TCP, UDP or UNSPECIFIED"},
        WrongCase{"P8_1_ProtocolHttp", service("protocol: @HTTP"), "does not read HTTP"},
        WrongCase{"P4_Affinity", service("sessionAffinity: @CLIENTIP"), "did you mean 'CLIENT_IP'"},
        WrongCase{"P4_AffinityCookie", service("sessionAffinity: @GENERATED_COOKIE"),
                  "not supported"},
        WrongCase{"P5_Mode", tracking("trackingMode: @PER_SESION"), "did you mean 'PER_SESSION'"},
        WrongCase{"P6_1_IdleShort", tracking("idleTimeoutSec: @59"), "from 60 to 600"},
        WrongCase{"P6_1_IdleLongPerConnection", tracking("idleTimeoutSec: @601"),
                  "from 60 to 600, not 601"},
        WrongCase{"P6_1_IdleLongPerConnectionClientIp",
                  tracking("idleTimeoutSec: @601", "sessionAffinity: CLIENT_IP"),
                  "from 60 to 600, not 601"},
        WrongCase{"P6_1_IdleLongFiveTuple",
                  tracking("trackingMode: PER_SESSION, idleTimeoutSec: @601",
                           "sessionAffinity: CLIENT_IP_PORT_PROTO"),
                  "from 60 to 600"},
        WrongCase{"P6_1_IdleLongNone", tracking("trackingMode: PER_SESSION, idleTimeoutSec: @3600"),
                  "from 60 to 600"},
        WrongCase{"P6_1_IdleLongSession",
                  tracking("trackingMode: PER_SESSION, idleTimeoutSec: @57601",
                           "sessionAffinity: CLIENT_IP"),
                  "affinity to 57600"},
        WrongCase{"P6_1_ToldBesideAnotherMistake",
                  tracking("idleTimeoutSec: @601", "timeoutSec: 30"), "from 60 to 600"},
        WrongCase{"P6_3_AlwaysPersistPerSession",
                  tracking("trackingMode: PER_SESSION, " + kPersistent + "@ALWAYS_PERSIST"),
                  "not allowed with trackingMode PER_SESSION"},
        WrongCase{"P6_3_Persist", tracking(kPersistent + "@NEVER"), "NEVER_PERSIST"},
        WrongCase{"StrongAffinity", tracking("enableStrongAffinity: @true"), "must be false"},
        WrongCase{"StrongAffinityText", tracking("enableStrongAffinity: @maybe"), "true or false"},
        WrongCase{"TrackingIsText", service("connectionTrackingPolicy: @PER_SESSION"),
                  "must be a mapping"},
        WrongCase{"P2_RatioAboveOne", service("failoverPolicy: {failoverRatio: @1.1}"),
                  "from 0 to 1"},
        WrongCase{"P2_RatioNegative", service("failoverPolicy: {failoverRatio: @-0.1}"),
                  "from 0 to 1"},
        WrongCase{"P2_RatioPercent", service("failoverPolicy: {failoverRatio: @50%}"),
                  "from 0 to 1"},
        WrongCase{"P2_RatioExponent", service("failoverPolicy: {failoverRatio: @1e-1}"),
                  "from 0 to 1"},
        WrongCase{"P2_RatioPoint", service("failoverPolicy: {failoverRatio: @.5}"), "from 0 to 1"},
        WrongCase{"P2_RatioNan", service("failoverPolicy: {failoverRatio: @.nan}"), "from 0 to 1"},
        WrongCase{"P2_8_Drop", service("failoverPolicy: {dropTrafficIfUnhealthy: @0}"),
                  "true or false"},
        WrongCase{"P6_5_Drain", service("failoverPolicy: {disableConnectionDrainOnFailover: @y}"),
                  "true or false"},
        WrongCase{"P7_DrainLong", service("connectionDraining: {drainingTimeoutSec: @3601}"),
                  "from 0 to 3600"},
        WrongCase{"P7_DrainNegative", service("connectionDraining: {drainingTimeoutSec: @-1}"),
                  "from 0 to 3600"},
        WrongCase{"P3_Spillover",
                  service("networkPassThroughLbTrafficPolicy: {zonalAffinity: {spillover: "
                          "@STAY_WITHIN_ZONE}}"),
                  "ZONAL_AFFINITY_STAY_WITHIN_ZONE"},
        WrongCase{"P3_SpilloverRatio",
                  service("networkPassThroughLbTrafficPolicy: {zonalAffinity: {spilloverRatio: "
                          "@2}}"),
                  "from 0 to 1"},
        WrongCase{"P3_UnknownPolicy",
                  service("networkPassThroughLbTrafficPolicy: {@zonalAfinity: {}}"),
                  "did you mean 'zonalAffinity'"},
        WrongCase{"P9_Locality", service("localityLbPolicy: @WEIGHTED"), "WEIGHTED_MAGLEV"},
        WrongCase{"P9_LocalityOfProxies", service("localityLbPolicy: @ROUND_ROBIN"),
                  "belongs to proxies"},
        WrongCase{"H1_TwoHealthChecks", service("healthChecks: [hc, @hc2]"), "at most 1"},
        WrongCase{"H1_NoSuchHealthCheck", service("healthChecks: [@ch]"), "did you mean 'hc'"},
        WrongCase{"H1_HealthCheckIsText", service("healthChecks: @hc"), "must be a list"},
        WrongCase{"NoSuchGroup", service("backends: [{group: @gg}]"),
                  "there is no network endpoint group 'gg' (did you mean 'g'?); there are g"},
        WrongCase{"NoSuchGroupByUrl",
                  service("backends: [{group: @https://x/zones/za/instanceGroups/ig}]"), "'ig'"},
        WrongCase{"GroupTwice", service("backends: [{group: g}, {group: @g, failover: true}]"),
                  "listed twice"},
        WrongCase{"GroupMissing", service("backends: [@{failover: true}]"),
                  "needs the key 'group'"},
        WrongCase{"Failover", service("backends: [{group: g, failover: @yes}]"), "true or false"},
        WrongCase{"BalancingMode", service("backends: [{group: g, balancingMode: @UTILIZATION}]"),
                  "a passthrough service has CONNECTION"},
        WrongCase{"MaxConnections", service("backends: [{group: g, @maxConnections: 5}]"),
                  "belongs to proxies"},
        WrongCase{"CapacityScaler", service("backends: [{group: g, @capacityScaler: 1.0}]"),
                  "belongs to proxies"},
        WrongCase{"Preference", service("backends: [{group: g, @preference: DEFAULT}]"),
                  "belongs to proxies"},
        WrongCase{"SampleRate", service("logConfig: {sampleRate: @1.5}"), "from 0 to 1"},
        WrongCase{"Cdn", service("enableCDN: @true"), "must be false"},
        WrongCase{"CircuitBreakers", service("@circuitBreakers: {}"), "belongs to proxies"},
        WrongCase{"ServicePolicy", service("@serviceLbPolicy: p"), "belongs to proxies"},
        WrongCase{"SecurityPolicy", service("@securityPolicy: p"), "nftables"},
        WrongCase{"Subsetting", service("@subsetting: {}"), "every backend"},
        WrongCase{"Iap", service("@iap: {}"), "HTTP"}),
    nameOfCase);

std::string manyGroups(std::size_t primary, std::size_t failover) {
  std::string groups = "networkEndpointGroups:\n", backends;
  for (std::size_t i = 0; i < primary + failover; ++i) {
    groups += fmt::format("  - {{name: g{}}}\n", i);
    const bool tooMany = i == 50 || (i >= primary && i == primary + 50);
    backends += fmt::format("      - {{group: {}g{}, failover: {}}}\n",
                            tooMany && (i >= primary || primary > 50) ? "@" : "", i, i >= primary);
  }
  return kCheck + groups + "backendServices:\n  - name: s\n    backends:\n" + backends + kRule;
}
INSTANTIATE_TEST_SUITE_P(Limits, Resource,
                         testing::Values(WrongCase{"P10_PrimaryGroups", manyGroups(51, 0),
                                                   "more than 50 primary groups"},
                                         WrongCase{"P10_FailoverGroups", manyGroups(1, 51),
                                                   "more than 50 failover groups"}),
                         nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Rule, Resource,
    testing::Values(
        WrongCase{"NameTwice",
                  kAll + "---\nforwardingRules: [{name: @r, IPAddress: 10.9.9.8, ports: [80], "
                         "backendService: s}]\n",
                  "forwarding rule 'r' already"},
        WrongCase{"AddressMissing",
                  "forwardingRules: [@{name: r, ports: [80], backendService: s}]\n" + kCheck +
                      kGroup + kService,
                  "needs the key 'IPAddress'"},
        WrongCase{"ServiceMissing",
                  kAll + "---\nforwardingRules: [@{name: b, IPAddress: 10.9.9.8, ports: [80]}]\n",
                  "needs the key 'backendService'"},
        WrongCase{"AddressName", rule("IPAddress: @vip, ports: [80], backendService: s"),
                  "IPv4 or IPv6"},
        WrongCase{"AddressRange", rule("IPAddress: @10.9.9.0/24, ports: [80], backendService: s"),
                  "IPv4 or IPv6"},
        WrongCase{"AddressOtherSuffix",
                  rule("IPAddress: @'fd00::1/32', ports: [80], backendService: s"), "IPv4 or IPv6"},
        WrongCase{"AddressLoopback", rule("IPAddress: @127.0.0.1, ports: [80], backendService: s"),
                  "of a host"},
        WrongCase{"P8_1_Protocol",
                  rule("IPAddress: 10.9.9.9, IPProtocol: @tcp, ports: [80], backendService: s"),
                  "TCP, UDP or L3_DEFAULT"},
        WrongCase{"P8_1_ProtocolSctp",
                  rule("IPAddress: 10.9.9.9, IPProtocol: @SCTP, ports: [80], backendService: s"),
                  "use L3_DEFAULT"},
        WrongCase{"P8_1_L3NeedsAllPorts",
                  kCheck + kGroup + "backendServices: [{name: s, protocol: UNSPECIFIED}]\n" +
                      "forwardingRules: [{name: r, IPAddress: 10.9.9.9, IPProtocol: @L3_DEFAULT, "
                      "ports: [80], backendService: s}]\n",
                  "'allPorts: true'"},
        WrongCase{"P8_1_L3NeedsUnspecified",
                  rule("IPAddress: 10.9.9.9, IPProtocol: @L3_DEFAULT, allPorts: true, "
                       "backendService: s"),
                  "allowed is UNSPECIFIED"},
        WrongCase{"P8_1_UdpRuleTcpService",
                  rule("IPAddress: 10.9.9.9, IPProtocol: @UDP, ports: [80], backendService: s"),
                  "allowed are UDP and UNSPECIFIED"},
        WrongCase{"P8_1_TcpRuleUdpService",
                  kCheck + kGroup + "backendServices: [{name: s, protocol: UDP}]\n" +
                      "forwardingRules: [{name: @r, IPAddress: 10.9.9.9, ports: [80], "
                      "backendService: s}]\n",
                  "cannot have a service with protocol UDP"},
        WrongCase{"P8_2_NoPorts",
                  kCheck + kGroup + kService +
                      "forwardingRules: [{name: @r, IPAddress: 10.9.9.9, backendService: s}]\n",
                  "exactly one of"},
        WrongCase{"P8_2_PortsAndRange",
                  rule("IPAddress: 10.9.9.9, ports: [80], portRange: @'80', backendService: s"),
                  "several are given"},
        WrongCase{"P8_2_PortsAndAll",
                  rule("IPAddress: 10.9.9.9, ports: [80], allPorts: @true, backendService: s"),
                  "several are given"},
        WrongCase{"P8_2_AllPortsFalse",
                  kCheck + kGroup + kService +
                      "forwardingRules: [{name: @r, IPAddress: 10.9.9.9, allPorts: false, "
                      "backendService: s}]\n",
                  "none is given"},
        WrongCase{"P8_2_PortsEmpty", rule("IPAddress: 10.9.9.9, ports: @[], backendService: s"),
                  "1 to 5"},
        WrongCase{"P8_2_SixPorts",
                  rule("IPAddress: 10.9.9.9, ports: [1, 2, 3, 4, 5, @6], backendService: s"),
                  "at most 5"},
        WrongCase{"P8_2_PortZero", rule("IPAddress: 10.9.9.9, ports: [@0], backendService: s"),
                  "from 1 to 65535"},
        WrongCase{"P8_2_PortLarge", rule("IPAddress: 10.9.9.9, ports: [@65536], backendService: s"),
                  "from 1 to 65535"},
        WrongCase{"P8_2_PortRangeInPorts",
                  rule("IPAddress: 10.9.9.9, ports: [@80-90], backendService: s"), "not '80-90'"},
        WrongCase{"P8_2_PortTwice",
                  rule("IPAddress: 10.9.9.9, ports: [80, @'80'], backendService: s"),
                  "listed twice"},
        WrongCase{"P8_2_PortsIsNumber", rule("IPAddress: 10.9.9.9, ports: @80, backendService: s"),
                  "must be a list"},
        WrongCase{"P8_2_RangeReversed",
                  rule("IPAddress: 10.9.9.9, portRange: @90-80, backendService: s"), "8000-8999"},
        WrongCase{"P8_2_RangeZero",
                  rule("IPAddress: 10.9.9.9, portRange: @0-80, backendService: s"), "8000-8999"},
        WrongCase{"P8_2_RangeLarge",
                  rule("IPAddress: 10.9.9.9, portRange: @80-65536, backendService: s"), "8000"},
        WrongCase{"P8_2_RangeOctal",
                  rule("IPAddress: 10.9.9.9, portRange: @080-90, backendService: s"), "8000"},
        WrongCase{"P8_2_RangeOpen", rule("IPAddress: 10.9.9.9, portRange: @80-, backendService: s"),
                  "8000"},
        WrongCase{"P8_2_AllPortsText",
                  rule("IPAddress: 10.9.9.9, allPorts: @'true', backendService: s"),
                  "without quotes"},
        WrongCase{"P8_3_SamePort",
                  rules("ports: [80]", "@10.9.9.9, backendService: s, ports: [79, 80]"), "port 80"},
        WrongCase{"P8_3_PortInRange",
                  rules("portRange: 80-90", "@10.9.9.9, backendService: s, ports: [85]"),
                  "port 85"},
        WrongCase{"P8_3_RangesOverlap",
                  rules("portRange: 80-90", "@10.9.9.9/32, backendService: s, portRange: 1-80"),
                  "port 80"},
        WrongCase{"P8_3_AllPortsOverPort",
                  rules("ports: [80]", "10.9.9.9, backendService: s, allPorts: @true"), "port 80"},
        WrongCase{"P8_3_PortUnderAllPorts",
                  rules("allPorts: true", "@10.9.9.9, backendService: s, ports: [80]"), "overlap"},
        WrongCase{"P8_3_TwoL3",
                  kCheck + kGroup + "backendServices: [{name: s, protocol: UNSPECIFIED}]\n" +
                      "forwardingRules:\n"
                      "  - {name: a, IPAddress: 10.9.9.9, IPProtocol: L3_DEFAULT, allPorts: true, "
                      "backendService: s}\n"
                      "  - {name: b, IPAddress: 10.9.9.9, IPProtocol: L3_DEFAULT, allPorts: @true, "
                      "backendService: s}\n",
                  "both take L3_DEFAULT packets"},
        WrongCase{"P8_3_Family", rule("IPAddress: @'fd00::9', ports: [80], backendService: s"),
                  "endpoint 10.2.0.1 of group 'g' has no IPv6 address"},
        WrongCase{"P8_3_FamilyOfManyEndpoints",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [{ipv6Address: 'fd00::1'}, "
                      "{ipv6Address: 'fd00::2'}]}]\n" +
                      kService +
                      "forwardingRules: [{name: r, IPAddress: @10.9.9.9, ports: [80], "
                      "backendService: s}]\n",
                  "endpoint fd00::1 (and 1 more) of group 'g' has no IPv4 address"},
        WrongCase{"NoSuchService", rule("IPAddress: 10.9.9.9, ports: [80], backendService: @t"),
                  "there is no backend service 't'"},
        WrongCase{"ServiceIsList", rule("IPAddress: 10.9.9.9, ports: [80], backendService: @[s]"),
                  "a name or a URL"},
        WrongCase{"SchemeOfService",
                  rule("IPAddress: 10.9.9.9, loadBalancingScheme: @EXTERNAL, ports: [80], "
                       "backendService: s"),
                  "both must be the same"},
        WrongCase{"Target", rule("IPAddress: 10.9.9.9, ports: [80], backendService: s, @target: t"),
                  "target belongs to proxies: it needs loadBalancingScheme INTERNAL_MANAGED"},
        WrongCase{"SourceRanges",
                  rule("IPAddress: 10.9.9.9, ports: [80], backendService: s, @sourceIpRanges: []"),
                  "nftables"},
        WrongCase{"Mirroring",
                  rule("IPAddress: 10.9.9.9, ports: [80], backendService: s, "
                       "isMirroringCollector: @true"),
                  "must be false"}),
    nameOfCase);

const std::string kL3 =
    "---\nbackendServices: [{name: u, protocol: UNSPECIFIED, healthChecks: [hc], backends: "
    "[{group: g}]}]\nforwardingRules: [{name: l3, IPAddress: 10.9.9.8, IPProtocol: L3_DEFAULT, "
    "allPorts: true, backendService: u}]\n";
INSTANTIATE_TEST_SUITE_P(
    Route, Resource,
    testing::Values(
        WrongCase{"NameTwice",
                  kAll + "routes:\n  - {name: x, destRange: 10.0.0.0/8, nextHopIlb: r}\n"
                         "  - {name: @x, destRange: 11.0.0.0/8, nextHopIlb: r}\n",
                  "route 'x' already"},
        WrongCase{"N1_RangeMissing", kAll + "routes: [@{name: x, nextHopIlb: r}]\n",
                  "needs the key 'destRange'"},
        WrongCase{"N1_NextHopMissing", kAll + "routes: [@{name: x, destRange: 10.0.0.0/8}]\n",
                  "needs the key 'nextHopIlb'"},
        WrongCase{"N1_Range", route("destRange: @default, nextHopIlb: r"), "range of addresses"},
        WrongCase{"N1_RangeLength", route("destRange: @10.0.0.0/33, nextHopIlb: r"), "range"},
        WrongCase{"N1_RangeHostBits", route("destRange: @10.1.2.3/8, nextHopIlb: r"),
                  "without host bits, 10.0.0.0/8"},
        WrongCase{"N1_RangeHostBits6", route("destRange: @'fd00::1/8', nextHopIlb: r"),
                  "without host bits, fd00::/8"},
        WrongCase{"N1_Priority", route("destRange: 10.0.0.0/8, priority: @65536, nextHopIlb: r"),
                  "from 0 to 65535"},
        WrongCase{"N1_PriorityNegative",
                  route("destRange: 10.0.0.0/8, priority: @-1, nextHopIlb: r"), "from 0 to 65535"},
        WrongCase{"N1_NoSuchRule", route("destRange: 10.0.0.0/8, nextHopIlb: @rr"),
                  "there is no forwarding rule 'rr'"},
        WrongCase{"N1_NoSuchAddress", route("destRange: 10.0.0.0/8, nextHopIlb: @10.9.9.7"),
                  "no passthrough forwarding rule of address 10.9.9.7"},
        WrongCase{"N1_NextHopText", route("destRange: 10.0.0.0/8, nextHopIlb: @'a b'"),
                  "name, URL or IP address"},
        WrongCase{"N1_AddressOfTwoServices",
                  kAll + "---\nbackendServices: [{name: t, healthChecks: [hc], backends: [{group: "
                         "g}]}]\nforwardingRules: [{name: q, IPAddress: 10.9.9.9, ports: [81], "
                         "backendService: t}]\nroutes: [{name: x, destRange: 10.0.0.0/8, "
                         "nextHopIlb: @10.9.9.9}]\n",
                  "name the rule"},
        WrongCase{"N5_Multicast", route("destRange: @224.0.0.0/4, nextHopIlb: r"),
                  "destRange 224.0.0.0/4 is multicast"},
        WrongCase{"N5_Loopback", route("destRange: @127.0.0.0/16, nextHopIlb: r"), "is loopback"},
        WrongCase{"N5_Broadcast", route("destRange: @255.255.255.255/32, nextHopIlb: r"),
                  "is broadcast"},
        WrongCase{"N5_LinkLocal",
                  kAll + "---\nnetworkEndpointGroups: [{name: g6, endpoints: [{ipv6Address: "
                         "'fd02::1'}]}]\nbackendServices: [{name: s6, healthChecks: [hc], "
                         "backends: [{group: g6}]}]\nforwardingRules: [{name: r6, IPAddress: "
                         "'fd09::9', ports: [80], backendService: s6}]\nroutes: [{name: x, "
                         "destRange: @'fe80::/64', nextHopIlb: r6}]\n",
                  "is link-local"},
        WrongCase{"N5_L3Default",
                  kAll + kL3 + "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: @l3}]\n",
                  "L3_DEFAULT"},
        WrongCase{
            "N5_L3DefaultByAddress",
            kAll + kL3 + "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: @10.9.9.8}]\n",
            "L3_DEFAULT"},
        WrongCase{"N5_Family", route("destRange: @'fd00::/8', nextHopIlb: r"),
                  "families must match"},
        WrongCase{"NextHopIp", route("destRange: 10.0.0.0/8, nextHopIlb: r, @nextHopIp: 10.1.1.1"),
                  "routes to load balancers only"},
        WrongCase{"NextHopGateway",
                  route("destRange: 10.0.0.0/8, nextHopIlb: r, @nextHopGateway: g"),
                  "not supported"},
        WrongCase{"Tags", route("destRange: 10.0.0.0/8, nextHopIlb: r, @tags: [a]"),
                  "not supported"}),
    nameOfCase);

}  // namespace
}  // namespace weir::config::test
