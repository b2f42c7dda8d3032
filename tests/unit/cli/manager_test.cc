// SPDX-License-Identifier: GPL-2.0-or-later
//
// weirctl against the real manager: its API on a socket, its configuration in a directory, a
// kernel in memory. Checks are so far apart that a test ends before they are due.
#include "manager/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/command_line.h"
#include "config/load.h"
#include "manager/api/api.h"
#include "manager/api/http_server.h"
#include "manager/kernel/fake_kernel_state.h"
#include "support/temporary_directory.h"

namespace weir::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class WithManager : public testing::Test {
 protected:
  WithManager() {
    std::filesystem::create_directories(config_.path() / "conf.d");
    EXPECT_TRUE(manager_.start({}, {}).ok());
    EXPECT_TRUE(server_.listenLocal(run_.path() / "api.sock", "", "").ok());
    thread_ = std::thread([this] { io_.run(); });
  }
  ~WithManager() override {
    io_.stop();
    thread_.join();
    server_.stop();
    manager_.stop();
  }

  // A command line as it is typed; words hold no blanks here.
  int weirctl(const std::string& line, const std::string& input = "") {
    std::istringstream text(line);
    std::vector<std::string> arguments{"--run-dir", run_.path().string()};
    for (std::string word; text >> word;) arguments.push_back(word);
    out_.str("");
    err_.str("");
    std::istringstream in(input);
    return run(arguments, {.in = in, .out = out_, .err = err_});
  }
  void done(const std::string& line) { EXPECT_EQ(weirctl(line), 0) << line << "\n" << err_.str(); }
  std::string exported() {
    done("export");
    return out_.str();
  }
  json described(const std::string& what) {
    done(what + " --format=json");
    return json::parse(out_.str());
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(config_.path() / name) << text;
  }

  // As an item of a list.
  static std::string indented(std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) + 1 < text.size(); at += 3)
      text.insert(at + 1, "  ");
    return text;
  }

  test::TemporaryDirectory run_, config_;
  boost::asio::io_context io_;
  manager::FakeKernelState kernel_;
  manager::Manager manager_{io_, kernel_, run_.path(),
                            [this] { return config::loadDirectory(config_.path()); },
                            config_.path()};
  manager::HttpServer server_{io_, manager::apiHandler(manager_)};
  std::thread thread_;
  std::ostringstream out_, err_;
};

// Every field that a passthrough service and what belongs to it can have.
const char* const kByHand = R"(
healthChecks:
  - name: web-hc
    type: HTTP
    checkIntervalSec: 300
    timeoutSec: 1
    unhealthyThreshold: 3
    httpHealthCheck: {port: 8080, requestPath: /healthz, host: example.com, response: ok}
    logConfig: {enable: true}
networkEndpointGroups:
  - name: web-a
    zone: zone-a
    endpoints: [{ipAddress: 10.2.0.11}, {ipAddress: 10.2.0.12, weight: 500}]
  - {name: web-standby, zone: zone-b, endpoints: [{ipAddress: 10.2.1.11, instance: spare}]}
backendServices:
  - name: web
    protocol: TCP
    sessionAffinity: CLIENT_IP
    connectionTrackingPolicy:
      {trackingMode: PER_SESSION, idleTimeoutSec: 3600,
       connectionPersistenceOnUnhealthyBackends: NEVER_PERSIST}
    failoverPolicy: {failoverRatio: 0.5, dropTrafficIfUnhealthy: true,
                     disableConnectionDrainOnFailover: true}
    connectionDraining: {drainingTimeoutSec: 300}
    networkPassThroughLbTrafficPolicy:
      zonalAffinity: {spillover: ZONAL_AFFINITY_SPILL_CROSS_ZONE, spilloverRatio: 0.25}
    localityLbPolicy: WEIGHTED_MAGLEV
    healthChecks: [web-hc]
    backends: [{group: web-a}, {group: web-standby, failover: true}]
    logConfig: {enable: true}
forwardingRules:
  - {name: web-vip, IPAddress: 10.9.9.9, ports: [80, 443], backendService: web}
  - {name: web-range, IPAddress: 10.9.9.10, portRange: 8000-8999, backendService: web}
routes:
  - {name: via-web, destRange: 192.0.2.0/24, priority: 500, nextHopIlb: web-vip}
)";

