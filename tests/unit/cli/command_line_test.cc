// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command_line.h"

#include <set>

#include "cli/command_table.h"
#include "cli/help.h"
#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class CommandLine : public Weirctl {};

TEST_F(CommandLine, C2_DoneIs0) {
  EXPECT_EQ(weirctl({"reload"}), 0);
  EXPECT_EQ(out_.str(), "unchanged, nothing was done\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandLine, C2_RefusedIs1WithOneLine) {
  manager_.say("POST /v1/backendServices/web/undrain", 409,
               R"({"error":{"message":"it is not draining"}})");
  EXPECT_EQ(weirctl({"undrain", "web", "10.2.0.11"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: it is not draining\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CommandLine, C2_WrongUsageIs2AndNothingIsAsked) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"nonsense"},
           {"backend-services"},
           {"backend-services", "describe"},
           {"backend-services", "describe", ""},
           {"backend-services", "describe", "a", "b"},
           {"backend-services", "update", "web"},
           {"backend-services", "add-backend", "web"},
           {"backend-services", "add-backend", "web", "--instance-group=a",
            "--network-endpoint-group=b"},
           {"backend-services", "create", "web", "--protocol"},
           {"backend-services", "create", "web", "--protocol", "--timeout=3s"},
           {"backend-services", "create", "web", "--protocol=TCP", "--protocol=UDP"},
           {"backend-services", "create", "web", "--enable-logging=yes"},
           {"backend-services", "create", "web", "--idle-timeout-sec=soon"},
           {"backend-services", "create", "web", "--failover-ratio=half"},
           {"health-checks", "create", "web-hc"},
           {"network-endpoint-groups", "update", "g"},
           {"drain", "web"},
           {"drain", "web", "10.2.0.11", "--timeout", "never"},
           {"explain", "--src", "10.0.0.1"},
           {"explain", "--src", "10.0.0.1", "--dst", "ten"},
           {"explain", "--src", "10.0.0.1", "--dst", "10.9.9.9", "--dport", "65536"},
           {"explain", "--src", "10.0.0.1", "--dst", "10.9.9.9", "--fragment", "second"},
           {"status", "--format", "xml"},
           {"status", "--timeout", "0"},
           {"status", "more"},
           {"connections", "flush", "--service", ""},
           {"connections", "count", "--client", ""},
           {"connections", "count", "--client", "10.1.0.7/16"},
           {"connections", "list", "--limit", "0"},
           {"apply"},
           {"top", "-n", "0"},
           {"simulate"}}) {
    EXPECT_EQ(weirctl(arguments), 2) << testing::PrintToString(arguments);
    EXPECT_NE(err_.str(), "");
    EXPECT_EQ(out_.str(), "");
  }
  EXPECT_TRUE(manager_.asked().empty());
}

TEST_F(CommandLine, C2_AnAbsentManagerIs3) {
  test::TemporaryDirectory empty;
  std::istringstream in;
  EXPECT_EQ(
      run({"--run-dir", empty.path().string(), "status"}, {.in = in, .out = out_, .err = err_}), 3);
  EXPECT_EQ(lines(err_.str()), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is it running"));
}

TEST_F(CommandLine, C2_AManagerThatIsStoppedIs3WithinTheTimeout) {
  manager_.fallSilent();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(weirctl({"--timeout", "1", "status"}), 3);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(4));
  EXPECT_EQ(lines(err_.str()), 1);
  EXPECT_THAT(err_.str(), HasSubstr("did not answer within 1 s"));
}

