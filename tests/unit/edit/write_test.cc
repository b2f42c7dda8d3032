// SPDX-License-Identifier: GPL-2.0-or-later
//
// The normal form of resources (C1), and that it is read as what it was written from.
#include "config/write.h"

#include <filesystem>
#include <fstream>

#include "config/edit_diff.h"
#include "unit/config/fixture.h"

namespace weir::config::test {
namespace {

std::string normalForm(const std::string& text) {
  const Loaded loaded = loadText(text);
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  return yamlText(*writtenConfiguration(writtenResources(loaded.configuration), nullptr));
}

Configuration readAgain(const Configuration& configuration) {
  const std::string text =
      yamlText(*writtenConfiguration(writtenResources(configuration), &configuration.node));
  const Loaded loaded = loadText(text);
  EXPECT_TRUE(loaded.ok()) << text << all(loaded.diagnostics);
  return loaded.configuration;
}

TEST(NormalForm, LeavesOutDefaultsAndBeginsWithTheName) {
  EXPECT_EQ(normalForm("healthChecks: [{type: TCP, timeoutSec: 5, name: hc}]"),
            "healthChecks:\n  - name: hc\n");
  EXPECT_EQ(normalForm("healthChecks: [{timeoutSec: 3, name: hc, tcpHealthCheck: {port: 80}}]"),
            "healthChecks:\n  - name: hc\n    timeoutSec: 3\n");
  EXPECT_EQ(normalForm("healthChecks: [{name: hc, type: GRPC, grpcHealthCheck: {port: 9}}]"),
            "healthChecks:\n  - name: hc\n    type: GRPC\n    grpcHealthCheck:\n      port: 9\n");
}

TEST(NormalForm, SaysPortsInOneWay) {
  const std::string rule = "forwardingRules: [{name: r, IPAddress: 10.9.9.9, backendService: s, ";
  const std::string rest = kCheck + kGroup + kService;
  EXPECT_EQ(normalForm(rest + rule + "portRange: 80-80}]"),
            normalForm(rest + rule + "ports: ['80']}]"));
  EXPECT_THAT(normalForm(rest + rule + "portRange: 8000-8999}]"),
              testing::HasSubstr("portRange: \"8000-8999\""));
  EXPECT_THAT(normalForm(rest + rule + "allPorts: true}]"), testing::HasSubstr("allPorts: true"));
}

TEST(NormalForm, GivesEndpointsTheirPortOnce) {
  EXPECT_EQ(
      normalForm(
          "networkEndpointGroups:\n"
          "- {name: g, defaultPort: 80, zone: za, endpoints: [{ipAddress: 10.2.0.1, port: 80},"
          " {ipAddress: 10.2.0.2, port: 81}]}"),
      "networkEndpointGroups:\n  - name: g\n    zone: za\n    defaultPort: 80\n    endpoints:\n"
      "      - ipAddress: 10.2.0.1\n      - ipAddress: 10.2.0.2\n        port: 81\n");
}

TEST(NormalForm, SortsCollectionsAndNamesWhateverTheOrder) {
  EXPECT_EQ(normalForm(kRule + kService + kGroup + "healthChecks: [{name: hc}, {name: a}]\n"),
            normalForm("healthChecks: [{name: a}, {name: hc}]\n" + kGroup + kService + kRule));
}

TEST(NormalForm, QuotesTextThatLooksLikeSomethingElse) {
  for (const std::string& label : std::vector<std::string>{"true",
                                                           "null",
                                                           "~",
                                                           "0x10",
                                                           "1e3",
                                                           "8",
                                                           "a: b",
                                                           "- a",
                                                           "#",
                                                           "a #b",
                                                           "",
                                                           " ",
                                                           "'",
                                                           "\"",
                                                           "\\",
                                                           "\t",
                                                           "\xc3\xa9",
                                                           "a\nb",
                                                           "a\r\nb",
                                                           "2001:db8::1",
                                                           "1:2:3:4:5:6:7:8",
                                                           "yes",
                                                           "[a]",
                                                           "{a}",
                                                           "*a",
                                                           "&a",
                                                           "!a",
                                                           "%a",
                                                           "@a",
                                                           "`a",
                                                           "|",
                                                           ">",
                                                           "?",
                                                           "key:",
                                                           "http://x/y",
                                                           "10.0.0.1",
                                                           "\x01",
                                                           "\x7f",
                                                           "\xc2\x85",
                                                           "\xef\xbb\xbf",
                                                           "\xe2\x80\xa8",
                                                           "...",
                                                           "---",
                                                           "\xf0\x9f\x98\x80",
                                                           std::string("a\0b", 3),
                                                           "\\u0041",
                                                           std::string(500, 'x')}) {
    Configuration configuration;
    NetworkEndpointGroup group;
    group.name = "g";
    group.endpoints.emplace_back();
    group.endpoints[0].ipAddress = Address::parse("10.2.0.1");
    group.endpoints[0].instance = label;
    configuration.groups = {group};
    EXPECT_EQ(readAgain(configuration), configuration) << label;
  }
}

TEST(NormalForm, KeepsEveryDigitOfANumber) {
  for (const double ratio : {0.1, 1.0 / 3, 0.0000001, 1e-300, 0.30000000000000004, 1.0}) {
    Configuration configuration;
    configuration.node.proximityMs["za"] = ratio;
    configuration.node.hashSeed = 0xfedcba9876543210;
    EXPECT_EQ(readAgain(configuration), configuration) << ratio;
  }
}

// Every example and every part of one is read as what it was written from.
TEST(NormalForm, ExamplesComeBackAsTheyWere) {
  std::size_t seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(WEIR_SOURCE_DIR "/packaging/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const Loaded loaded = loadDirectory(entry.path());
    ASSERT_TRUE(loaded.ok()) << all(loaded.diagnostics);
    EXPECT_THAT(differences(loaded.configuration, readAgain(loaded.configuration)),
                testing::IsEmpty())
        << entry.path();
    ++seen;
  }
  EXPECT_GE(seen, 5u);
}

TEST(WrittenFile, SaysTheLineOfEachResource) {
  const Loaded loaded = loadText(kAll);
  const auto resources = writtenResources(loaded.configuration);
  const WrittenFile file = writtenFile("# one\n# two\n", resources);
  const Loaded again = load({"weir.yaml", ""}, {{"weirctl.yaml", file.text}});
  ASSERT_TRUE(again.ok()) << file.text << all(again.diagnostics);
  EXPECT_EQ(again.configuration, loaded.configuration);
  ASSERT_EQ(again.definitions.size(), file.lines.size());
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    EXPECT_EQ(again.definitions[i].line, file.lines[i]) << file.text;
}

TEST(Fingerprint, DependsOnTheContentAlone) {
  const auto of = [](const std::string& text) {
    return fingerprint(*writtenResources(loadText(text).configuration).at(0).value);
  };
  EXPECT_EQ(of("healthChecks: [{name: hc, timeoutSec: 5}]"), of("healthChecks: [{name: hc}]"));
  EXPECT_NE(of("healthChecks: [{name: hc, timeoutSec: 4}]"), of("healthChecks: [{name: hc}]"));
  EXPECT_EQ(of("healthChecks: [{name: hc}]").size(), 16u);
}

TEST(Differences, NameItemsByWhatTheyAre) {
  const auto before = loadText(kAll).configuration;
  auto after = before;
  after.groups[0].endpoints.push_back(after.groups[0].endpoints[0]);
  after.groups[0].endpoints[1].ipAddress = Address::parse("10.2.0.2");
  after.services[0].idleTimeout = std::chrono::seconds(300);
  after.node.logLevel = LogLevel::debug;
  after.rules.clear();
  const auto found = differences(before, after);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].collection, "node");
  EXPECT_EQ(found[0].fields.at(0).path, "log.level");
  EXPECT_EQ(found[0].fields.at(0).before, nullptr);
  EXPECT_EQ(found[1].fields.at(0).path, "endpoints[10.2.0.2]");
  EXPECT_EQ(found[2].fields.at(0).path, "connectionTrackingPolicy.idleTimeoutSec");
  EXPECT_EQ(found[3].name, "r");
  EXPECT_EQ(found[3].after, nullptr);
  EXPECT_TRUE(differences(before, before).empty());
}

}  // namespace
}  // namespace weir::config::test
