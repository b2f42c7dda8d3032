// SPDX-License-Identifier: GPL-2.0-or-later
//
// Changes to lists inside of resources: read, edited, sent back.
#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Members : public Weirctl {
 protected:
  Members() {
    manager_.say("GET /v1/backendServices/web", 200,
                 R"({"name":"web","fingerprint":"f1","backends":[
                   {"group":"a","balancingMode":"CONNECTION","maxConnections":100},
                   {"group":"b","failover":true}]})");
    manager_.say("GET /v1/networkEndpointGroups/g", 200,
                 R"({"name":"g","fingerprint":"f2","defaultPort":80,"endpoints":[
                   {"ipAddress":"10.0.0.1"},{"ipAddress":"10.0.0.1","port":81},
                   {"ipv6Address":"fd00::1"}]})");
  }
  // What was sent for `arguments`.
  Json sent(std::vector<std::string> arguments) {
    EXPECT_EQ(weirctl(std::move(arguments)), 0) << err_.str();
    EXPECT_EQ(manager_.last().method, "PATCH");
    return manager_.last().json();
  }
};

TEST_F(Members, AddBackend) {
  const Json body =
      sent({"backend-services", "add-backend", "web", "--network-endpoint-group=c", "--failover",
            "--balancing-mode=CONNECTION", "--max-connections-per-endpoint=10",
            "--capacity-scaler=0.5", "--preference=preferred", "--network-endpoint-group-zone=z"});
  EXPECT_EQ(body["fingerprint"], "f1");
  ASSERT_EQ(body["backends"].size(), 3u);
  EXPECT_EQ(body["backends"][2], Json::parse(R"({"group":"c","failover":true,
      "balancingMode":"CONNECTION","maxConnectionsPerEndpoint":10,"capacityScaler":0.5,
      "preference":"PREFERRED"})"));
  EXPECT_EQ(out_.str(), "backend service web: added backend c\n");
}

