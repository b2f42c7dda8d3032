// SPDX-License-Identifier: GPL-2.0-or-later
//
// The API's answers, without a socket.
#include "manager/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "managed.h"

namespace weir::manager {
namespace {

using nlohmann::json;

class Api : public testing::Test {
 protected:
  Api() { managed_.start(); }

  HttpResponse ask(const std::string& method, const std::string& target,
                   const std::string& body = "") {
    const auto parsed = parseTarget(target);
    std::optional<HttpResponse> response;
    handler_({method, parsed->path, parsed->query, body, "application/json", Access::full},
             [&](HttpResponse r) { response = std::move(r); });
    runUntil(managed_.io, [&] { return response.has_value(); });
    return *response;
  }
  static std::string message(const HttpResponse& response) {
    return json::parse(response.body)["error"]["message"];
  }

  Managed managed_{webConfiguration(1)};
  HttpHandler handler_ = apiHandler(managed_.manager);
};

TEST_F(Api, StatusShowsServicesAlsoWithoutAnEngine) {
  const auto response = ask("GET", "/v1/status");
  ASSERT_EQ(response.status, 200u);
  const json body = json::parse(response.body);
  EXPECT_EQ(body["manager"]["pid"], ::getpid());
  EXPECT_EQ(body["services"][0]["name"], "web");
  EXPECT_EQ(body["services"][0]["total"], 2);
  EXPECT_EQ(body["services"][0]["rule"], "P2.2");
  EXPECT_EQ(body["absentPrograms"], json::array({"weir-engine"}));
  EXPECT_EQ(body["engineError"], "weir-engine is not connected; is it running?");
}

TEST_F(Api, ServicesAndTheirHealth) {
  EXPECT_EQ(json::parse(ask("GET", "/v1/backendServices").body)["items"].size(), 1u);
  const json service = json::parse(ask("GET", "/v1/backendServices/web").body);
  EXPECT_EQ(service["status"]["forwardingRules"][0], "web-vip");
  EXPECT_EQ(service["status"]["backends"].size(), 2u);
  const json health = json::parse(ask("GET", "/v1/backendServices/web/health").body);
  EXPECT_EQ(health["healthStatus"][0]["healthState"], "UNKNOWN");
  EXPECT_EQ(health["healthStatus"][0]["endpoint"], "127.0.0.1");
}

TEST_F(Api, UnknownNamesAndPathsAre404) {
  for (const char* path : {"/", "/v1", "/v1/nothing", "/v2/status", "/v1/status/more"})
    EXPECT_EQ(ask("GET", path).status, 404u) << path;
  const auto response = ask("GET", "/v1/backendServices/none/health");
  EXPECT_EQ(response.status, 404u);
  EXPECT_THAT(message(response), testing::HasSubstr("'none'"));
}

TEST_F(Api, AnotherMethodIs405) {
  EXPECT_EQ(ask("POST", "/v1/status").status, 405u);
  EXPECT_EQ(ask("GET", "/v1/reload").status, 405u);
  EXPECT_EQ(ask("DELETE", "/v1/backendServices").status, 405u);
}

TEST_F(Api, P7_1_DrainAndUndrain) {
  const std::string path = "/v1/backendServices/web/drain";
  // The service's draining timeout, unless given.
  EXPECT_EQ(json::parse(ask("POST", path, R"({"endpoint":"127.0.0.2"})").body)["timeoutSec"], 300);
  const json answer =
      json::parse(ask("POST", path, R"({"endpoint":"127.0.0.1","timeoutSec":60})").body);
  EXPECT_EQ(answer["timeoutSec"], 60);
  EXPECT_THAT(answer["endsAt"].get<std::string>(), testing::EndsWith("Z"));
  const json health = json::parse(ask("GET", "/v1/backendServices/web/health").body);
  EXPECT_EQ(health["healthStatus"][0]["healthState"], "DRAINING");
  EXPECT_LE(health["healthStatus"][0]["drainingSecLeft"], 60);
  EXPECT_EQ(ask("POST", "/v1/backendServices/web/undrain", R"({"endpoint":"127.0.0.1"})").status,
            200u);
  EXPECT_EQ(ask("POST", "/v1/backendServices/web/undrain", R"({"endpoint":"127.0.0.1"})").status,
            409u);
}

TEST_F(Api, P7_1_ADrainThatHasEndedSaysSinceWhen) {
  const std::string path = "/v1/backendServices/web/drain";
  const auto first = [&] {
    return json::parse(ask("GET", "/v1/backendServices/web/health").body)["healthStatus"][0];
  };
  EXPECT_EQ(ask("POST", path, R"({"endpoint":"127.0.0.1","timeoutSec":0})").status, 200u);
  EXPECT_EQ(first()["healthState"], "DRAINING");
  EXPECT_TRUE(first().contains("drainedSec"));
  EXPECT_FALSE(first().contains("drainingSecLeft"));
  // Nothing is left that another 60 s would be for.
  EXPECT_EQ(ask("POST", path, R"({"endpoint":"127.0.0.1","timeoutSec":60})").status, 200u);
  EXPECT_TRUE(first().contains("drainedSec"));
}

TEST_F(Api, P7_1_DrainingABackendThatIsNotThereIs404) {
  for (const char* what : {"drain", "undrain"}) {
    const auto response =
        ask("POST", std::string("/v1/backendServices/web/") + what, R"({"endpoint":"192.0.2.99"})");
    EXPECT_EQ(response.status, 404u) << what;
    EXPECT_EQ(message(response),
              "backend service 'web' has no backend '192.0.2.99'; weirctl backend-services "
              "get-health web shows all");
  }
}

TEST_F(Api, WhatIsNotUnderstoodIs400) {
  const std::string path = "/v1/backendServices/web/drain";
  for (const char* body : {"", "[]", "{", "null", "{}", R"({"endpoint":5})", R"({"endpoint":""})",
                           R"({"endpoint":"127.0.0.1","timeoutSec":-1})",
                           R"({"endpoint":"127.0.0.1","timeoutSec":1.5})",
                           R"({"endpoint":"127.0.0.1","timeoutSec":3601})",
                           R"({"endpoint":"127.0.0.1","timeoutSec":"5"})"})
    EXPECT_EQ(ask("POST", path, body).status, 400u) << body;
  EXPECT_EQ(ask("GET", "/v1/connections/count?serice=web").status, 400u);
  EXPECT_EQ(ask("GET", "/v1/connections?limit=many").status, 400u);
  EXPECT_EQ(ask("POST", "/v1/connections/flush", R"({"all":true})").status, 400u);
  // What is empty by mistake must not mean all.
  for (const char* body : {R"({"service":""})", R"({"client":null})", R"({"backend":1})"})
    EXPECT_EQ(ask("POST", "/v1/connections/flush", body).status, 400u) << body;
  EXPECT_EQ(ask("GET", "/v1/connections/count?service=").status, 400u);
}

TEST_F(Api, WithoutTheEngineItsQuestionsAre503) {
  EXPECT_EQ(ask("GET", "/v1/connections/count?service=web").status, 503u);
  EXPECT_EQ(ask("POST", "/v1/connections/flush", "{}").status, 503u);
  EXPECT_EQ(ask("POST", "/v1/explain", R"({"src":"10.0.0.1","dst":"10.9.9.9"})").status, 503u);
}

TEST_F(Api, C1_ARefusedReloadReturnsItsDiagnostics) {
  managed_.loaded.diagnostics.push_back(
      {.file = "a.yaml", .line = 3, .column = 7, .message = "bad", .sourceLine = {}});
  const auto response = ask("POST", "/v1/reload");
  EXPECT_EQ(response.status, 422u);
  const json body = json::parse(response.body);
  EXPECT_EQ(body["diagnostics"][0]["line"], 3);
  EXPECT_EQ(body["diagnostics"][0]["severity"], "error");
  managed_.loaded.diagnostics.clear();
  EXPECT_EQ(json::parse(ask("POST", "/v1/reload").body)["changed"], false);
  managed_.loaded.configuration.groups[0].endpoints.pop_back();
  EXPECT_EQ(json::parse(ask("POST", "/v1/reload").body)["changed"], true);
}

}  // namespace
}  // namespace weir::manager
