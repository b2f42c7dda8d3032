// SPDX-License-Identifier: GPL-2.0-or-later
//
// Resources through the API (C2): docs/api.md says what is tested here.
#include "edited_manager.h"

namespace weir::manager {
namespace {

using testing::HasSubstr;

const std::string kApply = R"({
  "healthChecks": [{"name": "hc", "tcpHealthCheck": {"port": 81}}],
  "networkEndpointGroups": [{"name": "g", "zone": "za",
                             "endpoints": [{"ipAddress": "10.2.0.1"}, {"ipAddress": "10.2.0.2"}]}],
  "backendServices": [{"name": "web", "healthChecks": ["hc"], "backends": [{"group": "g"}],
                       "connectionDraining": {"drainingTimeoutSec": 300}}],
  "forwardingRules": [{"name": "vip", "IPAddress": "10.9.9.9", "ports": [80], "backendService": "web"}]})";

class ApiEdit : public EditedManager {};

TEST_F(ApiEdit, CreateShowPatchReplaceDelete) {
  Json made = expect(200, "POST", "/v1/healthChecks", R"({"name":"hc","timeoutSec":3})");
  EXPECT_EQ(made["diagnostics"][0]["severity"], "hint");  // nothing uses it yet
  made.erase("diagnostics");
  EXPECT_EQ(made["changed"], true);
  made.erase("changed");
  EXPECT_EQ(made["name"], "hc");
  EXPECT_EQ(made["timeoutSec"], 3);
  EXPECT_EQ(made["kind"], "compute#healthCheck");
  EXPECT_EQ(made["status"]["file"], (config_.path() / "conf.d/weirctl.yaml").string());
  EXPECT_EQ(expect(200, "GET", "/v1/healthChecks/hc"), made);
  EXPECT_EQ(expect(200, "GET", "/v1/healthChecks")["items"].size(), 1u);

  const Json patched = expect(200, "PATCH", "/v1/healthChecks/hc",
                              R"({"timeoutSec":null,"healthyThreshold":3,"fingerprint":)" +
                                  made["fingerprint"].dump() + "}");
  EXPECT_FALSE(patched.contains("timeoutSec"));
  EXPECT_EQ(patched["healthyThreshold"], 3);
  EXPECT_NE(patched["fingerprint"], made["fingerprint"]);

  const Json replaced = expect(200, "PUT", "/v1/healthChecks/hc", R"({"timeoutSec":2})");
  EXPECT_FALSE(replaced.contains("healthyThreshold"));
  EXPECT_EQ(expect(200, "DELETE", "/v1/healthChecks/hc"), Json::object());
  expect(404, "GET", "/v1/healthChecks/hc");
}

TEST_F(ApiEdit, IsInEffectAtOnceAndSurvivesAReload) {
  const Json applied = expect(200, "POST", "/v1/apply", kApply);
  EXPECT_EQ(applied["changed"], true);
  EXPECT_EQ(applied["created"].size(), 4u);
  EXPECT_EQ(manager_.controlPlane().configuration().services.at(0).name, "web");
  EXPECT_EQ(expect(200, "POST", "/v1/reload")["changed"], false);
  EXPECT_EQ(expect(200, "POST", "/v1/apply", kApply)["changed"], false);
}

TEST_F(ApiEdit, AServiceHasItsStateBesideItsConfiguration) {
  expect(200, "POST", "/v1/apply", kApply);
  const Json item = expect(200, "GET", "/v1/backendServices")["items"][0];
  EXPECT_EQ(item["backends"][0]["group"], "g");
  EXPECT_EQ(item["status"]["total"], 2);
  EXPECT_EQ(item["status"]["forwardingRules"][0], "vip");
  EXPECT_FALSE(item["status"].contains("backends"));
  const Json service = expect(200, "GET", "/v1/backendServices/web");
  EXPECT_EQ(service["status"]["backends"].size(), 2u);
  // What GET gave can be sent back, and is no change.
  const std::string before = read("conf.d/weirctl.yaml");
  expect(200, "PUT", "/v1/backendServices/web", service.dump());
  EXPECT_EQ(read("conf.d/weirctl.yaml"), before);
}