TEST_F(Members, ABackendIsAddedOnce) {
  EXPECT_EQ(weirctl({"backend-services", "add-backend", "web", "--instance-group=a"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is a backend of web already"));
}

TEST_F(Members, X4_2_UpdateBackendReplacesTheLimit) {
  const Json body = sent({"backend-services", "update-backend", "web", "--network-endpoint-group=a",
                          "--max-connections-per-endpoint=5"});
  EXPECT_EQ(body["backends"][0], Json::parse(R"({"group":"a","balancingMode":"CONNECTION",
                            "maxConnectionsPerEndpoint":5})"));
  EXPECT_EQ(body["backends"][1], Json::parse(R"({"group":"b","failover":true})"));
}

// S6: a preference is turned off by naming the default; everything else of the backend stays.
TEST_F(Members, S3_4_UpdateBackendSetsAndResetsThePreference) {
  EXPECT_EQ(sent({"backend-services", "update-backend", "web", "--network-endpoint-group=a",
                  "--preference=PREFERRED"})["backends"][0],
            Json::parse(R"({"group":"a","balancingMode":"CONNECTION","maxConnections":100,
                            "preference":"PREFERRED"})"));
  EXPECT_EQ(sent({"backend-services", "update-backend", "web", "--network-endpoint-group=a",
                  "--preference=default"})["backends"][0]["preference"],
            "DEFAULT");
  EXPECT_EQ(weirctl({"backend-services", "update-backend", "web", "--network-endpoint-group=a",
                     "--preference="}),
            2);
}

TEST_F(Members, UpdateBackendTurnsFailoverOff) {
  const Json body = sent(
      {"backend-services", "update-backend", "web", "--network-endpoint-group=b", "--no-failover"});
  EXPECT_EQ(body["backends"][1], Json::parse(R"({"group":"b","failover":false})"));
}

TEST_F(Members, RemoveBackend) {
  const Json body =
      sent({"backend-services", "remove-backend", "web", "--network-endpoint-group=a"});
  EXPECT_EQ(body["backends"], Json::parse(R"([{"group":"b","failover":true}])"));
}

TEST_F(Members, AGroupThatIsNoBackendIsToldWithThoseThatAre) {
  EXPECT_EQ(weirctl({"backend-services", "remove-backend", "web", "--network-endpoint-group=aa"}),
            1);
  EXPECT_EQ(err_.str(),
            "weirctl: group 'aa' is not a backend of web (did you mean 'a'?); its groups are a and "
            "b\n");
}

TEST_F(Members, SomebodyElseWasFasterSoItIsReadAgain) {
  manager_.say("PATCH /v1/backendServices/web", 412, R"({"error":{"message":"changed"}})");
  manager_.say("PATCH /v1/backendServices/web", 200, "{}");
  EXPECT_EQ(weirctl({"backend-services", "add-backend", "web", "--network-endpoint-group=c"}), 0);
  EXPECT_EQ(manager_.asked().size(), 4u);  // GET, PATCH, GET, PATCH
}

TEST_F(Members, SomebodyElseWhoIsAlwaysFasterIsToldInTheEnd) {
  manager_.say("PATCH /v1/backendServices/web", 412, R"({"error":{"message":"changed"}})");
  EXPECT_EQ(weirctl({"backend-services", "add-backend", "web", "--network-endpoint-group=c"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: changed\n");
}

TEST_F(Members, AddAndRemoveEndpoints) {
  const Json body =
      sent({"network-endpoint-groups", "update", "g", "--add-endpoint=ip=10.0.0.2,port=82",
            "--remove-endpoint=ip=10.0.0.1,port=80", "--remove-endpoint=ip=fd00:0::1"});
  EXPECT_EQ(body["fingerprint"], "f2");
  EXPECT_EQ(body["endpoints"], Json::parse(R"([{"ipAddress":"10.0.0.1","port":81},
                                               {"ipAddress":"10.0.0.2","port":82}])"));
}

TEST_F(Members, AnEndpointToRemoveMustBeClear) {
  EXPECT_EQ(weirctl({"network-endpoint-groups", "update", "g", "--remove-endpoint=ip=10.0.0.1"}),
            1);
  EXPECT_THAT(err_.str(), HasSubstr("2 endpoints of the group are ip=10.0.0.1; give the port"));
  EXPECT_EQ(weirctl({"network-endpoint-groups", "update", "g", "--remove-endpoint=ip=10.0.0.9"}),
            1);
  EXPECT_THAT(err_.str(), HasSubstr("no endpoint of the group is ip=10.0.0.9"));
}

TEST_F(Members, ListNetworkEndpoints) {
  EXPECT_EQ(weirctl({"network-endpoint-groups", "list-network-endpoints", "g"}), 0);
  EXPECT_EQ(out_.str(),
            "IP ADDRESS  IPV6 ADDRESS  PORT  FQDN  INSTANCE  WEIGHT\n"
            "10.0.0.1    -                -  -     -         -\n"
            "10.0.0.1    -               81  -     -         -\n"
            "-           fd00::1          -  -     -         -\n");
}

TEST_F(Members, S6_GetHealthShowsStatesReasonsAndGroups) {
  manager_.say("GET /v1/backendServices/web/health", 200, R"({"name":"web","rule":"P2.1",
    "explanation":"1 of 3 backends is healthy: all healthy backends","healthStatus":[
    {"endpoint":"10.2.0.11","group":"a","zone":"z","failover":false,"healthState":"HEALTHY",
     "eligible":true,"weight":1},
    {"endpoint":"10.2.0.12","group":"a","zone":"","failover":true,"healthState":"TIMEOUT",
     "eligible":false,"weight":1,"reason":"no answer within 5 s"},
    {"endpoint":"10.2.0.13","group":"a","zone":"z","failover":false,"healthState":"DRAINING",
     "eligible":false,"weight":1,"drainingSecLeft":300},
    {"endpoint":"10.2.0.14","group":"a","zone":"z","failover":false,"healthState":"DRAINING",
     "eligible":false,"weight":1,"drainedSec":75}],
    "groups":[
    {"group":"a","zone":"z","distanceMs":0.4,"members":3,"healthy":1,"capacity":800,"load":600,
     "usable":380.952,"usableFraction":0.47619,"fill":1.575,"drained":false,
     "note":"33% healthy is below the threshold"},
    {"group":"b","zone":"y","members":4,"healthy":2,"capacity":0,"usable":0,"usableFraction":0.7,
     "load":2.26,"drained":true,"drainedSec":95,"note":"drained because","undrainSecLeft":37},
    {"group":"c","zone":"","members":0,"healthy":0,"usableFraction":0,"drained":false,
     "preferred":true}],
    "loadError":"weir-proxy is not connected; is it running?"})");
  EXPECT_EQ(weirctl({"backend-services", "get-health", "web"}), 0);
  EXPECT_EQ(
      out_.str(),
      "BACKEND    GROUP  ZONE  ROLE      STATE     ELIGIBLE  WEIGHT  NOTE\n"
      "10.2.0.11  a      z     primary   HEALTHY   yes            1  -\n"
      "10.2.0.12  a      -     failover  TIMEOUT   no             1  no answer within 5 s\n"
      "10.2.0.13  a      z     primary   DRAINING  no             1  its connections end in 5 "
      "min\n"
      "10.2.0.14  a      z     primary   DRAINING  no             1  drained: its connections "
      "ended 1 min 15 s ago\n"
      "\n"
      "GROUP  ZONE  DISTANCE MS  HEALTHY  CAPACITY  USABLE  LOAD  FILL  DRAINED         WHY\n"
      "a      z             0.4  1/3           800     48%   600  158%  no              33% "
      "healthy is below the threshold\n"
      "b      y               -  2/4             0     70%   2.3     -  for 1 min 35 s  drained "
      "because; 37 s to go\n"
      "c      -               -  0/0             -      0%     -     -  no              preferred\n"
      "\n"
      "No loads: weir-proxy is not connected; is it running?\n"
      "\n"
      "P2.1: 1 of 3 backends is healthy: all healthy backends\n");
  color_ = true;
  EXPECT_EQ(weirctl({"backend-services", "get-health", "web"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[32mHEALTHY\x1b[0m"));
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[31mTIMEOUT\x1b[0m"));
}

}  // namespace
}  // namespace weir::cli
