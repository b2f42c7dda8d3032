// SPDX-License-Identifier: GPL-2.0-or-later
//
// Changes by command (C2): what they make of the configuration directory, and what they refuse.
#include "config/edit.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "config/edit_values.h"
#include "config/problems.h"
#include "config/write.h"
#include "support/temporary_directory.h"
#include "unit/config/fixture.h"

namespace weir::config::test {
namespace {

namespace fs = std::filesystem;
using Kind = EditRequest::Kind;
using Why = EditRefusal::Why;

class Edit : public testing::Test {
 protected:
  Edit() { fs::create_directory(directory_.path() / "conf.d"); }

  void put(const std::string& file, const std::string& text) const {
    std::ofstream(directory_.path() / file) << text;
  }
  fs::path own() const { return directory_.path() / "conf.d" / "weirctl.yaml"; }

  static ValuePtr value(const std::string& yaml) {
    const Text text({"body", yaml});
    Problems problems;
    const Documents documents = parse(text, problems);
    EXPECT_EQ(problems.errors(), 0u) << yaml;
    return documents.values.at(0);
  }

  std::variant<EditPlan, EditRefusal> plan(Kind kind, const std::string& collection,
                                           const std::string& name, const std::string& body) const {
    EditRequest request{kind, collection, name, {}, nullptr};
    if (!body.empty()) request.documents.push_back(value(body));
    return planEdit(directory_.path(), request);
  }

  // Carries a change out, as the manager does.
  EditPlan carryOut(Kind kind, const std::string& collection, const std::string& name,
                    const std::string& body) const {
    auto planned = plan(kind, collection, name, body);
    if (const auto* refusal = std::get_if<EditRefusal>(&planned)) {
      ADD_FAILURE() << refusal->message;
      return {};
    }
    auto made = std::get<EditPlan>(std::move(planned));
    if (made.changes()) std::ofstream(made.file) << made.text;
    const Loaded loaded = loadDirectory(directory_.path());
    EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
    // What was planned is exactly what a reload finds, with every resource at its place.
    EXPECT_EQ(loaded.configuration, made.loaded.configuration);
    EXPECT_EQ(places(loaded), places(made.loaded));
    return made;
  }
  static std::vector<std::string> places(const Loaded& loaded) {
    std::vector<std::string> out;
    for (const Definition& d : loaded.definitions)
      out.push_back(d.collection + "/" + d.name + " " + d.file + ":" + std::to_string(d.line));
    std::sort(out.begin(), out.end());
    return out;
  }

  EditRefusal refused(Kind kind, const std::string& collection, const std::string& name,
                      const std::string& body) const {
    auto planned = plan(kind, collection, name, body);
    if (auto* refusal = std::get_if<EditRefusal>(&planned)) return *refusal;
    ADD_FAILURE() << "not refused";
    return {};
  }