TEST_F(WithManager, C2_WhatCommandsMakeEqualsWhatIsWrittenByHand) {
  done(
      "health-checks create http web-hc --port=8080 --request-path=/healthz --host=example.com "
      "--response=ok --check-interval=5m --timeout=1s --unhealthy-threshold=3 --enable-logging");
  done("network-endpoint-groups create web-a --zone=zone-a --add-endpoint=ip=10.2.0.11");
  done("network-endpoint-groups update web-a --add-endpoint=ip=10.2.0.12,weight=500");
  done(
      "network-endpoint-groups create web-standby --zone=zone-b "
      "--add-endpoint=ip=10.2.1.11,instance=spare");
  done(
      "backend-services create web --protocol=TCP --health-checks=web-hc "
      "--session-affinity=CLIENT_IP --tracking-mode=PER_SESSION --idle-timeout-sec=1h "
      "--connection-persistence-on-unhealthy-backends=NEVER_PERSIST "
      "--connection-draining-timeout=300s --locality-lb-policy=WEIGHTED_MAGLEV "
      "--zonal-affinity-spillover=ZONAL_AFFINITY_SPILL_CROSS_ZONE "
      "--zonal-affinity-spillover-ratio=0.25 --enable-logging");
  done("backend-services add-backend web --network-endpoint-group=web-a");
  done("backend-services add-backend web --instance-group=web-standby --failover");
  done(
      "backend-services update web --failover-ratio=0.5 --drop-traffic-if-unhealthy "
      "--no-connection-drain-on-failover");
  done("forwarding-rules create web-vip --address=10.9.9.9 --ports=80,443 --backend-service=web");
  done(
      "forwarding-rules create web-range --address=10.9.9.10 --ports=8000-8999 "
      "--backend-service=web");
  done(
      "routes create via-web --destination-range=192.0.2.0/24 --priority=500 "
      "--next-hop-ilb=web-vip");
  const std::string byCommands = exported();
  std::filesystem::remove(config_.path() / "conf.d/weirctl.yaml");
  write("conf.d/hand.yaml", kByHand);
  done("reload");
  EXPECT_EQ(exported(), byCommands);
}

TEST_F(WithManager, X4_2_ProxyServicesByCommands) {
  done("health-checks create tcp hc --use-serving-port --check-interval=5m");
  done(
      "network-endpoint-groups create shop-a --zone=zone-a --default-port=8443 "
      "--add-endpoint=ip=10.3.0.11 --add-endpoint=ip=10.3.0.12,port=9443");
  done(
      "service-lb-policies create spread --load-balancing-algorithm=SPRAY_TO_REGION "
      "--auto-capacity-drain --failover-health-threshold=50 "
      "--isolation-config-granularity=region --isolation-config-mode=strict --location=global");
  done(
      "backend-services create shop --load-balancing-scheme=EXTERNAL_MANAGED --health-checks=hc "
      "--timeout=60s --service-lb-policy=spread --circuit-breakers-max-connections=1000 "
      "--locality-lb-policy=LEAST_REQUEST");
  done(
      "backend-services add-backend shop --network-endpoint-group=shop-a "
      "--balancing-mode=CONNECTION --max-connections-per-endpoint=100 --preference=PREFERRED");
  done("target-tcp-proxies create shop-proxy --backend-service=shop --proxy-header=PROXY_V1");
  done(
      "forwarding-rules create shop-vip --load-balancing-scheme=EXTERNAL_MANAGED "
      "--address=203.0.113.7 --ports=443 --target-tcp-proxy=shop-proxy");
  done(
      "backend-services update-backend shop --network-endpoint-group=shop-a "
      "--balancing-mode=RATE --max-rate=50");
  const json service = described("backend-services describe shop");
  EXPECT_EQ(service["backends"][0]["maxRate"], 50);
  EXPECT_FALSE(service["backends"][0].contains("maxConnectionsPerEndpoint"));
  EXPECT_EQ(service["serviceLbPolicy"], "spread");
  // S6: turning a feature off restores the default, which is not written.
  done(
      "service-lb-policies update spread --no-auto-capacity-drain "
      "--failover-health-threshold=70 --isolation-config-granularity=UNSPECIFIED "
      "--isolation-config-mode=UNSPECIFIED --load-balancing-algorithm=WATERFALL_BY_REGION");
  const json policy = described("service-lb-policies describe spread");
  for (const char* key :
       {"autoCapacityDrain", "failoverConfig", "isolationConfig", "loadBalancingAlgorithm"})
    EXPECT_FALSE(policy.contains(key)) << policy;
  done("backend-services update shop --no-service-lb-policy");
  EXPECT_FALSE(described("backend-services describe shop").contains("serviceLbPolicy"));
  done("service-lb-policies delete spread");
}

