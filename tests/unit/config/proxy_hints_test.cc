// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is allowed of proxies but probably not meant.
#include "proxy_fixture.h"

namespace weir::config::test {
namespace {

using Severity = Diagnostic::Severity;

class ProxyWarning : public testing::TestWithParam<WrongCase> {};
TEST_P(ProxyWarning, IsToldAtItsPlace) { expectRemark(GetParam(), Severity::warning); }
class ProxyHint : public testing::TestWithParam<WrongCase> {};
TEST_P(ProxyHint, IsToldAtItsPlace) { expectRemark(GetParam(), Severity::hint); }

const std::string kMax = "backends: [{group: g, maxConnections: 10}], ";

std::string twoNames(const std::string& first, const std::string& second) {
  return tlsRules("{matches: [" + first + "], action: {destinations: [{serviceName: s}]}}, " +
                  "{matches: [" + second + "], action: {destinations: [{serviceName: u}]}}") +
         "---\nbackendServices: [{name: u, loadBalancingScheme: INTERNAL_MANAGED, healthChecks: "
         "[hc], backends: [{group: g, maxConnections: 1}]}]\n";
}

INSTANTIATE_TEST_SUITE_P(
    All, ProxyWarning,
    testing::Values(
        WrongCase{"H1_NoHealthCheck",
                  kPortGroup +
                      "backendServices: [{name: @s, loadBalancingScheme: INTERNAL_MANAGED, "
                      "backends: [{group: g, maxConnections: 10}]}]\n" +
                      kTargetProxy + kProxyRule,
                  "has no health check"},
        WrongCase{"NoBackends",
                  kCheck +
                      "backendServices: [{name: @s, loadBalancingScheme: INTERNAL_MANAGED, "
                      "healthChecks: [hc]}]\n" +
                      kTargetProxy + kProxyRule,
                  "has no backends: its connections are closed"},
        WrongCase{"X4_2_EveryScalerZero",
                  kCheck + kPortGroup +
                      "---\nnetworkEndpointGroups: [{name: h, defaultPort: 80, endpoints: "
                      "[{ipAddress: 10.2.0.2}]}]\nbackendServices: [{name: s, "
                      "loadBalancingScheme: INTERNAL_MANAGED, healthChecks: [hc], backends: "
                      "@[{group: g, maxConnections: 1, capacityScaler: 0}, {group: h, "
                      "maxConnections: 1, capacityScaler: 0}]}]\n" +
                      kTargetProxy + kProxyRule,
                  "every group of service 's' has capacityScaler 0"},
        WrongCase{"X4_NoWeights", proxyService(kMax + "localityLbPolicy: @WEIGHTED_ROUND_ROBIN"),
                  "no backend of service 's' can have a weight"},
        WrongCase{"X2_3_EverybodyMayClaim",
                  targetProxy("service: s, acceptProxyFrom: [10.0.0.0/8, "
                              "@0.0.0.0/0]"),
                  "anybody can claim to be any client"},
        WrongCase{"X2_3_EverybodyMayClaim6", targetProxy("service: s, acceptProxyFrom: [@'::/0']"),
                  "with ::/0 anybody"},
        WrongCase{"S5_ModeWithoutRegion", policy("isolationConfig: @{isolationMode: STRICT}"),
                  "isolationConfig has no effect"},
        WrongCase{"S5_RegionWithoutMode",
                  policy("isolationConfig: @{isolationGranularity: REGION}"),
                  "isolationConfig has no effect"},
        WrongCase{"X6_3_EqualNames", twoNames("{sniHost: [a.b]}", "{sniHost: [@A.b.]}"),
                  "a.b is never matched here: an earlier match at weir.yaml:6 takes every such"},
        WrongCase{"X6_3_EqualNamesEarlierAny",
                  twoNames("{sniHost: [a.b]}", "{sniHost: [@a.b], alpn: [h2]}"), "never matched"},
        WrongCase{"X6_3_EqualNamesSameAlpn",
                  twoNames("{sniHost: ['*.b'], alpn: [h2, h3]}", "{sniHost: [@'*.b'], alpn: [h2]}"),
                  "*.b is never matched here"},
        WrongCase{"X6_3_EqualNamesInOneMatch", tlsMatch("{sniHost: [a.b, @a.b]}"),
                  "never matched"}),
    nameOfCase);

INSTANTIATE_TEST_SUITE_P(
    All, ProxyHint,
    testing::Values(
        WrongCase{"X4_AffinityWithoutEffect",
                  proxyService(kMax + "sessionAffinity: CLIENT_IP, localityLbPolicy: @RANDOM"),
                  "sessionAffinity CLIENT_IP has no effect with localityLbPolicy RANDOM"},
        WrongCase{"X4_WeightsWithoutEffect",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [{ipAddress: 10.2.0.1, port: "
                      "80, weight: 3}]}]\nbackendServices: [{name: s, loadBalancingScheme: "
                      "INTERNAL_MANAGED, healthChecks: [hc], backends: @[{group: g, "
                      "maxConnections: 10}]}]\n" +
                      kTargetProxy + kProxyRule,
                  "weights of endpoints have no effect"},
        WrongCase{"H13_NoUtilization", proxyBackend("balancingMode: @UTILIZATION"),
                  "balancingMode UTILIZATION never acts without a health check of type HTTP"},
        WrongCase{"UnusedProxy", kProxyAll + "---\ntargetTcpProxies: [{name: @q, service: s}]\n",
                  "no forwarding rule leads to target proxy 'q'"},
        WrongCase{"UnusedPolicy", kProxyAll + "serviceLbPolicies: [{name: @p}]\n",
                  "no service uses policy 'p'"},
        WrongCase{"UnusedService",
                  kProxyAll + "---\nbackendServices: [{name: @u, loadBalancingScheme: "
                              "INTERNAL_MANAGED, healthChecks: [hc], backends: [{group: g, "
                              "maxConnections: 1}]}]\n",
                  "no target proxy or TLS route leads to service 'u'"},
        WrongCase{"S1_NoLocation",
                  kCheck + kPortGroup +
                      "---\nnetworkEndpointGroups: [{name: h, zone: zb, defaultPort: 80, "
                      "endpoints: [{ipAddress: 10.2.0.2}]}]\nbackendServices: [{name: @s, "
                      "loadBalancingScheme: INTERNAL_MANAGED, healthChecks: [hc], backends: "
                      "[{group: g, maxConnections: 1}, {group: h, maxConnections: 1}]}]\n" +
                      kTargetProxy + kProxyRule,
                  "does not say by 'location' where this node is"},
        WrongCase{"X6_Coalescing",
                  twoNames("{sniHost: ['*.example.com']}", "{sniHost: [@a.example.com]}"),
                  "a.example.com and *.example.com lead to different services"},
        WrongCase{"X6_CoalescingOfWildcards",
                  twoNames("{sniHost: [@'*.x.example.com']}", "{sniHost: ['*.com']}"),
                  "*.x.example.com and *.com lead to different services"}),
    nameOfCase);

void expectQuiet(const std::string& text) {
  const Loaded loaded = loadText(text);
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  EXPECT_TRUE(loaded.diagnostics.empty()) << all(loaded.diagnostics);
}

TEST(ProxyHints, AFineProxyIsQuiet) {
  expectQuiet(kProxyAll);
  expectQuiet(tlsMatch("{sniHost: [a.example.com, '*.example.com'], alpn: [h2]}"));
  expectQuiet(proxyService(kMax + "sessionAffinity: CLIENT_IP"));
  expectQuiet(proxyService(kMax + "sessionAffinity: CLIENT_IP, localityLbPolicy: RING_HASH"));
}

TEST(ProxyHints, X6_3_NamesThatDifferInAlpnAreBothReached) {
  expectQuiet(
      tlsMatch("{sniHost: [a.b], alpn: [h2]}, {sniHost: [a.b], alpn: [h3]}, {sniHost: [a.b]}"));
}

TEST(ProxyHints, X6_3_AreToldOnceForSeveralProxies) {
  const Loaded loaded = loadText(
      kTlsBase +
      "---\ntargetTcpProxies: [{name: v}]\nforwardingRules: [{name: q, loadBalancingScheme: "
      "INTERNAL_MANAGED, IPAddress: 10.9.9.9, ports: [81], target: v}]\ntlsRoutes: [{name: x, "
      "targetProxies: [t, v], rules: [{matches: [{sniHost: [a.b, a.b]}], action: {destinations: "
      "[{serviceName: s}]}}]}]\n");
  EXPECT_TRUE(loaded.ok());
  const auto told = std::count_if(
      loaded.diagnostics.begin(), loaded.diagnostics.end(),
      [](const Diagnostic& d) { return d.message.find("never matched") != std::string::npos; });
  EXPECT_EQ(told, 1) << all(loaded.diagnostics);
}

TEST(ProxyHints, RoutesOfOneProxyAreTriedInTheOrderOfReading) {
  const Loaded loaded = loadText(
      tlsMatch("{sniHost: [a.b]}") +
      "---\ntlsRoutes: [{name: a, targetProxies: [t], rules: [{matches: [{sniHost: [a.b]}], "
      "action: {destinations: [{serviceName: s}]}}]}]\n");
  const auto warnings = only(loaded, Severity::warning);
  ASSERT_EQ(warnings.size(), 1u) << all(loaded.diagnostics);
  EXPECT_EQ(warnings[0].line, 8u) << "not by name";
}

}  // namespace
}  // namespace weir::config::test
