// SPDX-License-Identifier: GPL-2.0-or-later
#include <fstream>

#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;

class ConfigurationCommands : public Weirctl {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const auto path = directory_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
};

TEST_F(ConfigurationCommands, C1_CheckTells1ForAnError) {
  const auto bad = file("bad.yaml", "backendServices: [{name: web, nonsense: 1}]\n");
  EXPECT_EQ(weirctl({"check", bad}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("nonsense"));
  const auto good = file("good.yaml", "healthChecks: [{name: hc}]\n");
  EXPECT_EQ(weirctl({"check", good}), 0);
}

TEST_F(ConfigurationCommands, CheckTakesTheDirectoryAsTheManagerDoes) {
  const auto root = directory_.path() / "own";
  file("own/conf.d/a.yaml", "healthChecks: [{name: hc, porto: 1}]\n");
  EXPECT_EQ(weirctl({"check", "--config-dir", root.string()}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("own/conf.d/a.yaml:1:"));
  EXPECT_EQ(weirctl({"check", root.string(), "--config-dir", root.string()}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("give one of them"));
}

TEST_F(ConfigurationCommands, CheckForPrograms) {
  const auto bad = file("bad.yaml", "backendServices:\n- {name: web, nonsense: 1}\n");
  EXPECT_EQ(weirctl({"check", bad, "--format=json"}), 1);
  const auto result = nlohmann::json::parse(out_.str());
  EXPECT_EQ(result["valid"], false);
  EXPECT_EQ(result["diagnostics"][0]["severity"], "error");
  EXPECT_EQ(result["diagnostics"][0]["file"], bad);
  EXPECT_EQ(result["diagnostics"][0]["line"], 2);
  EXPECT_EQ(result["diagnostics"][0]["column"], 15);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(weirctl({"check", file("good.yaml", "healthChecks: [{name: hc}]\n"), "--format=json"}),
            0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["resources"]["healthChecks"], 1);
}

TEST_F(ConfigurationCommands, ApplySendsTheTextSoThatPlacesInItAreRight) {
  manager_.say("POST /v1/apply?name=%28input%29", 200,
               R"({"changed":true,"created":["healthChecks/hc"],"replaced":["routes/r"],
                   "unchanged":["routes/s"],"diagnostics":[{"text":"hint: x"}]})");
  EXPECT_EQ(weirctl({"apply", "-f", "-"}, "healthChecks: [{name: hc}]\n---\nroutes: []\n"), 0);
  EXPECT_EQ(manager_.last().contentType, "application/yaml");
  EXPECT_EQ(manager_.last().body, "healthChecks: [{name: hc}]\n---\nroutes: []\n");
  EXPECT_EQ(out_.str(), "created   healthChecks/hc\nreplaced  routes/r\nunchanged 1\n");
  EXPECT_EQ(err_.str(), "hint: x\n");
}

TEST_F(ConfigurationCommands, DryRunsAndImport) {
  const auto path = file("x.yaml", "routes: []\n");
  EXPECT_EQ(weirctl({"import", "-f", path, "--dry-run"}), 0);
  EXPECT_THAT(manager_.last().line(), HasSubstr("POST /v1/apply?dryRun=true&name="));
  EXPECT_EQ(out_.str(), "Nothing is done; this would be:\nunchanged 0\n");
  EXPECT_EQ(weirctl({"apply", "-f", "/no/such/file"}), 1);
}

TEST_F(ConfigurationCommands, ExportToOutputOrFile) {
  manager_.say("GET /v1/export", 200, R"({"healthChecks":[{"name":"hc"}]})");
  manager_.say("GET /v1/export?node=true", 200, R"({"queues":4})");
  EXPECT_EQ(weirctl({"export"}), 0);
  EXPECT_EQ(out_.str(), "healthChecks:\n  - name: hc\n");
  EXPECT_EQ(weirctl({"export", "--format=json", "--node"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["queues"], 4);
  const auto path = (directory_.path() / "all.yaml").string();
  EXPECT_EQ(weirctl({"export", "-f", path}), 0);
  EXPECT_EQ(out_.str(), "");
  const auto inFile = [&] {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(inFile(), "healthChecks:\n  - name: hc\n");
  std::filesystem::remove(path);
  EXPECT_EQ(weirctl({"export", "--destination", path}), 0);
  EXPECT_EQ(inFile(), "healthChecks:\n  - name: hc\n");
  EXPECT_EQ(weirctl({"export", "--destination", path, "-f", path}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("give one of them"));
}

constexpr const char* kDifference = R"json({"changed":true,"refusal":"queues cannot change",
  "resources":[{"collection":"routes","name":"r","change":"removed"},
    {"collection":"networkEndpointGroups","name":"g","change":"changed",
     "fields":[{"path":"endpoints[10.2.0.12]","old":{"ipAddress":"10.2.0.12"},"new":null}],
     "effects":["endpoint 10.2.0.12 of g starts draining (300 s)"]
}],
  "services":[{"name":"web","newConnectionsMoved":0.334,"entriesRemoved":7,"effects":[]},
    {"name":"dns","newConnectionsMoved":0,"entriesRemoved":null,"effects":[]}]
})json";

TEST_F(ConfigurationCommands, DiffShowsWhatAReloadWouldDo) {
  manager_.say("POST /v1/diff", 200, kDifference);
  EXPECT_EQ(weirctl({"diff"}), 0);
  EXPECT_EQ(manager_.last().body, "");
  EXPECT_EQ(out_.str(),
            "- routes/r removed\n"
            "~ networkEndpointGroups/g changed\n"
            "    endpoints\n"
            "      - {\"ipAddress\":\"10.2.0.12\"}\n"
            "    endpoint 10.2.0.12 of g starts draining (300 s)\n"
            "\n"
            "Traffic\n"
            "  web: 33.4% of new connections move, 7 tracked connections end\n"
            "  dns: 0.0% of new connections move, an unknown number of tracked connections end\n"
            "\n"
            "A reload would be refused: queues cannot change\n");
  EXPECT_EQ(weirctl({"diff", "--exit-code"}), 1);
}

TEST_F(ConfigurationCommands, DiffNamesAListOnceAndTellsADefaultFromNothing) {
  manager_.say("POST /v1/diff", 200, R"json({"changed":true,"resources":[
    {"collection":"forwardingRules","name":"vip","change":"changed","effects":[],"fields":[
      {"path":"ports[443]","old":443,"new":null},{"path":"ports[8080]","old":null,"new":8080},
      {"path":"description","old":"x","new":null}]},
    {"collection":"backendServices","name":"web","change":"changed","effects":[],"fields":[
      {"path":"sessionAffinity","old":"CLIENT_IP","new":null},
      {"path":"connectionDraining.drainingTimeoutSec","old":300,"new":null},
      {"path":"backends[g].failover","old":true,"new":null},
      {"path":"healthChecks","old":null,"new":["hc"]},
      {"path":"backends[[fd02::1]:80]","old":null,"new":{"port":80}}]}],
  "services":[]})json");
  EXPECT_EQ(weirctl({"diff"}), 0);
  EXPECT_EQ(out_.str(),
            "~ forwardingRules/vip changed\n"
            "    ports\n"
            "      - 443\n"
            "      + 8080\n"
            "    description: \"x\" -> nothing\n"
            "~ backendServices/web changed\n"
            "    sessionAffinity: \"CLIENT_IP\" -> the default\n"
            "    connectionDraining.drainingTimeoutSec: 300 -> the default\n"
            "    backends[g].failover: true -> the default\n"
            "    healthChecks\n"
            "      + \"hc\"\n"
            "    backends\n"
            "      + {\"port\":80}\n"
            "\nNo connection would move.\n");
}

TEST_F(ConfigurationCommands, DiffSaysNothingTwiceAndANewServiceIsNew) {
  manager_.say("POST /v1/diff", 200, R"json({"changed":true,"resources":[
    {"collection":"backendServices","name":"new","change":"added","effects":["the service is new"]},
    {"collection":"backendServices","name":"old","change":"removed","effects":["it is gone"]},
    {"collection":"networkEndpointGroups","name":"g","change":"changed","fields":[],
     "effects":["endpoint e of g joins"]}],
  "services":[
    {"name":"dns","newConnectionsMoved":0.5,"entriesRemoved":0,
     "effects":["endpoint e of g joins","it is gone"]},
    {"name":"new","newConnectionsMoved":0,"entriesRemoved":0,"effects":["the service is new"]},
    {"name":"old","newConnectionsMoved":1,"entriesRemoved":3,"effects":["it is gone"]}]})json");
  EXPECT_EQ(weirctl({"diff"}), 0);
  EXPECT_THAT(out_.str(), testing::EndsWith("\nTraffic\n"
                                            "  dns: 50.0% of new connections move, 0 tracked "
                                            "connections end\n"
                                            "    it is gone\n"
                                            "  new: new, no connection moves\n"
                                            "  old: removed, 3 tracked connections end\n"));
}