// As `gcloud network-services service-lb-policies export` writes one.
TEST_F(WithManager, S6_PoliciesComeAndGoAsDocuments) {
  const std::string google =
      "autoCapacityDrain:\n  enable: true\n"
      "createTime: '2026-01-01T00:00:00Z'\n"
      "failoverConfig:\n  failoverHealthThreshold: 60\n"
      "isolationConfig:\n  isolationGranularity: REGION\n  isolationMode: NEAREST\n"
      "loadBalancingAlgorithm: SPRAY_TO_WORLD\n"
      "name: projects/p/locations/global/serviceLbPolicies/spread\n";
  EXPECT_EQ(weirctl("service-lb-policies import spread", google), 0) << err_.str();
  const json policy = described("service-lb-policies describe spread");
  EXPECT_EQ(policy["loadBalancingAlgorithm"], "SPRAY_TO_WORLD");
  EXPECT_EQ(policy["autoCapacityDrain"]["enable"], true);
  EXPECT_EQ(policy["failoverConfig"]["failoverHealthThreshold"], 60);
  EXPECT_EQ(policy["isolationConfig"]["isolationMode"], "NEAREST");
  done("service-lb-policies export spread");
  const std::string exportedPolicy = out_.str();
  done("service-lb-policies delete spread");
  EXPECT_EQ(weirctl("service-lb-policies import spread", exportedPolicy), 0) << err_.str();
  json again = described("service-lb-policies describe spread");
  EXPECT_EQ(again["fingerprint"], policy["fingerprint"]);

  // What cannot be is refused, with what is allowed, and changes nothing.
  for (const char* flags :
       {"--failover-health-threshold=0", "--failover-health-threshold=100",
        "--load-balancing-algorithm=SPRAY", "--isolation-config-granularity=ZONE",
        "--isolation-config-mode=LOOSE"}) {
    EXPECT_NE(weirctl(std::string("service-lb-policies update spread ") + flags), 0) << flags;
    EXPECT_NE(err_.str(), "") << flags;
  }
  EXPECT_EQ(weirctl("service-lb-policies create spread"), 1);
  EXPECT_EQ(weirctl("service-lb-policies update none --no-auto-capacity-drain"), 1);
  EXPECT_EQ(described("service-lb-policies describe spread")["fingerprint"], policy["fingerprint"]);
  done(
      "backend-services create shop --load-balancing-scheme=INTERNAL_MANAGED "
      "--service-lb-policy=projects/p/locations/global/serviceLbPolicies/spread");
  EXPECT_EQ(weirctl("service-lb-policies delete spread"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("shop"));
  EXPECT_EQ(weirctl("backend-services update shop --service-lb-policy=nobody"), 1);
  done("backend-services update shop --no-service-lb-policy");
  done("service-lb-policies delete spread");
}

TEST_F(WithManager, TlsRoutesComeFromDocuments) {
  done("health-checks create tcp hc --use-serving-port --check-interval=5m");
  done("network-endpoint-groups create g --default-port=8443 --add-endpoint=ip=10.3.0.11");
  done("backend-services create shop --load-balancing-scheme=EXTERNAL_MANAGED --health-checks=hc");
  done(
      "backend-services add-backend shop --network-endpoint-group=g "
      "--balancing-mode=CONNECTION --max-connections=100");
  done("target-tcp-proxies create p --backend-service=shop");
  const std::string route =
      "name: names\ntargetProxies: [p]\nrules:\n"
      "- matches: [{sniHost: [a.example.com]}]\n"
      "  action: {destinations: [{serviceName: shop}]}\n";
  // X2.1: a proxy has a service or TLS routes, never both.
  EXPECT_EQ(weirctl("tls-routes import names", route), 1);
  EXPECT_NE(err_.str(), "");
  done("target-tcp-proxies delete p");
  EXPECT_EQ(
      weirctl("apply -f -", "targetTcpProxies: [{name: p}]\ntlsRoutes:\n- " + indented(route)), 0)
      << err_.str();
  done("tls-routes export names");
  const std::string document = out_.str();
  EXPECT_EQ(weirctl("tls-routes import names", document), 0) << err_.str();
  done("tls-routes list");
  EXPECT_THAT(out_.str(), HasSubstr("names  p               a.example.com"));
}

TEST_F(WithManager, RefusalsNameTheFileThatDefinesAResource) {
  write("conf.d/hand.yaml", kByHand);
  done("reload");
  EXPECT_EQ(weirctl("backend-services update web --failover-ratio=0.1"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("hand.yaml"));
  EXPECT_EQ(weirctl("health-checks create tcp web-hc"), 1);
  EXPECT_EQ(weirctl("health-checks delete web-hc"), 1);
  EXPECT_EQ(weirctl("backend-services describe wib"), 1);
}

TEST_F(WithManager, EveryListAndDescriptionIsShown) {
  write("conf.d/hand.yaml", kByHand);
  done("reload");
  for (const std::string& line : std::vector<std::string>{
           "backend-services list", "forwarding-rules list", "health-checks list",
           "network-endpoint-groups list", "routes list", "backend-services describe web",
           "backend-services get-health web",
           "network-endpoint-groups list-network-endpoints web-a",
           "forwarding-rules describe web-range", "health-checks describe web-hc", "status"}) {
    done(line);
    EXPECT_THAT(out_.str(), testing::AnyOf(HasSubstr("web"), HasSubstr("10.2.0.11"))) << line;
    for (const char* format : {"json", "yaml"}) done(line + " --format=" + format);
  }
  done("health-checks list");
  EXPECT_EQ(out_.str(),
            "NAME    TYPE  PORT  INTERVAL  TIMEOUT\nweb-hc  HTTP  8080  300s      1s\n");
}

TEST_F(WithManager, ApplyTellsPlacesInTheFileAndDryRunsDoNothing) {
  EXPECT_EQ(weirctl("apply -f -", "healthChecks:\n  - {name: hc, timeoutSec: 99}\n"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("(input):2:"));
  EXPECT_EQ(weirctl("apply -f - --dry-run", kByHand), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("created   backendServices/web\n"));
  EXPECT_EQ(weirctl("backend-services describe web"), 1);
  EXPECT_EQ(weirctl("apply -f -", kByHand), 0) << err_.str();
  const std::string all = exported();
  EXPECT_EQ(weirctl("import -f -", all), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("unchanged 7\n"));
}

TEST_F(WithManager, DiffThenReload) {
  EXPECT_EQ(weirctl("apply -f -", kByHand), 0) << err_.str();
  done("diff");
  EXPECT_EQ(out_.str(), "No difference: a reload would do nothing.\n");
  test::TemporaryDirectory wanted;
  std::filesystem::create_directories(wanted.path() / "conf.d");
  std::string text = kByHand;
  text.replace(text.find("priority: 500"), 13, "priority: 900");
  std::ofstream(wanted.path() / "conf.d/web.yaml") << text;
  EXPECT_EQ(weirctl("diff --exit-code " + wanted.path().string()), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("~ routes/via-web changed\n    priority: 500 -> 900\n"));
}

TEST_F(WithManager, DrainShowsInHealth) {
  EXPECT_EQ(weirctl("apply -f -", kByHand), 0) << err_.str();
  done("drain web 10.2.0.11 --timeout 5m");
  EXPECT_THAT(out_.str(), HasSubstr("those it has may go on until"));
  done("backend-services get-health web");
  EXPECT_THAT(out_.str(), HasSubstr("DRAINING"));
  EXPECT_THAT(out_.str(), HasSubstr("its connections end in"));
  done("drain web 10.2.0.11 --timeout 0");
  done("backend-services get-health web");
  EXPECT_THAT(out_.str(), HasSubstr("drained: its connections ended "));
  done("undrain web 10.2.0.11");
  EXPECT_EQ(weirctl("undrain web 10.2.0.11"), 1);
}

}  // namespace
}  // namespace weir::cli
