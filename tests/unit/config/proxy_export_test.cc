// SPDX-License-Identifier: GPL-2.0-or-later
//
// C1: what gcloud prints of proxies and policies can be pasted in, with or without a kind.
#include "fixture.h"

namespace weir::config::test {
namespace {

// As `gcloud compute ... describe` prints: keys in order, ports and big numbers as quoted text.
const std::string kCompute = R"(---
annotations:
  team: storefront
creationTimestamp: '2025-02-11T08:30:12.101-08:00'
defaultPort: 8443
id: '6120493847561029384'
kind: compute#networkEndpointGroup
name: shop-neg
network: https://www.googleapis.com/compute/v1/projects/acme/global/networks/prod
networkEndpointType: GCE_VM_IP_PORT
selfLink: https://www.googleapis.com/compute/v1/projects/acme/zones/europe-west4-a/networkEndpointGroups/shop-neg
size: 2
subnetwork: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/subnetworks/prod
zone: https://www.googleapis.com/compute/v1/projects/acme/zones/europe-west4-a
endpoints:
- instance: https://www.googleapis.com/compute/v1/projects/acme/zones/europe-west4-a/instances/shop-1
  ipAddress: 10.164.0.11
  port: 8443
- instance: https://www.googleapis.com/compute/v1/projects/acme/zones/europe-west4-a/instances/shop-2
  ipAddress: 10.164.0.12
---
checkIntervalSec: 5
creationTimestamp: '2025-02-11T08:29:55.442-08:00'
healthyThreshold: 2
id: '5519283746501928374'
kind: compute#healthCheck
logConfig:
  enable: false
name: shop-hc
region: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4
selfLink: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/healthChecks/shop-hc
tcpHealthCheck:
  portSpecification: USE_SERVING_PORT
  proxyHeader: NONE
timeoutSec: 5
type: TCP
unhealthyThreshold: 3
---
affinityCookieTtlSec: 0
backends:
- balancingMode: CONNECTION
  capacityScaler: 1.0
  group: https://www.googleapis.com/compute/v1/projects/acme/zones/europe-west4-a/networkEndpointGroups/shop-neg
  maxConnectionsPerEndpoint: 500
  preference: DEFAULT
connectionDraining:
  drainingTimeoutSec: 300
creationTimestamp: '2025-02-11T08:31:40.007-08:00'
description: ''
enableCDN: false
fingerprint: Yq1r0mC8f3E=
healthChecks:
- https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/healthChecks/shop-hc
id: '4410293847561092837'
ipAddressSelectionPolicy: IPV4_ONLY
kind: compute#backendService
loadBalancingScheme: EXTERNAL_MANAGED
localityLbPolicy: ROUND_ROBIN
logConfig:
  enable: true
  optionalMode: EXCLUDE_ALL_OPTIONAL
  sampleRate: 1.0
name: shop
port: 80
portName: http
protocol: TCP
region: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4
selfLink: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/backendServices/shop
serviceLbPolicy: https://networkservices.googleapis.com/v1/projects/acme/locations/global/serviceLbPolicies/spread
sessionAffinity: NONE
timeoutSec: 30
usedBy:
- reference: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/targetTcpProxies/shop-proxy
---
creationTimestamp: '2025-02-11T08:33:02.300-08:00'
id: '3310293847561092831'
kind: compute#targetTcpProxy
name: shop-proxy
proxyBind: false
proxyHeader: PROXY_V1
region: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4
selfLink: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/targetTcpProxies/shop-proxy
service: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/backendServices/shop
---
IPAddress: 203.0.113.40
IPProtocol: TCP
creationTimestamp: '2025-02-11T08:34:10.555-08:00'
description: ''
fingerprint: wK0d3cXxg9s=
id: '2210293847561092830'
kind: compute#forwardingRule
labelFingerprint: 42WmSpB8rSM=
loadBalancingScheme: EXTERNAL_MANAGED
name: shop-fr
network: https://www.googleapis.com/compute/v1/projects/acme/global/networks/prod
networkTier: STANDARD
portRange: 443-443
region: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4
selfLink: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/forwardingRules/shop-fr
target: https://www.googleapis.com/compute/v1/projects/acme/regions/europe-west4/targetTcpProxies/shop-proxy
)";

// As `gcloud network-services ... export` prints: no kind, the path in the name.
const std::string kNetworkServices = R"(---
autoCapacityDrain:
  enable: true
createTime: '2025-02-11T16:20:11.120938475Z'
failoverConfig:
  failoverHealthThreshold: 80
isolationConfig:
  isolationGranularity: REGION
  isolationMode: NEAREST
labels:
  team: storefront
loadBalancingAlgorithm: SPRAY_TO_REGION
name: projects/acme/locations/global/serviceLbPolicies/spread
updateTime: '2025-02-11T16:20:14.881726354Z'
---
createTime: '2025-02-11T16:41:37.338475610Z'
name: projects/acme/locations/europe-west4/tlsRoutes/names
rules:
- action:
    destinations:
    - serviceName: projects/acme/locations/europe-west4/backendServices/shop
      weight: 1
    idleTimeout: 3600s
  matches:
  - alpn:
    - h2
    sniHost:
    - shop.example.com
    - '*.shop.example.com'
selfLink: https://networkservices.googleapis.com/v1/projects/acme/locations/europe-west4/tlsRoutes/names
targetProxies:
- projects/acme/locations/europe-west4/targetTcpProxies/tls-proxy
updateTime: '2025-02-11T16:41:41.110293847Z'
---
id: '1110293847561092839'
kind: compute#targetTcpProxy
name: tls-proxy
proxyHeader: NONE
)";