TEST_F(ConfigurationCommands, DiffWithoutADifference) {
  manager_.say("POST /v1/diff", 200, R"({"changed":false})");
  EXPECT_EQ(weirctl({"diff", "--exit-code"}), 0);
  EXPECT_EQ(out_.str(), "No difference: a reload would do nothing.\n");
}

TEST_F(ConfigurationCommands, DiffReadsADirectoryItself) {
  const auto root = (directory_.path() / "new").string();
  file("new/weir.yaml", "queues: 4\n");
  file("new/conf.d/b.yaml", "healthChecks: [{name: b}]\n");
  file("new/conf.d/a.yaml", "---\nhealthChecks: [{name: a, timeoutSec: 2}]\n");
  EXPECT_EQ(weirctl({"diff", root}), 0) << err_.str();
  EXPECT_EQ(manager_.last().contentType, "application/yaml");
  EXPECT_EQ(manager_.last().body,
            "queues: 4\nhealthChecks:\n  - name: a\n    timeoutSec: 2\n  - name: b\n");
  file("new/conf.d/b.yaml", "healthChecks: [{name: b, porto: 1}]\n");
  EXPECT_EQ(weirctl({"diff", root}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("b.yaml:1:"));
  EXPECT_THAT(err_.str(), HasSubstr("nothing was compared"));
  EXPECT_EQ(manager_.asked().size(), 1u);
}

TEST_F(ConfigurationCommands, ARefusedReloadShowsWhatIsWrong) {
  manager_.say("POST /v1/reload", 422,
               R"({"error":{"message":"refused"},
                   "diagnostics":[{"text":"a.yaml:3:7: error: bad"}]})");
  EXPECT_EQ(weirctl({"reload"}), 1);
  EXPECT_EQ(err_.str(), "a.yaml:3:7: error: bad\nweirctl: refused\n");
}

}  // namespace
}  // namespace weir::cli
