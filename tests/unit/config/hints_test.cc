// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is allowed but probably not meant: told, and never a reason to refuse.
#include "fixture.h"

namespace weir::config::test {
namespace {

using Severity = Diagnostic::Severity;

class Warning : public testing::TestWithParam<WrongCase> {};
TEST_P(Warning, IsToldAtItsPlace) { expectRemark(GetParam(), Severity::warning); }
class Hint : public testing::TestWithParam<WrongCase> {};
TEST_P(Hint, IsToldAtItsPlace) { expectRemark(GetParam(), Severity::hint); }

std::string service(const std::string& fields) {
  return kCheck + kGroup + "backendServices: [{name: s, " + fields + "}]\n" + kRule;
}
std::string withBackends(const std::string& fields) {
  return service("healthChecks: [hc], backends: [{group: g}], " + fields);
}

INSTANTIATE_TEST_SUITE_P(
    All, Warning,
    testing::Values(
        WrongCase{
            "H1_NoHealthCheck",
            kCheck + kGroup + "backendServices: [{name: @s, backends: [{group: g}]}]\n" + kRule,
            "has no health check"},
        WrongCase{"P2_NoBackends",
                  kCheck + kGroup + "backendServices: [{name: @s, healthChecks: [hc]}]\n" + kRule,
                  "has no backends"},
        WrongCase{
            "P2_NoEndpoints",
            kCheck + "networkEndpointGroups: [{name: g}]\n" +
                "backendServices: [{name: s, healthChecks: [hc], backends: @[{group: g}]}]\n" +
                kRule,
            "no group of service 's' has an endpoint: its packets are dropped"},
        WrongCase{"P2_OnlyFailover",
                  service("healthChecks: [hc], backends: @[{group: g, failover: true}]"),
                  "are failover groups"},
        WrongCase{"P2_EndpointTwiceInGroup",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [{ipAddress: 10.2.0.1}, "
                      "@{ipAddress: 10.2.0.1}]}]\n" +
                      kService + kRule,
                  "listed twice in group 'g'"},
        WrongCase{"P2_EndpointInTwoGroups",
                  kAll + "---\nnetworkEndpointGroups: [{name: n, endpoints: [{ipAddress: "
                         "10.2.0.1}]}]\nbackendServices: [{name: t, healthChecks: [hc], backends: "
                         "[{group: g}, {group: @n}]}]\n",
                  "in group 'g' and in group 'n' of service 't'"},
        WrongCase{"P8_EndpointIsVirtualAddress",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [@{ipAddress: 10.9.9.9}]}]\n" +
                      kService + kRule,
                  "has the address of a forwarding rule"},
        WrongCase{"P9_NoWeights", withBackends("localityLbPolicy: @WEIGHTED_MAGLEV"),
                  "can have a weight"},
        WrongCase{"PortsWithoutEffect",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [{ipAddress: 10.2.0.1, port: "
                      "80}]}]\nbackendServices: [{name: s, healthChecks: [hc], backends: @[{group: "
                      "g}]}]\n" +
                      kRule,
                  "ports, which have no effect"},
        WrongCase{"Proximity", kAll + "zones: [{name: za}]\nproximity: {zb: @1}\n",
                  "no zone or region 'zb' (did you mean 'za'?)"},
        WrongCase{"DifferentAnnounce",
                  kAll + "---\nforwardingRules: [{name: q, IPAddress: 10.9.9.9, ports: [81], "
                         "backendService: s, announce: @ARP}]\n",
                  "differ in announce (ARP and NONE)"}),
    nameOfCase);

const std::string kUdp =
    kCheck + kGroup +
    "backendServices: [{name: s, protocol: UDP, healthChecks: [hc], backends: [{group: g}], "
    "sessionAffinity: ";
const std::string kUdpRule =
    "forwardingRules: [{name: @r, IPAddress: 10.9.9.9, IPProtocol: UDP, backendService: s, ";
const std::string kPerSession = "connectionTrackingPolicy: {trackingMode: PER_SESSION}}]\n";

INSTANTIATE_TEST_SUITE_P(
    All, Hint,
    testing::Values(
        WrongCase{"P8_4_Ports", kUdp + "CLIENT_IP, " + kPerSession + kUdpRule + "ports: [53]}]\n",
                  "fragments"},
        WrongCase{"P8_4_Affinity", kUdp + "NONE, " + kPerSession + kUdpRule + "allPorts: true}]\n",
                  "fragments"},
        WrongCase{"P8_4_Mode", kUdp + "CLIENT_IP}]\n" + kUdpRule + "allPorts: true}]\n",
                  "fragments"},
        WrongCase{"P2_FailoverPolicyUnused", withBackends("failoverPolicy: @{failoverRatio: 0.5}"),
                  "no group of service 's' has"},
        WrongCase{"P3_SpilloverRatioUnused",
                  withBackends("networkPassThroughLbTrafficPolicy: {zonalAffinity: "
                               "{spilloverRatio: @0.5}}"),
                  "ZONAL_AFFINITY_SPILL_CROSS_ZONE"},
        WrongCase{"P3_NoClientRanges",
                  withBackends("networkPassThroughLbTrafficPolicy: {zonalAffinity: @{spillover: "
                               "ZONAL_AFFINITY_STAY_WITHIN_ZONE}}"),
                  "no zone in weir.yaml has clientRanges"},
        WrongCase{"P3_GroupWithoutZone",
                  kAll + "---\nnetworkEndpointGroups: [{name: n}]\nbackendServices: [{name: t, "
                         "healthChecks: [hc], backends: [{group: @n}], "
                         "networkPassThroughLbTrafficPolicy: {zonalAffinity: {spillover: "
                         "ZONAL_AFFINITY_STAY_WITHIN_ZONE}}}]\n",
                  "group 'n' has no zone"},
        WrongCase{"P9_WeightsUnused",
                  kCheck +
                      "networkEndpointGroups: [{name: g, endpoints: [{ipAddress: 10.2.0.1, weight: "
                      "5}]}]\nbackendServices: [{name: s, healthChecks: [hc], backends: @[{group: "
                      "g}]}]\n" +
                      kRule,
                  "weights of endpoints have no effect"},
        WrongCase{"UnusedCheck", kAll + "---\nhealthChecks: [{name: @other}]\n",
                  "no service uses health check 'other'"},
        WrongCase{"UnusedGroup", kAll + "---\nnetworkEndpointGroups: [{name: @n}]\n",
                  "no service uses group 'n'"},
        WrongCase{"UnusedService",
                  kAll + "---\nbackendServices: [{name: @t, healthChecks: [hc], backends: [{group: "
                         "g}]}]\n",
                  "no forwarding rule leads to service 't'"},
        WrongCase{"UnknownZone",
                  kCheck +
                      "networkEndpointGroups: [{name: g, zone: @za, endpoints: [{ipAddress: "
                      "10.2.0.1}]}]\n" +
                      kService + kRule + "zones: [{name: zb}]\n",
                  "did you mean 'zb'?"},
        WrongCase{"N4_SameRangeAndPriority",
                  kAll + "routes:\n  - {name: b, destRange: 10.0.0.0/8, nextHopIlb: r}\n"
                         "  - {name: @a, destRange: 10.0.0.0/8, nextHopIlb: r}\n",
                  "'a' is used"}),
    nameOfCase);

TEST(Hints, P8_4_TheRecipeIsQuiet) {
  for (const std::string affinity : {"CLIENT_IP", "CLIENT_IP_PROTO"}) {
    const Loaded loaded = loadText(
        unmark(kUdp + affinity + ", " + kPerSession + kUdpRule + "allPorts: true}]\n").text);
    EXPECT_THAT(loaded.diagnostics, testing::IsEmpty()) << all(loaded.diagnostics);
  }
}

TEST(Hints, AFineConfigurationIsQuiet) {
  EXPECT_THAT(loadText(kAll).diagnostics, testing::IsEmpty());
}

TEST(Hints, ManyHintsDoNotMakeAnError) {
  std::string text = "networkEndpointGroups:\n";
  for (int i = 0; i < 1500; ++i) text += "  - {name: g" + std::to_string(i) + "}\n";
  const Loaded loaded = loadText(text);
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.diagnostics.size(), kMaxDiagnostics);
}

TEST(Hints, AnErrorAfterManyWarningsIsNotLost) {
  std::string text = "serviceLbPolicies:\n";
  for (int i = 0; i < 1500; ++i)
    text += "  - {name: p" + std::to_string(i) + ", isolationConfig: {isolationMode: STRICT}}\n";
  EXPECT_TRUE(loadText(text).ok());
  EXPECT_FALSE(loadText(text + "  - {name: P}\n").ok());
}

}  // namespace
}  // namespace weir::config::test
