// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the commands of collections ask of the manager.
#include <fstream>

#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

// A command line, as one text split at blanks, and what comes of it.
struct Case {
  const char* line;
  const char* request;
  const char* body;
};

std::vector<std::string> split(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

class Resources : public Weirctl, public testing::WithParamInterface<Case> {};

TEST_P(Resources, C2_FlagsBecomeFields) {
  EXPECT_EQ(weirctl(split(GetParam().line)), 0) << err_.str();
  EXPECT_EQ(manager_.last().line(), GetParam().request);
  EXPECT_EQ(manager_.last().json(), nlohmann::json::parse(GetParam().body));
  EXPECT_EQ(manager_.last().contentType, "application/json");
}

INSTANTIATE_TEST_SUITE_P(
    All, Resources,
    testing::Values(
        Case{"backend-services create web --protocol=TCP --load-balancing-scheme=internal "
             "--health-checks=web-hc --session-affinity=CLIENT_IP --tracking-mode=PER_SESSION "
             "--idle-timeout-sec=1h --connection-persistence-on-unhealthy-backends=never-persist "
             "--connection-draining-timeout=300 --failover-ratio=0.5 --drop-traffic-if-unhealthy "
             "--no-connection-drain-on-failover --locality-lb-policy=MAGLEV "
             "--zonal-affinity-spillover=ZONAL_AFFINITY_SPILL_CROSS_ZONE "
             "--zonal-affinity-spillover-ratio=0.3 --enable-logging --logging-sample-rate=0.1 "
             "--timeout=30s --service-lb-policy=p --circuit-breakers-max-connections=100 "
             "--connect-timeout=3s --ip-address-selection-policy=PREFER_IPV6",
             "POST /v1/backendServices",
             R"({"name":"web","protocol":"TCP","loadBalancingScheme":"INTERNAL",
                 "healthChecks":["web-hc"],"sessionAffinity":"CLIENT_IP",
                 "connectionTrackingPolicy":{"trackingMode":"PER_SESSION","idleTimeoutSec":3600,
                   "connectionPersistenceOnUnhealthyBackends":"NEVER_PERSIST"},
                 "connectionDraining":{"drainingTimeoutSec":300},
                 "failoverPolicy":{"failoverRatio":0.5,"dropTrafficIfUnhealthy":true,
                   "disableConnectionDrainOnFailover":true},
                 "localityLbPolicy":"MAGLEV",
                 "networkPassThroughLbTrafficPolicy":{"zonalAffinity":{
                   "spillover":"ZONAL_AFFINITY_SPILL_CROSS_ZONE","spilloverRatio":0.3}},
                 "logConfig":{"enable":true,"sampleRate":0.1},"timeoutSec":30,
                 "serviceLbPolicy":"p","circuitBreakers":{"maxConnections":100},
                 "connectTimeoutSec":3,"ipAddressSelectionPolicy":"PREFER_IPV6"})"},
        Case{"backend-services update web --no-health-checks --no-service-lb-policy "
             "--no-drop-traffic-if-unhealthy --connection-drain-on-failover",
             "PATCH /v1/backendServices/web",
             R"({"healthChecks":null,"serviceLbPolicy":null,
                 "failoverPolicy":{"dropTrafficIfUnhealthy":false,
                                   "disableConnectionDrainOnFailover":false}})"},
        Case{"forwarding-rules create vip --address=10.9.9.9 --ip-protocol=tcp --ports=80,443 "
             "--backend-service=web --announce=arp",
             "POST /v1/forwardingRules",
             R"({"name":"vip","IPAddress":"10.9.9.9","IPProtocol":"TCP","ports":[80,443],
                 "backendService":"web","announce":"ARP"})"},
        Case{"forwarding-rules create vip --address=fd00::9 --ports=ALL "
             "--load-balancing-scheme=EXTERNAL_MANAGED --target-tcp-proxy=p",
             "POST /v1/forwardingRules",
             R"({"name":"vip","IPAddress":"fd00::9","allPorts":true,
                 "loadBalancingScheme":"EXTERNAL_MANAGED","target":"p"})"},
        Case{"forwarding-rules update vip --port-range=8000-8999", "PATCH /v1/forwardingRules/vip",
             R"({"portRange":"8000-8999","ports":null,"allPorts":null})"},
        Case{"forwarding-rules update vip --ports=80 --backend-service=other",
             "PATCH /v1/forwardingRules/vip",
             R"({"ports":[80],"portRange":null,"allPorts":null,"target":null,
                 "backendService":"other"})"},
        Case{"health-checks create tcp hc --port=80 --request=a --response=b "
             "--proxy-header=PROXY_V1 --check-interval=2s --timeout=1s --healthy-threshold=3 "
             "--unhealthy-threshold=4 --enable-logging --probe-target=endpoint",
             "POST /v1/healthChecks",
             R"({"name":"hc","type":"TCP","checkIntervalSec":2,"timeoutSec":1,
                 "healthyThreshold":3,"unhealthyThreshold":4,"probeTarget":"ENDPOINT",
                 "logConfig":{"enable":true},
                 "tcpHealthCheck":{"port":80,"request":"a","response":"b",
                                   "proxyHeader":"PROXY_V1"}})"},
        Case{"health-checks create https hc --host=h --request-path=/z --response=ok",
             "POST /v1/healthChecks",
             R"({"name":"hc","type":"HTTPS",
                 "httpsHealthCheck":{"host":"h","requestPath":"/z","response":"ok"}})"},
        Case{"health-checks create http2 hc --use-serving-port", "POST /v1/healthChecks",
             R"({"name":"hc","type":"HTTP2",
                 "http2HealthCheck":{"portSpecification":"USE_SERVING_PORT"}})"},
        Case{"health-checks create grpc-with-tls hc --port=50051 --grpc-service-name=s",
             "POST /v1/healthChecks",
             R"({"name":"hc","type":"GRPC_WITH_TLS",
                 "grpcTlsHealthCheck":{"port":50051,"grpcServiceName":"s"}})"},
        Case{"health-checks create ssl hc", "POST /v1/healthChecks",
             R"({"name":"hc","type":"SSL"})"},
        Case{"health-checks update http hc --port=81", "PATCH /v1/healthChecks/hc",
             R"({"httpHealthCheck":{"port":81,"portSpecification":null}})"},
        Case{"health-checks update grpc hc --use-serving-port", "PATCH /v1/healthChecks/hc",
             R"({"grpcHealthCheck":{"port":null,
                 "portSpecification":"USE_SERVING_PORT"}})"},
        Case{"network-endpoint-groups create g --zone=z --network-endpoint-type=gce-vm-ip-port "
             "--default-port=80 --add-endpoint=ip=10.0.0.1 "
             "--add-endpoint ip=10.0.0.2,port=81,instance=i,weight=5",
             "POST /v1/networkEndpointGroups",
             R"({"name":"g","zone":"z","networkEndpointType":"GCE_VM_IP_PORT","defaultPort":80,
                 "endpoints":[{"ipAddress":"10.0.0.1"},
                   {"ipAddress":"10.0.0.2","port":81,"instance":"i","weight":5}]})"},
        Case{"routes create r --destination-range=0.0.0.0/0 --priority=5 --next-hop-ilb=vip",
             "POST /v1/routes",
             R"({"name":"r","destRange":"0.0.0.0/0","priority":5,"nextHopIlb":"vip"})"},
        Case{"target-tcp-proxies create p --backend-service=shop --proxy-header=proxy_v2 "
             "--accept-proxy-from=10.0.0.0/8,fd00::/8",
             "POST /v1/targetTcpProxies",
             R"({"name":"p","service":"shop","proxyHeader":"PROXY_V2",
                 "acceptProxyFrom":["10.0.0.0/8","fd00::/8"]})"},
        Case{"target-tcp-proxies update p --no-accept-proxy-from", "PATCH /v1/targetTcpProxies/p",
             R"({"acceptProxyFrom":null})"},
        Case{"service-lb-policies create s --load-balancing-algorithm=SPRAY_TO_WORLD "
             "--auto-capacity-drain --failover-health-threshold=80 "
             "--isolation-config-granularity=REGION --isolation-config-mode=STRICT "
             "--location=global",
             "POST /v1/serviceLbPolicies",
             R"({"name":"s","loadBalancingAlgorithm":"SPRAY_TO_WORLD",
                 "autoCapacityDrain":{"enable":true},
                 "failoverConfig":{"failoverHealthThreshold":80},
                 "isolationConfig":{"isolationGranularity":"REGION","isolationMode":"STRICT"}})"},
        // S6: turning a feature off restores the default.
        Case{"service-lb-policies update s --no-auto-capacity-drain --failover-health-threshold=70 "
             "--isolation-config-granularity=UNSPECIFIED --isolation-config-mode=UNSPECIFIED",
             "PATCH /v1/serviceLbPolicies/s",
             R"({"autoCapacityDrain":{"enable":false},
                 "failoverConfig":{"failoverHealthThreshold":70},
                 "isolationConfig":{"isolationGranularity":"UNSPECIFIED",
                                    "isolationMode":"UNSPECIFIED"}})"},
        // gcloud's spelling of values, its references, and what has no meaning here.
        Case{"service-lb-policies update s --load-balancing-algorithm=waterfall-by-zone --async "
             "--location=global --project=p",
             "PATCH /v1/serviceLbPolicies/s", R"({"loadBalancingAlgorithm":"WATERFALL_BY_ZONE"})"},
        Case{"service-lb-policies update s --isolation-config-granularity=region "
             "--isolation-config-mode=nearest",
             "PATCH /v1/serviceLbPolicies/s",
             R"({"isolationConfig":{"isolationGranularity":"REGION","isolationMode":"NEAREST"}})"},
        Case{"backend-services update web --service-lb-policy="
             "projects/p/locations/global/serviceLbPolicies/spread",
             "PATCH /v1/backendServices/web",
             R"({"serviceLbPolicy":"projects/p/locations/global/serviceLbPolicies/spread"})"},
        Case{"backend-services update web --no-service-lb-policy", "PATCH /v1/backendServices/web",
             R"({"serviceLbPolicy":null})"},
        Case{"routes create r --destination-range=0.0.0.0/0 --next-hop-ilb=vip --dry-run",
             "POST /v1/routes?dryRun=true",
             R"({"name":"r","destRange":"0.0.0.0/0","nextHopIlb":"vip"})"}));