TEST_F(ApiEdit, ExportIsAConfigurationAgain) {
  expect(200, "POST", "/v1/apply", kApply);
  const Json exported = expect(200, "GET", "/v1/export");
  EXPECT_FALSE(exported.contains("zones"));
  const Json whole = expect(200, "GET", "/v1/export?node=true");
  EXPECT_EQ(whole["location"]["zone"], "za");
  // JSON is YAML: the export as a file is the same configuration.
  const config::Loaded loaded = config::load({"weir.yaml", whole.dump()}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.diagnostics.at(0).toString();
  EXPECT_EQ(loaded.configuration, manager_.controlPlane().configuration());
  EXPECT_EQ(expect(200, "POST", "/v1/apply", exported.dump())["changed"], false);
}

TEST_F(ApiEdit, YamlIsTakenAsWellWithItsPlacesInErrors) {
  expect(200, "POST", "/v1/apply",
         "kind: compute#healthCheck\nname: hc\n---\nhealthChecks: [{name: b}]\n",
         "application/yaml");
  const Json refused =
      expect(400, "POST", "/v1/apply?name=web.yaml",
             "healthChecks:\n  - name: c\n    timeoutSec: x\n", "application/yaml");
  EXPECT_EQ(refused["diagnostics"][0]["file"], "web.yaml");
  EXPECT_EQ(refused["diagnostics"][0]["line"], 3);
  EXPECT_THAT(message(refused), HasSubstr("web.yaml:3: timeoutSec must be a whole number"));
  expect(400, "POST", "/v1/apply", "a: [", "application/yaml");
}

TEST_F(ApiEdit, ErrorsNameResourceAndField) {
  const Json refused = expect(400, "POST", "/v1/healthChecks",
                              R"({"name":"hc","tcpHealthCheck":{"port":0},"timoutSec":1})");
  ASSERT_EQ(refused["diagnostics"].size(), 2u);
  EXPECT_EQ(refused["diagnostics"][0]["path"], "tcpHealthCheck.port");
  EXPECT_EQ(refused["diagnostics"][1]["path"], "timoutSec");
  EXPECT_EQ(refused["diagnostics"][0]["collection"], "healthChecks");
  EXPECT_EQ(refused["diagnostics"][0]["name"], "hc");
  EXPECT_THAT(message(refused), HasSubstr("healthChecks/hc: port must be a whole number"));
  EXPECT_FALSE(std::filesystem::exists(config_.path() / "conf.d/weirctl.yaml"));
}

TEST_F(ApiEdit, ConflictsAre409StaleFingerprints412) {
  put("conf.d/web.yaml", "healthChecks:\n  - name: mine\n");
  expect(200, "POST", "/v1/apply", kApply);
  EXPECT_THAT(message(expect(409, "POST", "/v1/healthChecks", R"({"name":"hc"})")),
              HasSubstr("exists already"));
  EXPECT_THAT(message(expect(409, "DELETE", "/v1/healthChecks/hc")),
              HasSubstr("still used by backendServices/web"));
  EXPECT_THAT(message(expect(409, "PATCH", "/v1/healthChecks/mine", R"({"timeoutSec":1})")),
              HasSubstr("web.yaml line 2; change it there"));
  expect(412, "PATCH", "/v1/healthChecks/hc",
         R"({"timeoutSec":1,"fingerprint":"0000000000000000"})");
  expect(404, "DELETE", "/v1/healthChecks/none");
  EXPECT_EQ(expect(200, "GET", "/v1/healthChecks/mine")["status"]["line"], 2);
}

TEST_F(ApiEdit, ErrorsOfFilesOnTheDiskAre422) {
  start();
  put("conf.d/web.yaml", "healthChecks: [{name: 5}]\n");
  const Json refused = expect(422, "POST", "/v1/healthChecks", R"({"name":"hc"})");
  EXPECT_THAT(refused["diagnostics"][0]["file"].get<std::string>(), HasSubstr("web.yaml"));
  EXPECT_TRUE(manager_.controlPlane().configuration().healthChecks.empty());
}

TEST_F(ApiEdit, WhatCannotChangeWhileWeirRunsRefusesTheEditBeforeItIsWritten) {
  start();
  put("weir.yaml", "queues: 4\n");
  EXPECT_THAT(message(expect(409, "POST", "/v1/healthChecks", R"({"name":"hc"})")),
              HasSubstr("queues cannot change while weir runs"));
  EXPECT_FALSE(std::filesystem::exists(config_.path() / "conf.d/weirctl.yaml"));
}

TEST_F(ApiEdit, WhatCannotBeWrittenIsNotApplied) {
  start();
  std::filesystem::remove(config_.path() / "conf.d");
  put("conf.d", "a file where the directory should be");
  const HttpResponse response = ask("POST", "/v1/healthChecks", R"({"name":"hc"})");
  EXPECT_THAT(response.status, testing::AnyOf(422u, 500u)) << response.body;
  EXPECT_TRUE(manager_.controlPlane().configuration().healthChecks.empty());
}

TEST_F(ApiEdit, C1_TheFirstCommandMakesTheDirectory) {
  std::filesystem::remove(config_.path() / "conf.d");
  expect(200, "POST", "/v1/healthChecks", R"({"name":"hc"})");
  EXPECT_TRUE(std::filesystem::exists(config_.path() / "conf.d/weirctl.yaml"));
}

TEST_F(ApiEdit, AFingerprintOfNullIsNone) {
  expect(200, "POST", "/v1/healthChecks", R"({"name":"hc"})");
  expect(200, "PATCH", "/v1/healthChecks/hc", R"({"timeoutSec":1,"fingerprint":null})");
}

TEST_F(ApiEdit, ADryRunTellsTheSameAndDoesNothing) {
  const Json applied = expect(200, "POST", "/v1/apply?dryRun=true", kApply);
  EXPECT_EQ(applied["created"].size(), 4u);
  EXPECT_EQ(expect(200, "POST", "/v1/healthChecks?dryRun=true", R"({"name":"hc"})")["name"], "hc");
  EXPECT_TRUE(manager_.controlPlane().configuration().services.empty());
  EXPECT_FALSE(std::filesystem::exists(config_.path() / "conf.d/weirctl.yaml"));
  expect(400, "POST", "/v1/apply?dryRun=yes", kApply);
  expect(400, "POST", "/v1/apply?dry-run=true", kApply);
}

TEST_F(ApiEdit, HintsComeWithTheResource) {
  const Json made = expect(200, "POST", "/v1/apply", R"({"healthChecks":[{"name":"hc"}],
      "networkEndpointGroups":[{"name":"g"}]})");
  for (const Json& diagnostic : made["diagnostics"]) {
    EXPECT_NE(diagnostic["severity"], "error");
    EXPECT_FALSE(diagnostic["collection"].get<std::string>().empty());
  }
}