TEST_F(CommandLine, LongWaitsAreSaid) {
  manager_.fallSilent();
  EXPECT_EQ(weirctl({"--timeout", "4", "reload"}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("waiting for weir-manager, 4 s at most\n"));
}

TEST_F(CommandLine, AMisspelledCommandIsGuessedAndAllAreNamed) {
  EXPECT_EQ(weirctl({"backend-service", "list"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("unknown command 'backend-service' (did you mean "
                                    "'backend-services'?)\n"));
  EXPECT_THAT(err_.str(), HasSubstr("forwarding-rules, health-checks"));
  EXPECT_EQ(weirctl({"backend-services", "lst"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'list'?"));
  EXPECT_THAT(err_.str(), HasSubstr("add-backend"));
}

TEST_F(CommandLine, AMisspelledFlagIsGuessedWithOneLineOfUsage) {
  EXPECT_EQ(weirctl({"backend-services", "create", "web", "--sesion-affinity=NONE"}), 2);
  EXPECT_EQ(err_.str(),
            "weirctl backend-services create: unknown flag '--sesion-affinity' (did you mean "
            "'--session-affinity'?)\n"
            "usage: weirctl backend-services create NAME [FLAGS]; --help explains it\n");
}

TEST_F(CommandLine, GcloudsFlagsWithoutMeaningAreAccepted) {
  EXPECT_EQ(weirctl({"backend-services", "create", "web", "--region=europe-west1", "--network",
                     "default", "--global", "--project=p", "--quiet"}),
            0);
  EXPECT_EQ(manager_.last().body, R"({"name":"web"})");
}

TEST_F(CommandLine, WhatWeirDoesNotDoIsRefusedWithTheReason) {
  EXPECT_EQ(weirctl({"backend-services", "create", "web", "--cache-mode=X"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--cache-mode is not supported: weir does not read HTTP"));
  EXPECT_EQ(weirctl({"routes", "create", "r", "--next-hop-gateway=default"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the kernel has the other routes"));
}

TEST_F(CommandLine, FlagsStandAnywhereAndInEveryForm) {
  const std::string wanted = R"({"name":"web","protocol":"UDP","logConfig":{"enable":false}})";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"backend-services", "create", "web", "--protocol=UDP", "--no-enable-logging"},
           {"backend-services", "create", "--protocol", "udp", "--no-enable-logging", "web"},
           {"--format", "table", "backend-services", "create", "--protocol=UDP",
            "--no-enable-logging", "--", "web"}}) {
    EXPECT_EQ(weirctl(arguments), 0) << err_.str();
    EXPECT_EQ(manager_.last().body, wanted);
  }
}

TEST_F(CommandLine, TimeoutInFrontOfACommandIsWeirctlsOwn) {
  EXPECT_EQ(weirctl({"--timeout", "7", "backend-services", "create", "web", "--timeout=90s"}), 0);
  EXPECT_EQ(manager_.last().json()["timeoutSec"], 90);
  EXPECT_EQ(weirctl({"status", "--timeout", "3601"}), 2);
}

TEST_F(CommandLine, FormatsAlsoBehindTheCommand) {
  manager_.say("GET /v1/connections/count", 200, R"({"count": 12})");
  EXPECT_EQ(weirctl({"connections", "count", "--format", "json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["count"], 12);
  EXPECT_EQ(weirctl({"--format", "yaml", "connections", "count"}), 0);
  EXPECT_EQ(out_.str(), "count: 12\n");
}

TEST_F(CommandLine, AnAnswerThatIsNotJsonIsAFailure) {
  manager_.say("GET /v1/status", 200, "<html>");
  EXPECT_EQ(weirctl({"status"}), 1);
  EXPECT_EQ(lines(err_.str()), 1);
}

TEST_F(CommandLine, VersionAnywhere) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--version"}, {"status", "--version"}}) {
    EXPECT_EQ(weirctl(arguments), 0);
    EXPECT_EQ(out_.str(), "weirctl " WEIR_VERSION "\n");
  }
}

TEST_F(CommandLine, HelpOfEveryCommandHasAnExampleThatIsUnderstood) {
  for (const Command& command : commands()) {
    std::vector<std::string> line = command.words;
    line.push_back("--help");
    EXPECT_EQ(weirctl(line), 0);
    EXPECT_THAT(out_.str(), HasSubstr("usage: weirctl " + joined(command.words)));
    EXPECT_THAT(out_.str(), HasSubstr("Example\n  weirctl " + joined(command.words)));
    EXPECT_EQ(err_.str(), "");
    std::istringstream text(out_.str());
    for (std::string shown; std::getline(text, shown);) EXPECT_LE(shown.size(), 100u) << shown;
  }
}

TEST_F(CommandLine, HelpWithoutACommandNamesAllOfThem) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}, {"-h"}}) {
    EXPECT_EQ(weirctl(arguments), 0);
    for (const Command& command : commands()) {
      if (isHidden(command)) continue;
      EXPECT_THAT(out_.str(), HasSubstr("  " + command.words.front()));
    }
    EXPECT_THAT(out_.str(), Not(HasSubstr("__complete")));
  }
  EXPECT_EQ(weirctl({"help", "health-checks", "create"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("grpc-with-tls"));
}

TEST(CommandTable, WordsAndFlagsAreUnambiguous) {
  std::set<std::string> words;
  for (const Command& command : commands()) {
    EXPECT_TRUE(words.insert(joined(command.words)).second) << joined(command.words);
    std::set<std::string> flags;
    for (const Flag& flag : command.flags) {
      EXPECT_TRUE(flags.insert(flag.name).second) << joined(command.words) << " " << flag.name;
      EXPECT_TRUE(flag.name.starts_with("--")) << flag.name;
      EXPECT_NE(flag.help, "") << flag.name;
      EXPECT_EQ(isSwitch(flag.type), flag.value.empty()) << flag.name;
    }
  }
}

}  // namespace
}  // namespace weir::cli
