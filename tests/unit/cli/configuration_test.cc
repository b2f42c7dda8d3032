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
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "healthChecks:\n  - name: hc\n");
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
            "    endpoints[10.2.0.12]: {\"ipAddress\":\"10.2.0.12\"} -> the default\n"
            "    endpoint 10.2.0.12 of g starts draining (300 s)\n"
            "\n"
            "Traffic\n"
            "  web: 33.4% of new connections move, 7 tracked connections end\n"
            "  dns: 0.0% of new connections move, an unknown number of tracked connections end\n"
            "\n"
            "A reload would be refused: queues cannot change\n");
  EXPECT_EQ(weirctl({"diff", "--exit-code"}), 1);
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