using ResourceCommands = Weirctl;

TEST_F(ResourceCommands, AChangeIsSaidAndItsHintsGoToTheErrorOutput) {
  manager_.say("PATCH /v1/routes/r", 200,
               R"({"name":"r","diagnostics":[{"text":"hint: routes/r: nobody uses it"}]})");
  EXPECT_EQ(weirctl({"routes", "update", "r", "--priority=5"}), 0);
  EXPECT_EQ(out_.str(), "route r: updated\n");
  EXPECT_EQ(err_.str(), "hint: routes/r: nobody uses it\n");
  EXPECT_EQ(weirctl({"routes", "update", "r", "--priority=5", "--format=json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["name"], "r");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ResourceCommands, AnUpdateThatChangesNothingSaysSo) {
  manager_.say("PATCH /v1/routes/r", 200, R"({"name":"r","changed":false})");
  EXPECT_EQ(weirctl({"routes", "update", "r", "--priority=5"}), 0);
  EXPECT_EQ(out_.str(), "route r: unchanged\n");
  manager_.say("PATCH /v1/routes/s", 200, R"({"name":"s","changed":true})");
  EXPECT_EQ(weirctl({"routes", "update", "s", "--priority=5"}), 0);
  EXPECT_EQ(out_.str(), "route s: updated\n");
}

TEST_F(ResourceCommands, ARefusalShowsWhatIsWrong) {
  manager_.say("POST /v1/healthChecks", 400,
               R"({"error":{"message":"refused"},"diagnostics":[{"text":"error: bad"}]})");
  EXPECT_EQ(weirctl({"health-checks", "create", "tcp", "hc"}), 1);
  EXPECT_EQ(err_.str(), "error: bad\nweirctl: refused\n");
}

TEST_F(ResourceCommands, ARefusalIsNotSaidTwice) {
  manager_.say("POST /v1/healthChecks", 400,
               R"({"error":{"message":"bad port"},
                   "diagnostics":[{"message":"bad port","text":"request: error: bad port"}]})");
  EXPECT_EQ(weirctl({"health-checks", "create", "tcp", "hc"}), 1);
  EXPECT_EQ(err_.str(), "request: error: bad port\nweirctl: refused; nothing was changed\n");
}

TEST_F(ResourceCommands, AnUpdateDoesNotChangeTheTypeOfAHealthCheck) {
  manager_.say("GET /v1/healthChecks/hc", 200, R"({"name":"hc","fingerprint":"f"})");  // TCP
  EXPECT_EQ(weirctl({"health-checks", "update", "http", "hc", "--check-interval=2s"}), 1);
  EXPECT_EQ(err_.str(),
            "weirctl: health check hc is of type TCP, not HTTP; change it with weirctl "
            "health-checks update tcp hc, or make one of type HTTP and give that to the service\n");
  EXPECT_EQ(manager_.asked().size(), 1u);
  EXPECT_EQ(weirctl({"health-checks", "update", "tcp", "hc", "--check-interval=2s"}), 0);
  EXPECT_EQ(manager_.last().json(),
            nlohmann::json::parse(R"({"checkIntervalSec":2,"fingerprint":"f"})"));
  EXPECT_EQ(weirctl({"health-checks", "update", "tcp", "hc"}), 2);
}

TEST_F(ResourceCommands, TheDefaultPortOfAHealthCheckIsListed) {
  manager_.say("GET /v1/healthChecks", 200, R"({"items":[{"name":"a","type":"HTTPS"},
      {"name":"b"},{"name":"c","type":"GRPC","grpcHealthCheck":{"port":50051}}]})");
  EXPECT_EQ(weirctl({"health-checks", "list"}), 0);
  EXPECT_EQ(out_.str(),
            "NAME  TYPE    PORT  INTERVAL  TIMEOUT\n"
            "a     HTTPS    443  5s        5s\n"
            "b     TCP       80  5s        5s\n"
            "c     GRPC   50051  5s        5s\n");
}

