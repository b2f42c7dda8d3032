// SPDX-License-Identifier: GPL-2.0-or-later
//
// S6: what the API shows of the groups of a proxy's service.
#include "manager/api/proxy_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/manager_link.h"
#include "managed.h"
#include "manager/api/api.h"
#include "manager/clock.h"

namespace weir::manager {
namespace {

using nlohmann::json;

// "web" for packets, and "shop" behind the proxy with one group of two backends.
Configuration withShop() {
  Configuration configuration = webConfiguration(1);
  NetworkEndpointGroup group;
  group.name = "s";
  group.type = NetworkEndpointGroup::Type::gceVmIpPort;
  for (const char* address : {"127.0.0.3", "127.0.0.4"}) {
    Endpoint endpoint;
    endpoint.ipAddress = *Address::parse(address);
    endpoint.port = 80;
    group.endpoints.push_back(endpoint);
  }
  configuration.groups.push_back(group);
  BackendService shop;
  shop.name = "shop";
  shop.scheme = LoadBalancingScheme::internalManaged;
  shop.backends.push_back({"s", false, {}});
  shop.backends.back().capacity.maxConnections = 50;
  configuration.services.push_back(shop);
  return configuration;
}

class ProxyViews : public testing::Test {
 protected:
  ProxyViews() { managed_.start(); }
  json ask(const std::string& target) { return json::parse(answer("GET", target).body); }
  HttpResponse answer(const std::string& method, const std::string& target) {
    const auto parsed = parseTarget(target);
    std::optional<HttpResponse> response;
    handler_({method, parsed->path, parsed->query, "", "application/json", Access::full},
             [&](HttpResponse r) { response = std::move(r); });
    runUntil(managed_.io, [&] {
      if (engine_) answerAsEngine();
      return response.has_value();
    });
    return *response;
  }
  // One that answers every question by the same.
  void connectEngine(std::string says) {
    auto link = ManagerLink::connect(managed_.directory.path(), "weir-engine");
    ASSERT_TRUE(link.ok()) << link.error().message;
    engine_ = std::move(*link);
    engineSays_ = std::move(says);
    runUntil(managed_.io, [&] {
      const auto planes = managed_.manager.dataPlanes().dataPlanes();
      return !planes.empty() && planes[0].program == "weir-engine";
    });
  }
  Managed managed_{withShop()};
  HttpHandler handler_ = apiHandler(managed_.manager);

 private:
  void answerAsEngine() {
    const auto frames = engine_->receive();
    ASSERT_TRUE(frames.ok()) << frames.error().message;
    for (const Frame& frame : *frames)
      if (frame.type == FrameType::request)
        engine_->send(textFrame(FrameType::response, frame.request, engineSays_));
    ASSERT_TRUE(engine_->flush().ok());
  }
  std::optional<ManagerLink> engine_;
  std::string engineSays_;
};

constexpr const char* kAway = "weir-proxy is not connected; is it running?";

TEST_F(ProxyViews, S6_HealthShowsGroupsAlsoWithoutAProxy) {
  const json health = ask("/v1/backendServices/shop/health");
  ASSERT_EQ(health["groups"].size(), 1u);
  const json& group = health["groups"][0];
  EXPECT_EQ(group["group"], "s");
  EXPECT_EQ(group["members"], 2);
  EXPECT_EQ(group["healthyShare"], 1.0);  // there is no health check
  EXPECT_EQ(group["capacity"], 50.0);
  EXPECT_EQ(group["usable"], 50.0);
  EXPECT_EQ(group["drained"], false);
  EXPECT_FALSE(group.contains("load"));
  EXPECT_EQ(health["loadError"], kAway);
}

TEST_F(ProxyViews, ConnectionsOfTheEngineAreCountedWithoutAProxy) {
  connectEngine(R"({"count":30})");
  EXPECT_EQ(ask("/v1/connections/count"),
            json::parse(R"({"count":30,"missing":[{"program":"weir-proxy",
              "reason":"weir-proxy is not connected; is it running?"}]})"));
  EXPECT_EQ(ask("/v1/connections/count?service=web"), json::parse(R"({"count":30})"));
  EXPECT_EQ(answer("GET", "/v1/connections/count?service=shop").status, 503u);
  // What was to be removed everywhere has not been.
  EXPECT_EQ(answer("POST", "/v1/connections/flush").status, 503u);
}

TEST_F(ProxyViews, ConnectionsOfNobodyAreNoAnswer) {
  EXPECT_EQ(answer("GET", "/v1/connections").status, 503u);
  // Refused is no answer either.
  connectEngine(R"({"error":"no such backend"})");
  EXPECT_EQ(answer("GET", "/v1/connections?backend=10.2.0.99").status, 503u);
}

TEST_F(ProxyViews, StatusSaysForHowLongAProgramRuns) {
  connectEngine("{}");
  const json plane = ask("/v1/status")["dataPlanes"][0];
  EXPECT_TRUE(plane["uptimeSec"].is_number_unsigned());
  EXPECT_LE(plane["connectedSec"], plane["uptimeSec"]);
}

TEST_F(ProxyViews, S6_DescribeAndStatusShowTheSameGroups) {
  const json groups = ask("/v1/backendServices/shop/health")["groups"];
  const json described = ask("/v1/backendServices/shop")["status"];
  EXPECT_EQ(described["groups"], groups);
  EXPECT_EQ(described["loadError"], kAway);
  const json status = ask("/v1/status");
  EXPECT_EQ(status["services"][1]["groups"], groups);
  EXPECT_EQ(status["proxyError"], kAway);
  EXPECT_EQ(status["absentPrograms"], json::array({"weir-engine", "weir-proxy"}));
  EXPECT_FALSE(status["services"][0].contains("groups"));
  EXPECT_FALSE(ask("/v1/backendServices/web")["status"].contains("loadError"));
}

TEST_F(ProxyViews, S6_LoadsComeFromTheProxysAnswer) {
  Json groups = proxyGroups(*managed_.manager.proxyPlane().view("shop", now()));
  addLoads(groups, "shop", Json::parse(R"({"services":[
    {"service":"other","groups":[{"group":"s","connections":1,"load":1}]},
    {"service":"shop","groups":[{"group":"s","connections":20,"load":20.0}]}]})"));
  EXPECT_EQ(groups[0]["connections"], 20);
  EXPECT_EQ(groups[0]["load"], 20.0);
  EXPECT_EQ(groups[0]["fill"], 0.4);
}

// The answer is another program's, perhaps of another version.
TEST_F(ProxyViews, AnswersThatAreNotAsExpectedAddNothing) {
  const Json before = proxyGroups(*managed_.manager.proxyPlane().view("shop", now()));
  for (const char* answer :
       {"null", "[]", "{}", R"({"services":1})", R"({"services":[1,{},{"service":7}]})",
        R"({"services":[{"service":"shop"}]})", R"({"services":[{"service":"shop","groups":{}}]})",
        R"({"services":[{"service":"shop","groups":[{"group":"s","load":"x"}]}]})"}) {
    Json groups = before;
    addLoads(groups, "shop", Json::parse(answer));
    EXPECT_EQ(groups, before) << answer;
  }
}

}  // namespace
}  // namespace weir::manager