TEST_F(ApiEdit, P7_1_AnEndpointTakenOutByPatchDrains) {
  expect(200, "POST", "/v1/apply", kApply);
  expect(200, "PATCH", "/v1/networkEndpointGroups/g",
         R"({"endpoints":[{"ipAddress":"10.2.0.1"}]})");
  const Json health = expect(200, "GET", "/v1/backendServices/web/health");
  bool drains = false;
  for (const Json& backend : health["healthStatus"])
    if (backend["endpoint"] == "10.2.0.2") drains = backend["healthState"] == "DRAINING";
  EXPECT_TRUE(drains) << health;
}

TEST_F(ApiEdit, MethodsAndPaths) {
  const HttpResponse refused = ask("PUT", "/v1/healthChecks");
  EXPECT_EQ(refused.status, 405u);
  EXPECT_EQ(refused.allow, "GET, HEAD, POST, OPTIONS");
  const HttpResponse options = ask("OPTIONS", "/v1/healthChecks/x");
  EXPECT_EQ(options.status, 204u);
  EXPECT_EQ(options.allow, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS");
  EXPECT_EQ(options.body, "");
  EXPECT_EQ(ask("HEAD", "/v1/healthChecks").status, 200u);
  EXPECT_THAT(message(expect(404, "GET", "/v1/healthCheks")),
              HasSubstr("did you mean 'healthChecks'"));
  expect(415, "POST", "/v1/healthChecks", "name=hc", "application/x-www-form-urlencoded");
  expect(400, "POST", "/v1/healthChecks");
  expect(400, "DELETE", "/v1/healthChecks/hc", "{}");
  expect(400, "GET", "/v1/healthChecks?nmae=x");
}

TEST_F(ApiEdit, UnknownParametersAreRefusedEverywhere) {
  expect(200, "POST", "/v1/apply", kApply);
  for (const auto& [method, path, body] : std::vector<std::array<std::string, 3>>{
           {"GET", "/v1/status", ""},
           {"GET", "/v1/backendServices/web/health", ""},
           {"POST", "/v1/backendServices/web/drain", R"({"endpoint":"10.2.0.1"})"},
           {"POST", "/v1/backendServices/web/undrain", R"({"endpoint":"10.2.0.1"})"},
           {"GET", "/v1/connections", ""},
           {"GET", "/v1/connections/count", ""},
           {"POST", "/v1/connections/flush", "{}"},
           {"POST", "/v1/explain", R"({"src":"10.0.0.1","dst":"10.9.9.9"})"},
           {"POST", "/v1/reload", ""},
           {"POST", "/v1/apply", kApply},
           {"GET", "/v1/export", ""},
           {"POST", "/v1/diff", kApply},
           {"GET", "/v1/healthChecks", ""},
           {"GET", "/v1/backendServices/web", ""},
           {"DELETE", "/v1/backendServices/web", ""}})
    EXPECT_THAT(message(expect(400, method, path + "?x=1", body)),
                HasSubstr("unknown parameter 'x'"))
        << method << ' ' << path;
}

TEST_F(ApiEdit, UnknownMembersOfCommandsAreRefused) {
  expect(200, "POST", "/v1/apply", kApply);
  for (const auto& [path, body] : std::map<std::string, std::string>{
           {"/v1/backendServices/web/drain", R"({"endpoint":"10.2.0.1","timeout":5})"},
           {"/v1/backendServices/web/undrain", R"({"endpoint":"10.2.0.1","timeoutSec":5})"},
           {"/v1/explain", R"({"src":"10.0.0.1","dst":"10.9.9.9","port":80})"},
           {"/v1/reload", R"({"force":true})"}})
    EXPECT_THAT(message(expect(400, "POST", path, body)), HasSubstr("unknown member '")) << path;
}

TEST_F(ApiEdit, ViewersMayLookOnly) {
  expect(200, "POST", "/v1/apply", kApply);
  const auto view = [&](const std::string& method, const std::string& target,
                        const std::string& body = "") {
    return ask(method, target, body, "application/json", Access::view).status;
  };
  for (const char* path : {"/v1/status", "/v1/backendServices", "/v1/backendServices/web",
                           "/v1/backendServices/web/health", "/v1/export"})
    EXPECT_EQ(view("GET", path), 200u) << path;
  EXPECT_EQ(view("POST", "/v1/diff"), 200u);
  EXPECT_EQ(view("POST", "/v1/explain", "{}"), 503u);  // asked of the engine
  EXPECT_EQ(view("POST", "/v1/reload"), 403u);
  EXPECT_EQ(view("POST", "/v1/apply", kApply), 403u);
  EXPECT_EQ(view("POST", "/v1/apply?dryRun=true", kApply), 403u);
  EXPECT_EQ(view("POST", "/v1/connections/flush", "{}"), 403u);
  EXPECT_EQ(view("POST", "/v1/backendServices/web/drain", "{}"), 403u);
  for (const char* method : {"PUT", "PATCH", "DELETE"})
    EXPECT_EQ(view(method, "/v1/healthChecks/hc", "{}"), 403u) << method;
}

}  // namespace
}  // namespace weir::manager