TEST_F(ResourceCommands, ListIsATable) {
  manager_.say("GET /v1/forwardingRules", 200, R"({"items":[
    {"name":"dns","IPAddress":"10.9.9.8","IPProtocol":"UDP","allPorts":true,"backendService":"dns"},
    {"name":"web-vip","IPAddress":"10.9.9.9","ports":[80,443],"backendService":"web"},
    {"name":"shop","IPAddress":"10.9.9.7","portRange":"443-443","target":"proxy"}]})");
  EXPECT_EQ(weirctl({"forwarding-rules", "list"}), 0);
  EXPECT_EQ(out_.str(),
            "NAME     ADDRESS   PROTOCOL  PORTS    TARGET\n"
            "dns      10.9.9.8  UDP       all      dns\n"
            "web-vip  10.9.9.9  TCP       80,443   web\n"
            "shop     10.9.9.7  TCP       443-443  proxy\n");
}

TEST_F(ResourceCommands, ServicesAreListedWithTheirState) {
  manager_.say("GET /v1/backendServices", 200, R"({"items":[
    {"name":"web","status":{"healthy":3,"total":4,"eligible":2,"rule":"P2.3",
     "forwardingRules":["a","b"]}},{"name":"new"}]})");
  EXPECT_EQ(weirctl({"backend-services", "list"}), 0);
  EXPECT_EQ(out_.str(),
            "NAME  SCHEME    PROTOCOL  AFFINITY  TRACKING        HEALTHY  ELIGIBLE  RULE  "
            "FORWARDING RULES\n"
            "web   INTERNAL  TCP       NONE      PER_CONNECTION  3/4             2  P2.3  a,b\n"
            "new   INTERNAL  TCP       NONE      PER_CONNECTION  -               -  -     -\n");
}

