// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the rules forbid of proxies (X1 to X6, S2 to S5) and between them and passthrough services:
// each case has exactly one error, at its '@'.
#include "proxy_fixture.h"

namespace weir::config::test {
namespace {

class Proxy : public testing::TestWithParam<WrongCase> {};
TEST_P(Proxy, IsRefusedAtItsPlace) { expectOneError(GetParam()); }

const std::string kMax = "backends: [{group: g, maxConnections: 10}], ";

INSTANTIATE_TEST_SUITE_P(
    Service, Proxy,
    testing::Values(
        WrongCase{"TrackingPolicy",
                  proxyService(kMax + "@connectionTrackingPolicy: {trackingMode: PER_SESSION}"),
                  "connectionTrackingPolicy belongs to passthrough services: it needs "
                  "loadBalancingScheme INTERNAL or EXTERNAL, not INTERNAL_MANAGED"},
        WrongCase{"FailoverPolicy", proxyService(kMax + "@failoverPolicy: {failoverRatio: 0.5}"),
                  "belongs to passthrough services"},
        WrongCase{"ZonalAffinity",
                  proxyService(kMax + "@networkPassThroughLbTrafficPolicy: {zonalAffinity: "
                                      "{spillover: ZONAL_AFFINITY_STAY_WITHIN_ZONE}}"),
                  "belongs to passthrough services"},
        WrongCase{"FailoverGroup", proxyBackend("maxConnections: 1, failover: @true"),
                  "a proxy prefers groups by 'preference'"},
        WrongCase{"ProtocolUdp", proxyService(kMax + "protocol: @UDP"), "protocol TCP"},
        WrongCase{"ProtocolUnspecified", proxyService(kMax + "protocol: @UNSPECIFIED"),
                  "protocol UNSPECIFIED is not that of a proxy"},
        WrongCase{"ProtocolSsl", proxyService(kMax + "protocol: @SSL"), "does not end TLS"},
        WrongCase{"X4_WeightedMaglev", proxyService(kMax + "localityLbPolicy: @WEIGHTED_MAGLEV"),
                  "a proxy's weighted policy is WEIGHTED_ROUND_ROBIN"},
        WrongCase{"X4_Rendezvous",
                  proxyService(kMax + "localityLbPolicy: @WEIGHTED_GCP_RENDEZVOUS"),
                  "WEIGHTED_GCP_RENDEZVOUS belongs to passthrough services"},
        WrongCase{"X4_Unknown", proxyService(kMax + "localityLbPolicy: @LEAST_REQUESTS"),
                  "did you mean 'LEAST_REQUEST'?"},
        WrongCase{"X5_1_TimeoutZero", proxyService(kMax + "timeoutSec: @0"),
                  "from 1 to 2147483647"},
        WrongCase{"X5_1_TimeoutLong", proxyService(kMax + "timeoutSec: @2147483648"),
                  "from 1 to 2147483647"},
        WrongCase{"X3_3_ConnectTimeout", proxyService(kMax + "connectTimeoutSec: @0"),
                  "from 1 to 300"},
        WrongCase{"X1_3_AddressSelection",
                  proxyService(kMax + "ipAddressSelectionPolicy: @IPV6_PREFERRED"),
                  "IPV4_ONLY, PREFER_IPV6 or IPV6_ONLY"},
        WrongCase{"X4_4_BreakerZero", proxyService(kMax + "circuitBreakers: {maxConnections: @0}"),
                  "from 1 to 2147483647"},
        WrongCase{"X4_4_BreakerOfHttp", proxyService(kMax + "circuitBreakers: {@maxRequests: 5}"),
                  "does not read HTTP"},
        WrongCase{"NoSuchPolicy", proxyService(kMax + "serviceLbPolicy: @p"),
                  "there is no service load-balancing policy 'p'; there are none at all"},
        WrongCase{"NoSuchPolicyNear",
                  proxyService(kMax + "serviceLbPolicy: "
                                      "@projects/x/locations/global/serviceLbPolicies/spred") +
                      "serviceLbPolicies: [{name: spread}]\n",
                  "did you mean 'spread'?"},
        WrongCase{
            "X3_1_GroupWithoutPorts",
            kCheck + kGroup +
                "backendServices: [{name: s, loadBalancingScheme: EXTERNAL_MANAGED, backends: "
                "[{group: @g, maxConnections: 1}]}]\n",
            "networkEndpointType GCE_VM_IP (addresses without ports)"},
        WrongCase{"X3_1_InternetGroupOfPassthrough",
                  kCheck +
                      "networkEndpointGroups: [{name: g, networkEndpointType: INTERNET_IP_PORT, "
                      "endpoints: [{ipAddress: 10.2.0.1, port: 80}]}]\nbackendServices: [{name: s, "
                      "backends: [{group: @g}]}]\n" +
                      kRule,
                  "allowed are GCE_VM_IP and GCE_VM_IP_PORT"},
        WrongCase{"X3_1_PrivateGroupOfPassthrough",
                  kCheck +
                      "networkEndpointGroups: [{name: g, networkEndpointType: "
                      "NON_GCP_PRIVATE_IP_PORT, endpoints: [{ipAddress: 10.2.0.1, port: "
                      "80}]}]\nbackendServices: [{name: s, backends: [{group: @g}]}]\n" +
                      kRule,
                  "NON_GCP_PRIVATE_IP_PORT, which does not fit service 's'"},
        WrongCase{"PolicyOfPassthrough",
                  kCheck + kGroup + "backendServices: [{name: s, @serviceLbPolicy: p}]\n" + kRule +
                      "serviceLbPolicies: [{name: p}]\n",
                  "serviceLbPolicy belongs to proxies: it needs loadBalancingScheme "
                  "INTERNAL_MANAGED or EXTERNAL_MANAGED, not INTERNAL"},
        WrongCase{"ConnectTimeoutOfPassthrough",
                  kCheck + kGroup + "backendServices: [{name: s, @connectTimeoutSec: 5}]\n" + kRule,
                  "belongs to proxies"},
        WrongCase{"AddressSelectionOfPassthrough",
                  kCheck + kGroup +
                      "backendServices: [{name: s, @ipAddressSelectionPolicy: IPV4_ONLY}]\n" +
                      kRule,
                  "belongs to proxies"},
        WrongCase{
            "RandomOfPassthrough",
            kCheck + kGroup + "backendServices: [{name: s, localityLbPolicy: @RANDOM}]\n" + kRule,
            "a passthrough service has MAGLEV, WEIGHTED_MAGLEV or"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Capacity, Proxy,
    testing::Values(
        WrongCase{"X4_2_NoLimit", proxyService("backends: [@{group: g}]"),
                  "a backend with balancingMode CONNECTION (the default) needs exactly one of "
                  "maxConnections, maxConnectionsPerInstance and maxConnectionsPerEndpoint"},
        WrongCase{"X4_2_NoLimitOfConnection", proxyBackend("balancingMode: @CONNECTION"),
                  "needs exactly one of maxConnections"},
        WrongCase{"X4_2_NoLimitOfRate", proxyBackend("balancingMode: @RATE"),
                  "exactly one of maxRate, maxRatePerInstance and maxRatePerEndpoint"},
        WrongCase{"X4_2_TwoLimits",
                  proxyBackend("maxConnections: 1, @maxConnectionsPerEndpoint: 1"),
                  "maxConnections and maxConnectionsPerEndpoint are both given"},
        WrongCase{"X4_2_TwoSpellings",
                  proxyBackend("maxConnectionsPerInstance: 1, @maxConnectionsPerEndpoint: 1"),
                  "are both given"},
        WrongCase{"X4_2_TwoLimitsOfUtilization",
                  proxyBackend("balancingMode: UTILIZATION, maxConnections: 1, "
                               "@maxConnectionsPerEndpoint: 1"),
                  "at most one of maxConnections"},
        WrongCase{"X4_2_TwoRates",
                  proxyBackend("balancingMode: RATE, maxRate: 1, @maxRatePerEndpoint: 1"),
                  "maxRate and maxRatePerEndpoint are both given"},
        WrongCase{"X4_2_RateOfConnection", proxyBackend("maxConnections: 1, @maxRate: 5"),
                  "maxRate is not allowed with balancingMode CONNECTION (the default)"},
        WrongCase{"X4_2_RateOfUtilization",
                  proxyBackend("balancingMode: UTILIZATION, @maxRatePerInstance: 5"),
                  "not allowed with balancingMode UTILIZATION"},
        WrongCase{"X4_2_ConnectionsOfRate",
                  proxyBackend("balancingMode: RATE, maxRate: 1, @maxConnections: 5"),
                  "not allowed with balancingMode RATE"},
        WrongCase{"X4_2_UtilizationOfConnection",
                  proxyBackend("balancingMode: CONNECTION, maxConnections: 1, "
                               "@maxUtilization: 0.5"),
                  "maxUtilization is not allowed with balancingMode CONNECTION"},
        WrongCase{"X4_2_ModeInFlight", proxyBackend("balancingMode: @IN_FLIGHT"),
                  "does not read HTTP"},
        WrongCase{"X4_2_MaxZero", proxyBackend("maxConnections: @0"), "from 1 to 2147483647"},
        WrongCase{"X4_2_RateZero", proxyBackend("balancingMode: RATE, maxRate: @0"),
                  "from 0.001 to 2147483647"},
        WrongCase{"X4_2_UtilizationAboveOne",
                  proxyBackend("balancingMode: UTILIZATION, maxUtilization: @1.01"), "from 0 to 1"},
        WrongCase{"X4_2_ScalerSmall", proxyBackend("maxConnections: 1, capacityScaler: @0.09"),
                  "0 or a number from 0.1 to 1, not '0.09'"},
        WrongCase{"X4_2_ScalerLarge", proxyBackend("maxConnections: 1, capacityScaler: @1.1"),
                  "0 or a number from 0.1 to 1"},
        WrongCase{"X4_2_ScalerZeroOfTheOnlyGroup",
                  proxyBackend("maxConnections: 1, capacityScaler: @0.0"),
                  "takes the only group out"},
        WrongCase{"S3_4_Preference", proxyBackend("maxConnections: 1, preference: @PREFERED"),
                  "did you mean 'PREFERRED'?"}),
    nameOfCase);

const std::string kPassthroughService =
    "---\nnetworkEndpointGroups: [{name: h, endpoints: [{ipAddress: 10.2.0.2}]}]\n"
    "backendServices: [{name: u, healthChecks: [hc], backends: [{group: h}]}]\n";
const std::string kOtherScheme =
    "---\nbackendServices: [{name: e, loadBalancingScheme: EXTERNAL_MANAGED, healthChecks: [hc], "
    "backends: [{group: g, maxConnections: 1}]}]\n";

INSTANTIATE_TEST_SUITE_P(
    Rule, Proxy,
    testing::Values(
        WrongCase{"X1_1_NoTarget",
                  kCheck + kPortGroup + kProxyService + kTargetProxy +
                      "forwardingRules: [@{name: r, loadBalancingScheme: INTERNAL_MANAGED, "
                      "IPAddress: 10.9.9.9, ports: [80]}]\n",
                  "a forwarding rule of a proxy needs the key 'target'"},
        WrongCase{"X1_1_ServiceInsteadOfTarget",
                  proxyRule("ports: [80], target: t, @backendService: s"),
                  "backendService belongs to passthrough services"},
        WrongCase{"X1_1_NoSuchTarget", proxyRule("ports: [80], target: @tt"),
                  "there is no target TCP proxy 'tt' (did you mean 't'?); there are t"},
        WrongCase{"X1_1_NoSuchTargetByUrl",
                  proxyRule("ports: [80], target: @https://x/targetTcpProxies/front"),
                  "there is no target TCP proxy 'front'"},
        WrongCase{"X1_1_Udp", proxyRule("IPProtocol: @UDP, ports: [80], target: t"),
                  "allowed is TCP"},
        WrongCase{"X1_1_L3", proxyRule("IPProtocol: @L3_DEFAULT, ports: [80], target: t"),
                  "allowed is TCP"},
        WrongCase{"X1_1_TwoPorts", proxyRule("ports: [80, @81], target: t"), "exactly one port"},
        WrongCase{"X1_1_Range", proxyRule("portRange: @80-81, target: t"), "exactly one port"},
        WrongCase{"X1_1_AllPorts", proxyRule("allPorts: @true, target: t"), "exactly one port"},
        WrongCase{"X1_1_NoPort",
                  kCheck + kPortGroup + kProxyService + kTargetProxy +
                      "forwardingRules: [{name: @r, loadBalancingScheme: INTERNAL_MANAGED, "
                      "IPAddress: 10.9.9.9, target: t}]\n",
                  "needs exactly one port, in 'ports' or 'portRange'; none is given"},
        WrongCase{"X1_1_PortAndRange", proxyRule("ports: [80], portRange: @80-80, target: t"),
                  "several are given"},
        WrongCase{"X1_1_PortsEmpty", proxyRule("ports: @[], target: t"), "it is empty"},
        WrongCase{"X1_1_PortZero", proxyRule("ports: [@0], target: t"), "from 1 to 65535"},
        WrongCase{"Announce", proxyRule("ports: [80], target: t, announce: @BGP"),
                  "NONE, ARP or ROUTE"},
        WrongCase{"AnnounceLowerCase", proxyRule("ports: [80], target: t, announce: @arp"),
                  "did you mean 'ARP'?"},
        WrongCase{"SchemeOfService",
                  kProxyAll + kOtherScheme +
                      "targetTcpProxies: [{name: e, service: e}]\nforwardingRules: [{name: e, "
                      "loadBalancingScheme: @INTERNAL_MANAGED, IPAddress: 10.9.9.8, ports: [80], "
                      "target: e}]\n",
                  "is not that of service 'e', EXTERNAL_MANAGED, to which target proxy 'e' leads"},
        WrongCase{"SchemeOfTlsService",
                  kProxyAll + kOtherScheme +
                      "targetTcpProxies: [{name: e}]\ntlsRoutes: [{name: x, targetProxies: [e], "
                      "rules: [{matches: [{sniHost: [a.b]}], action: {destinations: [{serviceName: "
                      "e}]}}]}]\nforwardingRules: [{name: e, loadBalancingScheme: "
                      "@INTERNAL_MANAGED, IPAddress: 10.9.9.8, ports: [80], target: e}]\n",
                  "by TLS route 'x'"},
        WrongCase{"PassthroughRuleOfProxyService",
                  kProxyAll + "---\nforwardingRules: [{name: @q, IPAddress: 10.9.9.8, ports: [80], "
                              "backendService: s}]\n",
                  "is not that of its service 's', INTERNAL_MANAGED"},
        WrongCase{"SamePortOfTwoProxies",
                  kProxyAll + "---\nforwardingRules: [{name: q, loadBalancingScheme: "
                              "INTERNAL_MANAGED, IPAddress: @10.9.9.9, ports: [80], target: t}]\n",
                  "rules 'q' and 'r'"},
        WrongCase{"SamePortOfPassthrough",
                  kProxyAll + kPassthroughService +
                      "forwardingRules: [{name: q, IPAddress: @10.9.9.9, portRange: 79-81, "
                      "backendService: u}]\n",
                  "both take TCP packets to 10.9.9.9 port 80"},
        WrongCase{"AllPortsOfPassthrough",
                  kProxyAll + kPassthroughService +
                      "forwardingRules: [{name: q, IPAddress: 10.9.9.9, allPorts: @true, "
                      "backendService: u}]\n",
                  "overlap"},
        WrongCase{"EveryProtocolBesideAProxy",
                  kProxyAll +
                      "---\nnetworkEndpointGroups: [{name: h, endpoints: [{ipAddress: "
                      "10.2.0.2}]}]\nbackendServices: [{name: u, protocol: UNSPECIFIED, "
                      "healthChecks: [hc], backends: [{group: h}]}]\nforwardingRules: [{name: q, "
                      "IPAddress: @10.9.9.9, IPProtocol: L3_DEFAULT, allPorts: true, "
                      "backendService: u}]\n",
                  "also those of rule 'r'"},
        WrongCase{"N1_RouteToAProxy",
                  kProxyAll + "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: @r}]\n",
                  "a route needs a passthrough rule"},
        WrongCase{"N1_RouteToTheAddressOfAProxy",
                  kProxyAll + "routes: [{name: x, destRange: 10.0.0.0/8, nextHopIlb: @10.9.9.9}]\n",
                  "no passthrough forwarding rule of address 10.9.9.9"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Target, Proxy,
    testing::Values(
        WrongCase{"NameTwice", kProxyAll + "---\ntargetTcpProxies: [{name: @t, service: s}]\n",
                  "target TCP proxy 't' already at weir.yaml:4"},
        WrongCase{
            "X2_1_Nothing",
            kCheck + kPortGroup + kProxyService + "targetTcpProxies: [{name: @t}]\n" + kProxyRule,
            "leads nowhere: it needs the key 'service', or a TLS route"},
        WrongCase{"X2_1_ServiceAndRoute",
                  targetProxy("service: @s") +
                      "tlsRoutes: [{name: x, targetProxies: [t], rules: [{matches: [{sniHost: "
                      "[a.b]}], action: {destinations: [{serviceName: s}]}}]}]\n",
                  "has a service and TLS route 'x' at weir.yaml:6"},
        WrongCase{"NoSuchService", targetProxy("service: @z"), "there is no backend service 'z'"},
        WrongCase{"PassthroughService",
                  kProxyAll + kPassthroughService + "targetTcpProxies: [{name: q, service: @u}]\n",
                  "service 'u' is a passthrough service"},
        WrongCase{"X2_2_Header", targetProxy("service: s, proxyHeader: @PROXY_V3"),
                  "NONE, PROXY_V1 or PROXY_V2"},
        WrongCase{"X2_3_Accept", targetProxy("service: s, acceptProxyFrom: [@10.0.0.1/8]"),
                  "without host bits, 10.0.0.0/8"},
        WrongCase{"X2_3_AcceptIsText", targetProxy("service: s, acceptProxyFrom: @10.0.0.0/8"),
                  "must be a list"},
        WrongCase{"ProxyBind", targetProxy("service: s, proxyBind: @true"), "must be false"},
        WrongCase{"Unknown", targetProxy("service: s, @proxyHeaders: NONE"),
                  "did you mean 'proxyHeader'?"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Tls, Proxy,
    testing::Values(
        WrongCase{"NameTwice",
                  tlsMatch("{sniHost: [a.b]}") +
                      "---\ntlsRoutes: [{name: @projects/p/locations/global/tlsRoutes/x, "
                      "targetProxies: [t], rules: [{matches: [{sniHost: [c.d]}], action: "
                      "{destinations: [{serviceName: s}]}}]}]\n",
                  "TLS route 'x' already"},
        WrongCase{"NoProxies",
                  kProxyAll +
                      "tlsRoutes: [{name: x, targetProxies: @[], rules: [{matches: "
                      "[{sniHost: [a.b]}], action: {destinations: [{serviceName: s}]}}]}]\n",
                  "targetProxies must name at least a target proxy"},
        WrongCase{"NoSuchProxy",
                  kProxyAll +
                      "tlsRoutes: [{name: x, targetProxies: [@front], rules: [{matches: "
                      "[{sniHost: [a.b]}], action: {destinations: [{serviceName: s}]}}]}]\n",
                  "there is no target TCP proxy 'front'"},
        WrongCase{"ProxyTwice",
                  tlsRoute("targetProxies: [t, @x/t], rules: [{matches: [{sniHost: [a.b]}], "
                           "action: {destinations: [{serviceName: s}]}}]"),
                  "'t' is listed twice"},
        WrongCase{"NoRules", tlsRoute("targetProxies: [t], rules: @[]"), "at least a rule"},
        WrongCase{"NoMatches",
                  tlsRules("{matches: @[], action: {destinations: [{serviceName: s}]}}"),
                  "at least a match"},
        WrongCase{"NoNames", tlsMatch("{sniHost: @[]}"), "at least a server name"},
        WrongCase{"MatchWithoutNames", tlsMatch("@{alpn: [h2]}"), "needs the key 'sniHost'"},
        WrongCase{"NoAction", tlsRules("@{matches: [{sniHost: [a.b]}]}"), "needs the key 'action'"},
        WrongCase{"NoDestinations", tlsAction("destinations: @[]"), "at least a destination"},
        WrongCase{"DestinationsMissing",
                  tlsRules("{matches: [{sniHost: [a.b]}], action: @{idleTimeout: 1s}}"),
                  "needs the key 'destinations'"},
        WrongCase{"NoSuchService", tlsAction("destinations: [{serviceName: @z}]"),
                  "there is no backend service 'z'"},
        WrongCase{"PassthroughService",
                  tlsAction("destinations: [{serviceName: @u}]") + kPassthroughService,
                  "a proxy's needs loadBalancingScheme INTERNAL_MANAGED or EXTERNAL_MANAGED"},
        WrongCase{"ServiceTwice", tlsAction("destinations: [{serviceName: s}, @{serviceName: s}]"),
                  "'s' is listed twice"},
        WrongCase{"X6_5_WeightsZero", tlsAction("destinations: [{serviceName: s, weight: @0}]"),
                  "at least one must be"},
        WrongCase{"X6_5_WeightLarge", tlsAction("destinations: [{serviceName: s, weight: @1001}]"),
                  "from 0 to 1000"},
        WrongCase{"X6_5_IdleNumber",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @3600"),
                  "whole seconds such as 3600s, from 0s to 2147483647s, not '3600'"},
        WrongCase{"X6_5_IdleMinutes",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @60m"),
                  "such as 3600s"},
        WrongCase{"X6_5_IdleFraction",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @1.5s"),
                  "whole seconds"},
        WrongCase{"X6_5_IdleNegative",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @-1s"), "from 0s"},
        WrongCase{"X6_5_IdleMinusZero",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @-0s"), "from 0s"},
        WrongCase{"X6_5_IdleOctal",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @010s"), "not '010s'"},
        WrongCase{"X6_5_IdleUnitAlone",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @s"), "not 's'"},
        WrongCase{"X6_5_IdleLong",
                  tlsAction("destinations: [{serviceName: s}], idleTimeout: @2147483648s"),
                  "to 2147483647s"},
        WrongCase{"Meshes",
                  tlsRoute("targetProxies: [t], @meshes: [m], rules: [{matches: "
                           "[{sniHost: [a.b]}], action: {destinations: [{serviceName: "
                           "s}]}}]"),
                  "weir is no service mesh"},
        WrongCase{"X6_3_PartOfALabel", tlsMatch("{sniHost: [@'*w.x']}"),
                  "a '*' can only be the whole first label"},
        WrongCase{"X6_3_StarInside", tlsMatch("{sniHost: [@'a.*.x']}"), "whole first label"},
        WrongCase{"X6_3_TwoStars", tlsMatch("{sniHost: [@'*.*.x']}"), "whole first label"},
        WrongCase{"X6_3_StarAtTheEnd", tlsMatch("{sniHost: [@'a.*']}"), "whole first label"},
        WrongCase{"X6_3_StarAlone", tlsMatch("{sniHost: [@'*']}"), "default route"},
        WrongCase{"X6_3_StarDot", tlsMatch("{sniHost: [@'*.']}"), "a DNS name"},
        WrongCase{"X6_2_Address", tlsMatch("{sniHost: [@10.0.0.1]}"), "a DNS name"},
        WrongCase{"X6_2_AddressWithDot", tlsMatch("{sniHost: [@10.0.0.1.]}"), "a DNS name"},
        WrongCase{"X6_2_ShortAddress", tlsMatch("{sniHost: [@'10.1']}"), "a DNS name"},
        WrongCase{"X6_2_Address6", tlsMatch("{sniHost: [@'fd00::1']}"), "a DNS name"},
        WrongCase{"X6_2_AddressBelowStar", tlsMatch("{sniHost: [@'*.0.0.1']}"), "a DNS name"},
        WrongCase{"X6_2_Empty", tlsMatch("{sniHost: [@'']}"), "a DNS name"},
        WrongCase{"X6_2_DotAlone", tlsMatch("{sniHost: [@'.']}"), "a DNS name"},
        WrongCase{"X6_2_EmptyLabel", tlsMatch("{sniHost: [@a..b]}"), "a DNS name"},
        WrongCase{"X6_2_TwoDots", tlsMatch("{sniHost: [@a.b..]}"), "a DNS name"},
        WrongCase{"X6_2_LeadingDot", tlsMatch("{sniHost: [@.a.b]}"), "a DNS name"},
        WrongCase{"X6_2_Blank", tlsMatch("{sniHost: [@a b.c]}"), "a DNS name"},
        WrongCase{"X6_2_Port", tlsMatch("{sniHost: [@'a.b:443']}"), "a DNS name"},
        WrongCase{"X6_2_Url", tlsMatch("{sniHost: [@'https://a.b']}"), "a DNS name"},
        WrongCase{"X6_2_NotAscii", tlsMatch("{sniHost: [@m\xc3\xbcnchen.example.com]}"),
                  "a DNS name"},
        WrongCase{"X6_2_HyphenFirst", tlsMatch("{sniHost: [@-a.b]}"), "a DNS name"},
        WrongCase{"X6_2_HyphenLast", tlsMatch("{sniHost: [@a-.b]}"), "a DNS name"},
        WrongCase{"X6_2_LongLabel", tlsMatch("{sniHost: [@" + std::string(64, 'a') + ".b]}"),
                  "a DNS name"},
        WrongCase{"AlpnEmpty", tlsMatch("{sniHost: [a.b], alpn: [@'']}"), "1 to 255"},
        WrongCase{"AlpnLong", tlsMatch("{sniHost: [a.b], alpn: [@" + std::string(256, 'h') + "]}"),
                  "1 to 255"},
        WrongCase{"AlpnIsText", tlsMatch("{sniHost: [a.b], alpn: @h2}"), "must be a list"},
        WrongCase{"Unknown", tlsMatch("{@sniHosts: [a.b], sniHost: [a.b]}"),
                  "did you mean 'sniHost'?"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    Policy, Proxy,
    testing::Values(
        WrongCase{"NameTwice", policy("description: a") + "---\nserviceLbPolicies: [{name: @p}]\n",
                  "service load-balancing policy 'p' already"},
        WrongCase{"S3_Algorithm", policy("loadBalancingAlgorithm: @SPRAY_TO_ZONE"),
                  "WATERFALL_BY_REGION, SPRAY_TO_REGION, WATERFALL_BY_ZONE"},
        WrongCase{"S3_AlgorithmNear", policy("loadBalancingAlgorithm: @WATERFALL_BY_REGIONS"),
                  "did you mean 'WATERFALL_BY_REGION'?"},
        WrongCase{"S4_Drain", policy("autoCapacityDrain: {enable: @1}"), "true or false"},
        WrongCase{"S4_DrainIsBoolean", policy("autoCapacityDrain: @true"), "must be a mapping"},
        WrongCase{"S2_ThresholdZero", policy("failoverConfig: {failoverHealthThreshold: @0}"),
                  "from 1 to 99"},
        WrongCase{"S2_ThresholdHundred", policy("failoverConfig: {failoverHealthThreshold: @100}"),
                  "from 1 to 99"},
        WrongCase{"S5_Granularity", policy("isolationConfig: {isolationGranularity: @ZONE}"),
                  "UNSPECIFIED, REGION"},
        WrongCase{"S5_Mode", policy("isolationConfig: {isolationMode: @STRIKT}"),
                  "did you mean 'STRICT'?"},
        WrongCase{"Unknown", policy("@algorithm: x"), "unknown key 'algorithm'"}),
    nameOfCase);

}  // namespace
}  // namespace weir::config::test