void expectTheExport(const Loaded& loaded) {
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  const Configuration& c = loaded.configuration;
  ASSERT_EQ(c.services.size(), 1u);
  const BackendService& shop = c.services[0];
  EXPECT_EQ(shop.scheme, LoadBalancingScheme::externalManaged);
  EXPECT_EQ(shop.backends.at(0).group, "shop-neg");
  EXPECT_EQ(shop.backends.at(0).capacity.maxConnectionsPerEndpoint, 500u);
  EXPECT_EQ(shop.proxy.lbPolicy, "spread");
  EXPECT_EQ(shop.proxy.locality, LocalityPolicy::roundRobin);
  EXPECT_EQ(shop.proxy.idleTimeout.count(), 30);
  EXPECT_TRUE(shop.logEnable);
  ASSERT_EQ(c.groups.size(), 1u);
  EXPECT_EQ(c.groups[0].endpoints.at(1).identity(), "10.164.0.12:8443");
  ASSERT_EQ(c.rules.size(), 1u);
  EXPECT_EQ(c.rules[0].target, "shop-proxy");
  EXPECT_THAT(c.rules[0].ports, testing::ElementsAre(PortRange{443, 443}));
  ASSERT_EQ(c.targetProxies.size(), 2u);
  EXPECT_EQ(c.targetProxies[0].service, "shop");
  EXPECT_EQ(c.targetProxies[0].proxyHeader, TargetTcpProxy::ProxyHeader::proxyV1);
  ASSERT_EQ(c.lbPolicies.size(), 1u);
  EXPECT_EQ(c.lbPolicies[0],
            (ServiceLbPolicy{"spread", LbAlgorithm::sprayToRegion, true, 80, Isolation::nearest}));
  ASSERT_EQ(c.tlsRoutes.size(), 1u);
  EXPECT_EQ(c.tlsRoutes[0].name, "names");
  EXPECT_THAT(c.tlsRoutes[0].targetProxies, testing::ElementsAre("tls-proxy"));
  EXPECT_EQ(c.tlsRoutes[0].rules.at(0).destinations.at(0).service, "shop");
}

TEST(ProxyExport, C1_DocumentsWithTheirKindOrPath) {
  expectTheExport(loadText(kCompute + kNetworkServices));
}

TEST(ProxyExport, C1_NetworkServicesWithAKind) {
  std::string text = kNetworkServices;
  text.replace(text.find("createTime"), 0, "kind: networkservices#serviceLbPolicy\n");
  text.replace(text.rfind("createTime"), 0, "kind: networkservices#tlsRoute\n");
  expectTheExport(load({"weir.yaml", ""}, {{"conf.d/a.yaml", kCompute}, {"conf.d/b.yaml", text}}));
}

TEST(ProxyExport, C1_TheDefinitionsHaveTheShortName) {
  const Loaded loaded = loadText(kCompute + kNetworkServices);
  std::vector<std::string> names;
  for (const Definition& d : loaded.definitions) names.push_back(d.collection + "/" + d.name);
  EXPECT_THAT(
      names, testing::UnorderedElementsAre("networkEndpointGroups/shop-neg", "healthChecks/shop-hc",
                                           "backendServices/shop", "targetTcpProxies/shop-proxy",
                                           "forwardingRules/shop-fr", "serviceLbPolicies/spread",
                                           "tlsRoutes/names", "targetTcpProxies/tls-proxy"));
}

TEST(ProxyExport, C1_JsonListWithoutKinds) {
  const Loaded loaded = loadText(
      "[{\"name\": \"projects/p/locations/global/serviceLbPolicies/a\", \"createTime\": \"x\"},\n"
      " {\"kind\": \"networkservices#serviceLbPolicy\", \"name\": \"b\"}]\n");
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  ASSERT_EQ(loaded.configuration.lbPolicies.size(), 2u);
  EXPECT_EQ(loaded.configuration.lbPolicies[0].name, "a");
}

TEST(ProxyExport, C1_WhatWeirIsNotIsRefusedByName) {
  for (const std::string kind : {"compute#targetHttpProxy", "compute#urlMap"}) {
    const auto found = errors(loadText("kind: " + kind + "\nname: p\n"));
    ASSERT_EQ(found.size(), 1u) << all(found);
    EXPECT_THAT(found[0].message, testing::HasSubstr(kind + " is not supported"));
  }
}

}  // namespace
}  // namespace weir::config::test
