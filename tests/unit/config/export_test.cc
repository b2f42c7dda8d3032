// SPDX-License-Identifier: GPL-2.0-or-later
//
// C1: what `gcloud ... describe` and `export` print can be pasted in.
#include "fixture.h"

namespace weir::config::test {
namespace {

const std::string kExport = R"(---
checkIntervalSec: 10
creationTimestamp: '2024-05-01T02:03:04.567-07:00'
description: ''
healthyThreshold: 2
id: '1234567890123456789'
kind: compute#healthCheck
logConfig:
  enable: true
name: web-hc
region: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1
selfLink: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/healthChecks/web-hc
tcpHealthCheck:
  port: 80
  proxyHeader: NONE
timeoutSec: 5
type: TCP
unhealthyThreshold: 2
---
annotations: {}
creationTimestamp: '2024-05-01T02:03:04.567-07:00'
id: '2345678901234567890'
kind: compute#networkEndpointGroup
name: web-a
network: https://www.googleapis.com/compute/v1/projects/p/global/networks/default
networkEndpointType: GCE_VM_IP
selfLink: https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b/networkEndpointGroups/web-a
size: 2
subnetwork: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/subnetworks/default
zone: https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b
endpoints:
- instance: https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b/instances/vm-1
  ipAddress: 10.2.0.11
---
backends:
- balancingMode: CONNECTION
  failover: false
  group: https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b/instanceGroups/web-a
connectionDraining:
  drainingTimeoutSec: 300
connectionTrackingPolicy:
  connectionPersistenceOnUnhealthyBackends: DEFAULT_FOR_PROTOCOL
  enableStrongAffinity: false
  idleTimeoutSec: 600
  trackingMode: PER_CONNECTION
creationTimestamp: '2024-05-01T02:03:04.567-07:00'
description: ''
enableCDN: false
failoverPolicy:
  disableConnectionDrainOnFailover: false
  dropTrafficIfUnhealthy: false
  failoverRatio: 1.0
fingerprint: rq0C7ZuMqWQ=
healthChecks:
- https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/healthChecks/web-hc
id: '3456789012345678901'
kind: compute#backendService
loadBalancingScheme: INTERNAL
logConfig:
  enable: false
  optionalMode: EXCLUDE_ALL_OPTIONAL
name: web
network: https://www.googleapis.com/compute/v1/projects/p/global/networks/default
networkPassThroughLbTrafficPolicy:
  zonalAffinity:
    spillover: ZONAL_AFFINITY_DISABLED
protocol: TCP
region: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1
selfLink: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/backendServices/web
sessionAffinity: NONE
timeoutSec: 30
usedBy:
- reference: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/forwardingRules/web-vip
---
IPAddress: 10.9.9.9
IPProtocol: TCP
allowGlobalAccess: false
backendService: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/backendServices/web
creationTimestamp: '2024-05-01T02:03:04.567-07:00'
description: ''
fingerprint: 3bkA1jdV4Pc=
id: '4567890123456789012'
kind: compute#forwardingRule
labelFingerprint: 42WmSpB8rSM=
loadBalancingScheme: INTERNAL
name: web-vip
network: https://www.googleapis.com/compute/v1/projects/p/global/networks/default
networkTier: PREMIUM
portRange: 80-80
region: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1
selfLink: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/forwardingRules/web-vip
serviceLabel: web
serviceName: web.web-vip.il4.europe-west1.lb.p.internal
subnetwork: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/subnetworks/default
---
creationTimestamp: '2024-05-01T02:03:04.567-07:00'
description: ''
destRange: 0.0.0.0/0
id: '5678901234567890123'
kind: compute#route
name: via-fw
network: https://www.googleapis.com/compute/v1/projects/p/global/networks/default
nextHopIlb: https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1/forwardingRules/web-vip
priority: 1000
routeType: STATIC
selfLink: https://www.googleapis.com/compute/v1/projects/p/global/routes/via-fw
)";

void expectTheExport(const Loaded& loaded) {
  ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  const Configuration& c = loaded.configuration;
  ASSERT_EQ(c.services.size(), 1u);
  EXPECT_EQ(c.services[0].healthCheck, "web-hc");
  EXPECT_THAT(c.services[0].backends, testing::ElementsAre(ServiceBackend{"web-a", false, {}}));
  ASSERT_EQ(c.groups.size(), 1u);
  EXPECT_EQ(c.groups[0].zone, "europe-west1-b");
  EXPECT_EQ(c.groups[0].endpoints.size(), 1u);
  ASSERT_EQ(c.rules.size(), 1u);
  EXPECT_THAT(c.rules[0].ports, testing::ElementsAre(PortRange{80, 80}));
  EXPECT_EQ(c.rules[0].backendService, "web");
  ASSERT_EQ(c.routes.size(), 1u);
  EXPECT_EQ(c.routes[0].nextHopIlb, "web-vip");
  EXPECT_EQ(c.healthChecks.at(0).checkInterval.count(), 10);
}

TEST(Export, C1_DocumentsWithTheirKind) { expectTheExport(loadText(kExport)); }

TEST(Export, C1_AsOneFileOfConfD) {
  expectTheExport(load({"weir.yaml", ""}, {{"conf.d/export.yaml", kExport}}));
}

TEST(Export, C1_JsonListOfResources) {
  expectTheExport(loadText(R"([
	{"kind": "compute#healthCheck", "name": "web-hc", "checkIntervalSec": 10, "id": "1"},
	{"kind": "compute#networkEndpointGroup", "name": "web-a", "zone": "z/europe-west1-b",
	 "endpoints": [{"ipAddress": "10.2.0.11"}]},
	{"kind":"compute#backendService","name":"web","healthChecks":["a\/web-hc"],
	 "backends":[{"group":"x/web-a"}]},
	{"kind": "compute#forwardingRule", "name": "web-vip", "IPAddress": "10.9.9.9",
	 "ports": ["80"], "backendService": "regions/r/backendServices/web"},
	{"kind": "compute#route", "name": "via-fw", "destRange": "0.0.0.0/0", "nextHopIlb": "10.9.9.9"}
]
)"));
}

}  // namespace
}  // namespace weir::config::test
