// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/completion.h"

#include <cstdio>
#include <fstream>

#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class Completion : public Weirctl {
 protected:
  Completion() {
    manager_.say("GET /v1/backendServices", 200, R"({"items":[{"name":"dns"},{"name":"web"}]})");
    manager_.say("GET /v1/backendServices/web/health", 200,
                 R"({"healthStatus":[{"endpoint":"10.2.0.11"},{"endpoint":"[fd00::1]:80"}]})");
  }

  std::vector<std::string> complete(std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "--"});
    EXPECT_EQ(weirctl(words), 0) << err_.str();
    EXPECT_EQ(err_.str(), "");
    return split(out_.str());
  }
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) found.push_back(line);
    return found;
  }

  // What a shell offers: it runs `program`, which loads the real weirctl's script.
  std::vector<std::string> shell(const std::string& interpreter, const std::string& program) {
    const auto bin = directory_.path() / "weirctl";
    std::ofstream(bin) << "#!/bin/sh\nexec " WEIRCTL " --run-dir " << directory_.path().string()
                       << " \"$@\"\n";
    std::filesystem::permissions(bin, std::filesystem::perms::owner_all);
    const auto script = directory_.path() / "program";
    std::ofstream(script) << "PATH=" << directory_.path().string() << ":$PATH\n" << program;
    FILE* pipe = ::popen((interpreter + " " + script.string() + " 2>&1").c_str(), "r");
    std::string text;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      text.append(buffer, n);
    EXPECT_EQ(::pclose(pipe), 0) << text;
    return split(text);
  }
  // As bash calls it: the line, and the words as bash splits them.
  std::vector<std::string> bash(const std::string& line, const std::string& words) {
    return shell("bash --norc --noprofile",
                 "source <(weirctl completion bash)\nCOMP_LINE='" + line +
                     "'\nCOMP_POINT=" + std::to_string(line.size()) + "\nCOMP_WORDS=(" + words +
                     ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_weirctl\n"
                     "((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"\ntrue\n");
  }
  std::vector<std::string> zsh(const std::string& words) {
    return shell("zsh -f",
                 "compdef() { : }\ncompadd() { shift; print -rl -- \"$@\" }\n"
                 "_files() { print files }\ncompset() { : }\n"
                 "source <(weirctl completion zsh)\nwords=(" +
                     words + ")\nCURRENT=${#words}\n_weirctl\ntrue\n");
  }
};

TEST_F(Completion, Commands) {
  EXPECT_THAT(complete({"back"}), ElementsAre("backend-services"));
  EXPECT_THAT(complete({"health-checks", "create", "grpc"}), ElementsAre("grpc", "grpc-with-tls"));
  EXPECT_THAT(complete({""}), Contains("explain"));
  EXPECT_THAT(complete({""}), Not(Contains("__complete")));
  EXPECT_THAT(complete({"--format", "json", "con"}), ElementsAre("connections"));
}

TEST_F(Completion, FlagsAndTheirValues) {
  EXPECT_THAT(complete({"backend-services", "create", "web", "--zonal"}),
              ElementsAre("--zonal-affinity-spillover", "--zonal-affinity-spillover-ratio"));
  EXPECT_THAT(complete({"backend-services", "create", "web", "--no-dr"}),
              ElementsAre("--no-drop-traffic-if-unhealthy"));
  EXPECT_THAT(complete({"backend-services", "create", "web", "--cache"}), IsEmpty());
  EXPECT_THAT(complete({"backend-services", "create", "web", "--tracking-mode", ""}),
              ElementsAre("PER_CONNECTION", "PER_SESSION"));
  EXPECT_THAT(complete({"backend-services", "create", "web", "--tracking-mode=PER_S"}),
              ElementsAre("--tracking-mode=PER_SESSION"));
  EXPECT_THAT(complete({"status", "--for"}), ElementsAre("--format"));
}

TEST_F(Completion, NamesThatTheManagerKnows) {
  EXPECT_THAT(complete({"backend-services", "describe", ""}), ElementsAre("dns", "web"));
  EXPECT_THAT(complete({"routes", "create", ""}), IsEmpty());
  EXPECT_THAT(complete({"forwarding-rules", "create", "x", "--backend-service=w"}),
              ElementsAre("--backend-service=web"));
  EXPECT_THAT(complete({"drain", "web", "10"}), ElementsAre("10.2.0.11"));
  EXPECT_THAT(complete({"connections", "flush", "--service", "web", "--backend", "["}),
              ElementsAre("[fd00::1]:80"));
}

TEST_F(Completion, AnAbsentManagerIsNoError) {
  test::TemporaryDirectory empty;
  std::istringstream in;
  EXPECT_EQ(run({"--run-dir", empty.path().string(), "__complete", "--", "drain", ""},
                {.in = in, .out = out_, .err = err_}),
            0);
  EXPECT_EQ(out_.str() + err_.str(), "");
}

TEST_F(Completion, BashCompletesWordsFlagsAndValues) {
  EXPECT_THAT(bash("weirctl back", "weirctl back"), ElementsAre("backend-services"));
  EXPECT_THAT(bash("weirctl drain ", "weirctl drain ''"), ElementsAre("dns", "web"));
  // bash splits at = and at :, and keeps what stands in front of the last piece.
  EXPECT_THAT(bash("weirctl status --format=j", "weirctl status --format = j"),
              ElementsAre("json"));
  EXPECT_THAT(bash("weirctl status --format=", "weirctl status --format ="),
              ElementsAre("table", "json", "yaml"));
  EXPECT_THAT(bash("weirctl drain web [fd00:", "weirctl drain web '[fd00' ':'"),
              ElementsAre(":1]:80"));
}

TEST_F(Completion, BashCompletesFiles) {
  std::ofstream(directory_.path() / "resources.yaml") << "";
  const std::string begun = (directory_.path() / "reso").string();
  EXPECT_THAT(bash("weirctl apply -f " + begun, "weirctl apply -f " + begun),
              ElementsAre((directory_.path() / "resources.yaml").string()));
}

TEST_F(Completion, ZshCompletesWordsNamesAndFiles) {
  EXPECT_THAT(zsh("weirctl back"), ElementsAre("backend-services"));
  EXPECT_THAT(zsh("weirctl drain ''"), ElementsAre("dns", "web"));
  EXPECT_THAT(zsh("weirctl apply -f ''"), ElementsAre("files"));
  EXPECT_THAT(zsh("weirctl nonsense x"), IsEmpty());
}

}  // namespace
}  // namespace weir::cli