TEST_F(ResourceCommands, EveryCollectionCanBeListedAndAnEmptyOneSaysSo) {
  for (const char* collection :
       {"backend-services", "forwarding-rules", "health-checks", "network-endpoint-groups",
        "routes", "target-tcp-proxies", "tls-routes", "service-lb-policies"}) {
    EXPECT_EQ(weirctl({collection, "list"}), 0);
    EXPECT_EQ(out_.str(), "");
    EXPECT_EQ(err_.str(), std::string("weirctl: there are no ") + collection + "\n");
  }
}

TEST_F(ResourceCommands, DescribeIsYaml) {
  manager_.say("GET /v1/routes/r", 200, R"({"name":"r","destRange":"0.0.0.0/0"})");
  EXPECT_EQ(weirctl({"routes", "describe", "r"}), 0);
  EXPECT_EQ(out_.str(), "name: r\ndestRange: \"0.0.0.0/0\"\n");
}

TEST_F(ResourceCommands, NamesAreEncodedInPaths) {
  EXPECT_EQ(weirctl({"routes", "describe", "a/b?c"}), 0);
  EXPECT_EQ(manager_.last().line(), "GET /v1/routes/a%2Fb%3Fc");
}

TEST_F(ResourceCommands, DeleteAsksAPersonAndNoScript) {
  EXPECT_EQ(weirctl({"routes", "delete", "a", "b"}), 0);
  EXPECT_EQ(out_.str(), "route a: deleted\nroute b: deleted\n");
  EXPECT_EQ(manager_.asked().size(), 2u);
  EXPECT_EQ(manager_.last().line(), "DELETE /v1/routes/b");
  atTerminal_ = true;
  EXPECT_EQ(weirctl({"routes", "delete", "a"}, "n\n"), 1);
  EXPECT_EQ(err_.str(), "Delete route a? (y/N) weirctl: nothing was deleted\n");
  EXPECT_EQ(weirctl({"routes", "delete", "a"}, ""), 1);
  EXPECT_EQ(manager_.asked().size(), 2u);
  EXPECT_EQ(weirctl({"routes", "delete", "a"}, "y\n"), 0);
  EXPECT_EQ(weirctl({"routes", "delete", "a", "-q"}), 0);
  EXPECT_EQ(manager_.asked().size(), 4u);
}

