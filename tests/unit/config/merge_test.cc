// SPDX-License-Identifier: GPL-2.0-or-later
//
// Scenarios (C3), and changes to a configuration that is there.
#include <yaml-cpp/yaml.h>

#include "config/resources.h"
#include "fixture.h"

namespace weir::config::test {
namespace {

Configuration base() { return loadText(kAll).configuration; }

Loaded mergeText(const std::string& scenario) {
  return merge(base(), YAML::Load(scenario)["apply"], {"scenario.yaml", scenario});
}

TEST(Scenario, C3_NodeAndResources) {
  const Loaded loaded =
      loadScenario({"s.yaml",
                    "node: {location: {region: r1, zone: za}, zones: [], proximity: {za: 1}}\n"
                    "resources:\n  healthChecks: [{name: hc}]\nevents: [{at: 0, anything: [1]}]\n"
                    "expect: [{event: 0}]\n"});
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  EXPECT_EQ(loaded.configuration.node.zone, "za");
  EXPECT_EQ(loaded.configuration.healthChecks.size(), 1u);
}

void expectScenarioError(const std::string& marked, const std::string& fragment) {
  const Marked m = unmark(marked);
  const auto found = errors(loadScenario({"s.yaml", m.text}));
  ASSERT_EQ(found.size(), 1u) << all(found);
  EXPECT_EQ(found[0].line, m.line) << found[0].toString();
  EXPECT_EQ(found[0].column, m.column) << found[0].toString();
  EXPECT_THAT(found[0].message, testing::HasSubstr(fragment));
}

TEST(Scenario, C3_ErrorsHaveTheirPlace) {
  expectScenarioError("resources: {}\n@event: []\n", "did you mean 'events'?");
  expectScenarioError("resources: {@queues: 1}\n", "belongs into weir.yaml");
  expectScenarioError("resources: @[]\n", "resources must be a mapping");
  expectScenarioError("node: {@locatoin: {}}\n", "did you mean 'location'?");
  expectScenarioError("node: @[]\n", "node must be a mapping");
  expectScenarioError("node: {queues: @0}\n", "from 1 to 64");
  expectScenarioError("resources: {healthChecks: [{name: hc, timeoutSec: @0}]}\n", "from 1");
  expectScenarioError("events: [{at: 0, @at: 1}]\n", "duplicate key 'at'");
  expectScenarioError("@- a\n", "a scenario is a mapping");
  expectScenarioError("events: []\n---\n@events: []\n", "one YAML document");
  expectScenarioError("@", "a scenario is a mapping");
}

TEST(Scenario, C3_HasTheResourcesOfProxies) {
  const Loaded loaded = loadScenario(
      {"s.yaml",
       "resources:\n  healthChecks: [{name: hc}]\n  networkEndpointGroups: [{name: g, endpoints: "
       "[{ipAddress: 10.2.0.1, port: 80}]}]\n  backendServices: [{name: s, loadBalancingScheme: "
       "INTERNAL_MANAGED, serviceLbPolicy: p, healthChecks: [hc], backends: [{group: g, "
       "maxConnections: 10}]}]\n  serviceLbPolicies: [{name: p}]\n  targetTcpProxies: [{name: t, "
       "service: s}, {name: v}]\n  tlsRoutes: [{name: x, targetProxies: [v], rules: [{matches: "
       "[{sniHost: [a.b]}], action: {destinations: [{serviceName: s}]}}]}]\n"});
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  EXPECT_EQ(loaded.configuration.targetProxies.size(), 2u);
  EXPECT_EQ(loaded.configuration.tlsRoutes.size(), 1u);
  EXPECT_EQ(loaded.configuration.lbPolicies.size(), 1u);
}

TEST(Merge, C3_ReplacesAPolicyWhereItStands) {
  Configuration base;
  base.lbPolicies = {{"p", {}, false, 70, {}}, {"q", {}, false, 70, {}}};
  const Loaded loaded = merge(base, {"changes",
                                     "serviceLbPolicies: [{name: p, loadBalancingAlgorithm: "
                                     "SPRAY_TO_REGION}, {name: n}]\n"});
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  const auto& policies = loaded.configuration.lbPolicies;
  ASSERT_EQ(policies.size(), 3u);
  EXPECT_EQ(policies[0].algorithm, LbAlgorithm::sprayToRegion);
  EXPECT_EQ(policies[1].name, "q");
  EXPECT_EQ(policies[2].name, "n");
}

TEST(Merge, C3_ReplacesWhereItStandsAndAddsAtTheEnd) {
  const Loaded loaded = mergeText(
      "apply: {backendServices: [{name: s, sessionAffinity: CLIENT_IP, healthChecks: [hc], "
      "backends: [{group: g}, {group: n}]}], networkEndpointGroups: [{name: n}]}\n");
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  ASSERT_EQ(loaded.configuration.services.size(), 1u);
  EXPECT_EQ(loaded.configuration.services[0].affinity, SessionAffinity::clientIp);
  ASSERT_EQ(loaded.configuration.groups.size(), 2u);
  EXPECT_EQ(loaded.configuration.groups[0], base().groups[0]);
  EXPECT_EQ(loaded.configuration.groups[1].name, "n");
  EXPECT_EQ(loaded.configuration.rules, base().rules);
}

TEST(Merge, C3_PositionsAreThoseOfTheSource) {
  const std::string text =
      "# \xc3\xa9\nevents: 1\napply: {healthChecks: [{name: '\xc3\xa9', typ: TCP}]}\n";
  const auto found = errors(mergeText(text));
  ASSERT_EQ(found.size(), 2u) << all(found);
  EXPECT_EQ(found[0].file, "scenario.yaml");
  EXPECT_EQ(found[0].line, 3u);
  EXPECT_EQ(found[0].column, 31u);
  EXPECT_EQ(found[1].column, 36u);
}

TEST(Merge, AFaultOfTheBaseIsToldAtTheChange) {
  const auto found = errors(mergeText(
      "\napply: {networkEndpointGroups: [{name: g, endpoints: [{ipv6Address: 'fd00::1'}]}]}\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 2u);
  EXPECT_EQ(found[0].column, 8u);
  EXPECT_THAT(found[0].message, testing::HasSubstr("fd00::1 of group 'g' has no IPv4 address"));
}

TEST(Merge, TheSameNameTwiceInOneChange) {
  const auto found = errors(mergeText("apply: {healthChecks: [{name: hc}, {name: hc}]}\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, testing::HasSubstr("duplicate name"));
}

TEST(Merge, ChangesMustBeAMapping) {
  EXPECT_THAT(all(errors(mergeText("apply: [1]\n"))), testing::HasSubstr("not a list"));
  EXPECT_THAT(all(errors(mergeText("apply: {queues: 1}\n"))),
              testing::HasSubstr("belongs into weir.yaml"));
}

TEST(Merge, OfAText) {
  const Loaded loaded = merge(base(), {"api", "kind: compute#healthCheck\nname: hc\ntype: SSL\n"});
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  ASSERT_EQ(loaded.configuration.healthChecks.size(), 1u);
  EXPECT_EQ(loaded.configuration.healthChecks[0].type, HealthCheck::Type::ssl);
}

TEST(Merge, ARefusedChangeGivesNoConfiguration) {
  const Loaded loaded = mergeText("apply: {healthChecks: [{name: new}, {name: B}]}\n");
  EXPECT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.configuration, Configuration{});
}

TEST(Validate, N5_ARuleThatARouteUsesCannotGo) {
  Configuration c = base();
  Route route;
  route.name = "x";
  route.destRange = *Prefix::parse("10.0.0.0/8");
  route.nextHopIlb = "r";
  c.routes = {route};
  EXPECT_TRUE(validate(c).ok()) << all(validate(c).diagnostics);
  c.rules.clear();
  const auto found = errors(validate(c));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].line, 0u);
  EXPECT_EQ(found[0].toString(), "error: there is no forwarding rule 'r'; there are none at all");
}

TEST(Endpoint, IsReadLikeOneOfAGroup) {
  const std::string text = "endpoint: {ipAddress: 10.2.0.9, weight: 7}\n";
  std::vector<Diagnostic> diagnostics;
  const auto endpoint = readEndpoint(YAML::Load(text)["endpoint"], {"s.yaml", text}, diagnostics);
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->ipAddress->toString(), "10.2.0.9");
  EXPECT_EQ(endpoint->weight, 7u);
  EXPECT_TRUE(diagnostics.empty());
  const std::string bad = "endpoint: {ipAddress: x}\n";
  EXPECT_FALSE(readEndpoint(YAML::Load(bad)["endpoint"], {"s.yaml", bad}, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].column, 23u);
}

}  // namespace
}  // namespace weir::config::test
