// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/daemon_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

Result<DaemonOptions> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "weir-program");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return parseDaemonOptions(static_cast<int>(words.size()), argv.data());
}

TEST(DaemonOptions, C4_DefaultsAreTheInstalledPlaces) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options.value().configDir, "/etc/weir");
  EXPECT_EQ(options.value().runDir, "/run/weir");
  EXPECT_EQ(options.value().stateDir, "/var/lib/weir");
}

TEST(DaemonOptions, C4_DirectoriesAreTaken) {
  const auto options = parse({"--run-dir", "/a", "--config-dir=/b", "--state-dir", "/c",
                              "--log-level=debug", "--log-format", "json"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options.value().runDir, "/a");
  EXPECT_EQ(options.value().configDir, "/b");
  EXPECT_EQ(options.value().stateDir, "/c");
  EXPECT_EQ(options.value().logLevel, log::Level::debug);
  EXPECT_EQ(options.value().logFormat, log::Format::json);
}

TEST(DaemonOptions, HelpAndVersion) {
  EXPECT_EQ(parse({"--help"}).value().ask, DaemonOptions::Ask::help);
  EXPECT_EQ(parse({"--version"}).value().ask, DaemonOptions::Ask::version);
}

TEST(DaemonOptions, WrongUsageNamesTheArgument) {
  const auto complaint = [](std::vector<std::string> words) {
    const auto options = parse(std::move(words));
    return options ? std::string() : options.error().message;
  };
  EXPECT_NE(complaint({"--speed"}).find("--speed"), std::string::npos);
  EXPECT_NE(complaint({"--run-dir"}).find("--run-dir"), std::string::npos);
  EXPECT_NE(complaint({"extra"}).find("extra"), std::string::npos);
  EXPECT_NE(complaint({"--log-level", "loud"}).find("loud"), std::string::npos);
  EXPECT_NE(complaint({"--log-format", "xml"}).find("xml"), std::string::npos);
}

}  // namespace
}  // namespace weir