TEST_F(ResourceCommands, DeleteStopsAtTheFirstThatIsRefused) {
  manager_.say("DELETE /v1/routes/a", 409, R"({"error":{"message":"a is in use"}})");
  EXPECT_EQ(weirctl({"routes", "delete", "a", "b"}), 1);
  EXPECT_EQ(manager_.asked().size(), 1u);
  EXPECT_EQ(err_.str(), "weirctl: a is in use\n");
}

TEST_F(ResourceCommands, ExportIsADocumentThatImportTakes) {
  manager_.say("GET /v1/tlsRoutes/t", 200,
               R"({"name":"t","targetProxies":["p"],"kind":"networkservices#tlsRoute",
                   "fingerprint":"1","status":{"file":"x"}})");
  const std::string file = (directory_.path() / "t.yaml").string();
  EXPECT_EQ(weirctl({"tls-routes", "export", "t", "--destination", file}), 0) << err_.str();
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, "kind: \"networkservices#tlsRoute\"\nname: t\ntargetProxies:\n  - p\n");
  EXPECT_EQ(weirctl({"tls-routes", "import", "t", "--source=" + file}), 0);
  EXPECT_THAT(manager_.last().line(), HasSubstr("PUT /v1/tlsRoutes/t?name="));
  EXPECT_EQ(manager_.last().contentType, "application/yaml");
  EXPECT_EQ(manager_.last().body, text);
  EXPECT_EQ(weirctl({"tls-routes", "import", "t"}, "name: t\n"), 0);
  EXPECT_EQ(manager_.last().body, "name: t\n");
  EXPECT_EQ(weirctl({"tls-routes", "import", "t", "--source=/no/such/file"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: /no/such/file: cannot be read: No such file or directory\n");
}

}  // namespace
}  // namespace weir::cli