  weir::test::TemporaryDirectory directory_;
};

constexpr const char* kHealthCheck = "{name: hc}";

TEST_F(Edit, C2_WhatIsMadeByCommandsEqualsWhatIsWrittenByHand) {
  carryOut(Kind::create, "healthChecks", "", "{name: hc, timeoutSec: 2}");
  carryOut(Kind::create, "networkEndpointGroups", "",
           "{name: g, zone: za, endpoints: [{ipAddress: 10.2.0.1}]}");
  carryOut(Kind::create, "backendServices", "", "{name: s, healthChecks: [hc]}");
  carryOut(Kind::patch, "backendServices", "s", "{backends: [{group: g}]}");
  carryOut(Kind::create, "forwardingRules", "",
           "{name: r, IPAddress: 10.9.9.9, ports: [80], backendService: s}");
  carryOut(Kind::patch, "healthChecks", "hc", "{timeoutSec: null}");
  const Loaded byHand = loadText(kAll);
  const Loaded byCommand = loadDirectory(directory_.path());
  EXPECT_EQ(byCommand.configuration, byHand.configuration);
  const auto exported = [](const Loaded& loaded) {
    return yamlText(*writtenConfiguration(writtenResources(loaded.configuration), nullptr));
  };
  EXPECT_EQ(exported(byCommand), exported(byHand));
}

TEST_F(Edit, CreateRefusesANameThatExists) {
  carryOut(Kind::create, "healthChecks", "", kHealthCheck);
  const EditRefusal refusal = refused(Kind::create, "healthChecks", "", kHealthCheck);
  EXPECT_EQ(refusal.why, Why::conflict);
  EXPECT_THAT(refusal.message, testing::HasSubstr("healthChecks/hc exists already"));
}

TEST_F(Edit, ReplacePutsEverythingElseBackToItsDefault) {
  carryOut(Kind::create, "healthChecks", "", "{name: hc, timeoutSec: 2}");
  const EditPlan plan = carryOut(Kind::replace, "healthChecks", "hc", "{checkIntervalSec: 30}");
  EXPECT_EQ(plan.loaded.configuration.healthChecks.at(0).timeout.count(), 5);
  EXPECT_THAT(plan.replaced, testing::ElementsAre("healthChecks/hc"));
  EXPECT_THAT(carryOut(Kind::replace, "healthChecks", "new", "{}").created,
              testing::ElementsAre("healthChecks/new"));
}

TEST_F(Edit, WhatChangesNothingIsNoChange) {
  carryOut(Kind::create, "healthChecks", "", kHealthCheck);
  const EditPlan plan = carryOut(Kind::patch, "healthChecks", "hc", "{timeoutSec: 5}");
  EXPECT_FALSE(plan.changes());
  EXPECT_THAT(plan.unchanged, testing::ElementsAre("healthChecks/hc"));
}

TEST_F(Edit, MissingResourcesAreNamedWithWhatThereIs) {
  carryOut(Kind::create, "healthChecks", "", "{name: web-hc}");
  for (const Kind kind : {Kind::patch, Kind::remove}) {
    const EditRefusal refusal =
        refused(kind, "healthChecks", "web-ch", kind == Kind::patch ? "{timeoutSec: 1}" : "");
    EXPECT_EQ(refusal.why, Why::missing);
    EXPECT_THAT(refusal.message, testing::HasSubstr("did you mean 'web-hc'"));
  }
}

TEST_F(Edit, C2_FilesWrittenByHandAreRefusedWithFileAndLine) {
  put("conf.d/web.yaml", "# mine\nhealthChecks:\n  - name: hc\n");
  for (const Kind kind : {Kind::replace, Kind::patch, Kind::remove}) {
    const EditRefusal refusal =
        refused(kind, "healthChecks", "hc", kind == Kind::remove ? "" : "{timeoutSec: 1}");
    EXPECT_EQ(refusal.why, Why::conflict);
    EXPECT_EQ(refusal.message, "healthChecks/hc is defined in " +
                                   (directory_.path() / "conf.d/web.yaml").string() +
                                   " line 3; change it there, then reload");
  }
  // Applied as it is, it is as it is wanted.
  EXPECT_FALSE(carryOut(Kind::apply, "", "", "{healthChecks: [{name: hc}]}").changes());
  // Others beside it go into weirctl.yaml.
  const EditPlan plan = carryOut(Kind::apply, "", "", "{healthChecks: [{name: hc}, {name: b}]}");
  EXPECT_THAT(plan.created, testing::ElementsAre("healthChecks/b"));
  EXPECT_THAT(plan.unchanged, testing::ElementsAre("healthChecks/hc"));
  EXPECT_THAT(plan.text, testing::Not(testing::HasSubstr("name: hc")));
}

TEST_F(Edit, DeleteRefusesWhatIsStillUsedAndSaysWhere) {
  put("conf.d/web.yaml", kGroup + kService + kRule);
  put("conf.d/weirctl.yaml", "healthChecks:\n  - name: hc\n  - name: other\n");
  const EditRefusal refusal = refused(Kind::remove, "healthChecks", "hc", "");
  EXPECT_EQ(refusal.why, Why::conflict);
  EXPECT_THAT(refusal.message,
              testing::HasSubstr("still used by backendServices/s (healthChecks[0], "));
  EXPECT_THAT(refusal.message, testing::HasSubstr("web.yaml line 2)"));
  EXPECT_THAT(carryOut(Kind::remove, "healthChecks", "other", "").removed,
              testing::ElementsAre("healthChecks/other"));
}

TEST_F(Edit, ErrorsAreToldByResourceAndFieldNotByLine) {
  const EditRefusal refusal = refused(Kind::create, "healthChecks", "",
                                      "{name: hc, timeoutSec: 9, tcpHealthCheck: {prt: 1}}");
  EXPECT_EQ(refusal.why, Why::invalid);
  ASSERT_EQ(refusal.findings.size(), 2u);
  for (const Finding& finding : refusal.findings) {
    EXPECT_EQ(finding.collection, "healthChecks");
    EXPECT_EQ(finding.name, "hc");
    EXPECT_EQ(finding.diagnostic.line, 0u);
    EXPECT_EQ(finding.diagnostic.file, "");
    EXPECT_THAT(finding.toString(), testing::HasSubstr("healthChecks/hc: "));
  }
  EXPECT_EQ(refusal.findings[0].path, "timeoutSec");
  EXPECT_EQ(refusal.findings[1].path, "tcpHealthCheck.prt");
  EXPECT_THAT(refusal.findings[1].diagnostic.message, testing::HasSubstr("did you mean 'port'"));
}

TEST_F(Edit, ErrorsInListsAreToldByPosition) {
  const EditRefusal refusal =
      refused(Kind::create, "networkEndpointGroups", "",
              "{name: g, endpoints: [{ipAddress: 10.2.0.1}, {ipAddress: 127.0.0.1}]}");
  ASSERT_GE(refusal.findings.size(), 1u);
  EXPECT_EQ(refusal.findings[0].path, "endpoints[1].ipAddress");
}

TEST_F(Edit, ErrorsOfAYamlBodyHaveItsLines) {
  const Text text({"web.yaml", "healthChecks:\n  - name: hc\n    timeoutSec: 9\n"});
  Problems problems;
  EditRequest request{Kind::apply, "", "", parse(text, problems).values, &text};
  const auto planned = planEdit(directory_.path(), request);
  const auto& refusal = std::get<EditRefusal>(planned);
  ASSERT_EQ(refusal.findings.size(), 1u);
  EXPECT_EQ(refusal.findings[0].diagnostic.file, "web.yaml");
  EXPECT_EQ(refusal.findings[0].diagnostic.line, 3u);
  EXPECT_EQ(refusal.findings[0].diagnostic.column, 17u);
  EXPECT_EQ(refusal.why, Why::invalid);
}

TEST_F(Edit, DanglingNamesAndWhatBreaksElsewhereAreTheRequestsFault) {
  EXPECT_EQ(refused(Kind::create, "backendServices", "", "{name: s, backends: [{group: g}]}").why,
            Why::invalid);
  put("conf.d/web.yaml", kCheck + kGroup + kService + kRule);
  // The same address and port again.
  const EditRefusal refusal =
      refused(Kind::create, "forwardingRules", "",
              "{name: r2, IPAddress: 10.9.9.9, ports: [80], backendService: s}");
  EXPECT_EQ(refusal.why, Why::invalid);
  EXPECT_THAT(refusal.message, testing::Not(testing::HasSubstr("<request>")));
}

TEST_F(Edit, OneResourceTwiceInARequestIsRefused) {
  const EditRefusal refusal =
      refused(Kind::apply, "", "", "{healthChecks: [{name: hc}, {name: hc, timeoutSec: 1}]}");
  EXPECT_EQ(refusal.why, Why::invalid);
  EXPECT_EQ(refusal.message, "healthChecks/hc is there twice");
}

TEST_F(Edit, BrokenFilesOnTheDiskRefuseAndTellTheirPlaces) {
  put("conf.d/web.yaml", "healthChecks:\n  - name: 5\n");
  const EditRefusal refusal = refused(Kind::create, "healthChecks", "", kHealthCheck);
  EXPECT_EQ(refusal.why, Why::onDisk);
  ASSERT_EQ(refusal.findings.size(), 1u);
  EXPECT_EQ(refusal.findings[0].diagnostic.line, 2u);
  EXPECT_FALSE(fs::exists(own()));
}

TEST_F(Edit, ABrokenWeirctlYamlIsRefusedWithItsDiagnostics) {
  put("conf.d/weirctl.yaml", "healthChecks: [{name: a}]\nhealthChecks: []\n");
  const EditRefusal refusal = refused(Kind::create, "healthChecks", "", kHealthCheck);
  EXPECT_EQ(refusal.why, Why::onDisk);
  EXPECT_THAT(refusal.message,
              testing::HasSubstr("weirctl.yaml was changed by hand and has errors"));
  ASSERT_GE(refusal.findings.size(), 1u);
  EXPECT_EQ(refusal.findings[0].diagnostic.line, 2u);
}

// Whoever opened the pipe without care would wait for its writer.
TEST_F(Edit, WhatStandsInThePlaceOfWeirctlYamlAndIsNoFileIsRefused) {
  const std::array<std::pair<void (*)(const fs::path&), const char*>, 4> kinds{{
      {[](const fs::path& path) { fs::create_directory(path); },
       "weirctl.yaml is a directory, not a file"},
      {[](const fs::path& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
       "weirctl.yaml is not a regular file"},
      {[](const fs::path& path) { ASSERT_EQ(::mknod(path.c_str(), S_IFSOCK | 0600, 0), 0); },
       "weirctl.yaml is not a regular file"},
      {[](const fs::path& path) { fs::create_symlink(path, path); },
       "weirctl.yaml cannot be read: Too many levels of symbolic links"},
  }};
  for (const auto& [make, words] : kinds) {
    make(own());
    for (const Kind kind : {Kind::create, Kind::apply}) {
      const bool isCreate = kind == Kind::create;
      const EditRefusal refusal = refused(kind, isCreate ? "healthChecks" : "", "",
                                          isCreate ? kHealthCheck : "healthChecks: [{name: hc}]");
      EXPECT_EQ(refusal.why, Why::onDisk) << words;
      EXPECT_THAT(refusal.message, testing::HasSubstr(words));
    }
    fs::remove_all(own());
  }
}

// Node settings are the administrator's: what keeps the request from being carried out is they, not
// that the resources beside them stand elsewhere.
TEST_F(Edit, DocumentsWithErrorsAreRefusedForThoseThoughTheyNameWhatStandsElsewhere) {
  put("conf.d/web.yaml",
      std::string("healthChecks: [") + kHealthCheck + "]\n" + kGroup + kService + kRule);
  const EditRefusal refusal =
      refused(Kind::apply, "", "",
              std::string("{engineGraceSec: 5, healthChecks: [") + kHealthCheck + "]}");
  EXPECT_EQ(refusal.why, Why::invalid);
  EXPECT_THAT(refusal.message, testing::HasSubstr("engineGraceSec"));
}

TEST_F(Edit, AMessageShowsControlCharactersOfANameAsText) {
  const EditRefusal refusal = refused(Kind::remove, "healthChecks", "a\nb\x1b[31m", "");
  EXPECT_THAT(refusal.message, testing::HasSubstr("healthChecks/a\\nb\\x1b[31m"));
}

TEST_F(Edit, AChangeMayPutRightWhatIsMissingInFilesWrittenByHand) {
  put("conf.d/web.yaml", kGroup + kService + kRule);
  ASSERT_FALSE(loadDirectory(directory_.path()).ok());
  carryOut(Kind::create, "healthChecks", "", kHealthCheck);
}

TEST_F(Edit, FingerprintsRefuseTheSlower) {
  const EditPlan made = carryOut(Kind::create, "healthChecks", "", kHealthCheck);
  const std::string print = fingerprint(*writtenResources(made.loaded.configuration).at(0).value);
  carryOut(Kind::patch, "healthChecks", "hc", "{timeoutSec: 4, fingerprint: " + print + "}");
  for (const Kind kind : {Kind::patch, Kind::replace}) {
    const EditRefusal refusal =
        refused(kind, "healthChecks", "hc", "{timeoutSec: 3, fingerprint: " + print + "}");
    EXPECT_EQ(refusal.why, Why::stale);
  }
}

TEST_F(Edit, WhatGetGaveCanBeSentBack) {
  carryOut(Kind::create, "healthChecks", "", kHealthCheck);
  carryOut(Kind::replace, "healthChecks", "hc",
           "{name: hc, kind: 'compute#healthCheck', status: {file: x}, diagnostics: []}");
  carryOut(Kind::apply, "", "", "{kind: 'compute#healthCheck', name: hc2, fingerprint: x}");
}

TEST_F(Edit, TheNameCannotBeChanged) {
  carryOut(Kind::create, "healthChecks", "", kHealthCheck);
  EXPECT_EQ(refused(Kind::patch, "healthChecks", "hc", "{name: other}").why, Why::invalid);
  EXPECT_EQ(refused(Kind::create, "healthChecks", "", "{timeoutSec: 1}").why, Why::invalid);
  EXPECT_EQ(refused(Kind::create, "healthChecks", "", "[]").why, Why::invalid);
}

TEST_F(Edit, SettingsOfTheNodeAndUnknownCollectionsAreRefused) {
  EXPECT_THAT(refused(Kind::apply, "", "", "{queues: 2}").message, testing::HasSubstr("weir.yaml"));
  EXPECT_THAT(refused(Kind::apply, "", "", "{healthCheks: []}").message,
              testing::HasSubstr("did you mean 'healthChecks'"));
  EXPECT_EQ(refused(Kind::apply, "", "", "text").why, Why::invalid);
}

// yaml-cpp by itself makes empty documents of these without end.
TEST(RequestBody, ACommaOrDocumentWithoutItsBeginningEndsTheReading) {
  for (const char* yaml : {",", "{a: b}, c", "[a],b", "a: b\n,\n", "--- {},"}) {
    const Text text({"body", yaml});
    Problems problems;
    EXPECT_FALSE(parse(text, problems).complete) << yaml;
    EXPECT_EQ(problems.errors(), 1u) << yaml;
  }
  const Text several({"body", "---\n---\n{}\n---\na: b\n...\n---\n"});
  Problems problems;
  EXPECT_TRUE(parse(several, problems).complete);
  EXPECT_EQ(problems.errors(), 0u);
}

TEST(MergePatch, Rfc7396_TheExamplesOfItsAppendix) {
  const auto value = [](const std::string& json) {
    const Text text({"", json});
    Problems problems;
    return parse(text, problems).values.at(0);
  };
  const std::vector<std::array<std::string, 3>> cases{
      {{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"}},
      {{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"}},
      {{R"({"a":"b"})", R"({"a":null})", R"({})"}},
      {{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"}},
      {{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"}},
      {{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"}},
      {{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"}},
      {{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"}},
      {{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"}},
      {{R"({"a":"b"})", R"(["c"])", R"(["c"])"}},
      {{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"}},
      {{R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"}},
      {{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}}};
  for (const auto& [target, patch, result] : cases)
    EXPECT_EQ(yamlText(*mergePatch(value(target), value(patch))), yamlText(*value(result)))
        << target << " " << patch;
}

}  // namespace
}  // namespace weir::config::test
