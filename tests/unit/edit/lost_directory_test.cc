// SPDX-License-Identifier: GPL-2.0-or-later
//
// C1: a directory that is missing or not mounted is no wish to withdraw what was read from it.
#include "edited_manager.h"

namespace weir::manager {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Names not in their order: what is kept is equal to what was read all the same.
constexpr const char* kMine = "healthChecks: [{name: mine, timeoutSec: 3}]\n";
constexpr const char* kGroups =
    "networkEndpointGroups: [{name: z, zone: za}, {name: a, zone: za}, {name: m, zone: za}]\n";

class LostDirectory : public EditedManager {
 protected:
  LostDirectory() { put("conf.d/web.yaml", kMine); }
  fs::path conf() const { return config_.path() / "conf.d"; }
  // As an unmount does: what was there is elsewhere, and below it is an empty directory.
  void unmount() const {
    fs::rename(conf(), config_.path() / "away");
    fs::create_directory(conf());
  }
  void mount() const {
    fs::remove_all(conf());
    fs::rename(config_.path() / "away", conf());
  }
  std::size_t checks() const { return manager_.controlPlane().configuration().healthChecks.size(); }
  // Why the next start would go on with what is kept; empty: it would not.
  std::string lossAtStart() const {
    const auto kept = config::readKept(state_.path(), config_.path());
    return kept ? config::lossOf(kept->origins) : "";
  }
  Json warnings() { return expect(200, "GET", "/v1/status")["manager"]["warnings"]; }
};

TEST_F(LostDirectory, ReloadAndEditAreRefusedWhileItIsMissing) {
  start();
  fs::rename(conf(), config_.path() / "away");
  EXPECT_THAT(message(expect(422, "POST", "/v1/reload")),
              HasSubstr(conf().string() + " is missing"));
  EXPECT_THAT(message(expect(409, "POST", "/v1/healthChecks", R"({"name":"hc"})")),
              HasSubstr("conf.d is missing"));
  EXPECT_EQ(checks(), 1u);
  EXPECT_FALSE(fs::exists(conf()));
}

TEST_F(LostDirectory, AnEmptyOneInItsPlaceIsRefusedTooUntilSomebodySaysThatItIsMeant) {
  start();
  unmount();
  EXPECT_THAT(message(expect(422, "POST", "/v1/reload")),
              HasSubstr("is empty and not the directory that the configuration in force was read"));
  EXPECT_THAT(warnings().dump(), HasSubstr("touch " + conf().string() + "/none.yaml"));
  const Json difference = expect(200, "POST", "/v1/diff");
  EXPECT_THAT(difference.value("refusal", ""), HasSubstr("is empty and not the directory"));
  EXPECT_EQ(checks(), 1u);
  put("conf.d/none.yaml", "");
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(checks(), 0u);
  EXPECT_EQ(warnings(), Json::array());
  EXPECT_EQ(lossAtStart(), "");
}

TEST_F(LostDirectory, WhatIsLeftMayMissWhatIsLostAndTheReasonIsTold) {
  put("weir.yaml", "backendServices: [{name: s, healthChecks: [mine]}]\n");
  start();
  unmount();
  EXPECT_THAT(message(expect(422, "POST", "/v1/reload")),
              HasSubstr("is empty and not the directory"));
  EXPECT_THAT(message(expect(422, "POST", "/v1/diff")),
              HasSubstr("is empty and not the directory"));
}

TEST_F(LostDirectory, ADirectoryThatIsEmptiedIsMeant) {
  start();
  fs::remove(conf() / "web.yaml");
  EXPECT_EQ(lossAtStart(), "");
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(checks(), 0u);
  // What is in force now was read from nowhere: nothing can be lost.
  unmount();
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(lossAtStart(), "");
}

TEST_F(LostDirectory, AFirstStartWithoutAnyResourceHasNothingToLose) {
  fs::remove(conf() / "web.yaml");
  EXPECT_EQ(config::readKept(state_.path(), config_.path()), std::nullopt);
  start();
  EXPECT_EQ(warnings(), Json::array());
  unmount();
  EXPECT_EQ(lossAtStart(), "");
}

TEST_F(LostDirectory, TheNextStartGoesOnWithWhatWasInForce) {
  put("weir.yaml", std::string("zones: [{name: za, region: r1}]\n") + kGroups);
  start();
  const Configuration before = manager_.controlPlane().configuration();
  manager_.stop();
  started_ = false;
  unmount();
  EXPECT_THAT(lossAtStart(), HasSubstr("is empty and not the directory"));

  auto kept = config::readKept(state_.path(), config_.path());
  ASSERT_TRUE(kept);
  const config::Loaded loaded = config::loadKept(*kept);
  ASSERT_TRUE(loaded.ok()) << loaded.diagnostics.at(0).toString();
  EXPECT_EQ(loaded.configuration, before);

  Manager successor(
      io_, kernel_, run_.path(), [this] { return config::loadDirectory(config_.path()); },
      config_.path(), state_.path());
  ASSERT_TRUE(successor.startWithKept(loaded.configuration, *kept));
  EXPECT_EQ(successor.controlPlane().configuration(), before);
  EXPECT_THAT(successor.loss(), HasSubstr("is empty and not the directory"));
  EXPECT_FALSE(successor.reload().accepted);
  // A second start in this state finds the same.
  EXPECT_THAT(lossAtStart(), HasSubstr("is empty and not the directory"));
  mount();
  EXPECT_EQ(successor.loss(), "");
  const auto reloaded = successor.reload();
  EXPECT_TRUE(reloaded.accepted && !reloaded.changed) << reloaded.refusal;
  successor.stop();
}

TEST_F(LostDirectory, WhatAnotherDirectorysManagerKeptIsNotTaken) {
  start();
  EXPECT_TRUE(config::readKept(state_.path(), config_.path().string() + "/"));
  EXPECT_EQ(config::readKept(state_.path(), run_.path()), std::nullopt);
  EXPECT_EQ(config::readKept(run_.path(), config_.path()), std::nullopt);
}

TEST_F(LostDirectory, TheNodesOwnFileIsLostWhenItIsMissingAndAnEmptyOneIsMeant) {
  fs::remove(conf() / "web.yaml");
  put("weir.yaml", kMine);
  start();
  EXPECT_EQ(lossAtStart(), "");
  fs::remove(config_.path() / "weir.yaml");
  EXPECT_THAT(lossAtStart(), HasSubstr("weir.yaml is missing"));
  EXPECT_THAT(message(expect(422, "POST", "/v1/reload")), HasSubstr("weir.yaml is missing"));
  fs::create_symlink("gone/weir.yaml", config_.path() / "weir.yaml");
  EXPECT_THAT(lossAtStart(), HasSubstr("touch " + config_.path().string() + "/weir.yaml"));
  fs::remove(config_.path() / "weir.yaml");
  put("weir.yaml", "");
  EXPECT_EQ(lossAtStart(), "");
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(checks(), 0u);
}

TEST_F(LostDirectory, ANodesOwnFileThatNeverWasIsNotMissed) {
  fs::remove(config_.path() / "weir.yaml");
  start();
  EXPECT_EQ(lossAtStart(), "");
  expect(200, "POST", "/v1/reload");
}

TEST_F(LostDirectory, WhatIsThereAndCannotBeReadIsLostToo) {
  start();
  fs::rename(conf(), config_.path() / "away");
  put("conf.d", "");
  EXPECT_THAT(lossAtStart(), HasSubstr("conf.d cannot be read (Not a directory)"));
  fs::remove(conf());
  fs::create_symlink("conf.d", conf());
  EXPECT_THAT(lossAtStart(),
              HasSubstr("conf.d cannot be read (Too many levels of symbolic links)"));
  EXPECT_THAT(message(expect(422, "POST", "/v1/reload")), HasSubstr("Too many levels"));
  mount();
  EXPECT_EQ(lossAtStart(), "");
}

TEST_F(LostDirectory, FilesThatLeadIntoAMountThatIsGoneAreLost) {
  const fs::path mounted = config_.path() / "mnt";
  fs::create_directory(mounted);
  fs::rename(conf() / "web.yaml", mounted / "web.yaml");
  fs::create_symlink(mounted / "web.yaml", conf() / "web.yaml");
  start();
  EXPECT_EQ(lossAtStart(), "");
  fs::rename(mounted, config_.path() / "away");
  EXPECT_THAT(lossAtStart(), HasSubstr("web.yaml cannot be read (No such file or directory)"));
  fs::remove(conf() / "web.yaml");
  EXPECT_EQ(lossAtStart(), "");
}

TEST_F(LostDirectory, TheAdviceForAMountPointSaysThatTheEmptyFileIsToGoAgain) {
  start();
  unmount();
  EXPECT_THAT(lossAtStart(), HasSubstr("where it is a mount point, remove that file again"));
}

// What is kept, with its directory lost.
class DamagedKept : public LostDirectory {
 protected:
  DamagedKept() { start(); }
  fs::path file() const { return state_.path() / config::kKeptName; }
  std::string text() const {
    std::ifstream stream(file());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string damageOf(const std::string& text) const {
    std::ofstream(file()) << text;
    const auto kept = config::readKept(state_.path(), config_.path());
    return kept ? kept->damage : "it is not there";
  }
};

TEST_F(DamagedKept, EveryLossOfItsEndAndEveryOtherByteIsNoticed) {
  const std::string whole = text();
  ASSERT_EQ(damageOf(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_THAT(damageOf(whole.substr(0, length)), HasSubstr("checksum does not fit")) << length;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 1);
    ASSERT_THAT(damageOf(other), HasSubstr(file().string())) << i;
  }
  EXPECT_NE(damageOf(whole + "\n"), "");
}

TEST_F(DamagedKept, WhatItWasReadFromIsStillTold) {
  const std::string whole = text();
  unmount();
  EXPECT_NE(damageOf(whole.substr(0, whole.size() - 5)), "");
  EXPECT_THAT(lossAtStart(), HasSubstr("is empty and not the directory"));
}

TEST_F(DamagedKept, ThatItCannotBeReadIsNotThatItIsAbsent) {
  fs::remove(file());
  EXPECT_EQ(config::readKept(state_.path(), config_.path()), std::nullopt);
  fs::create_directory(file());
  auto kept = config::readKept(state_.path(), config_.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->damage, file().string() + " is a directory, not a file");
  fs::remove(file());
  fs::create_symlink("nowhere/in-force.yaml", file());
  kept = config::readKept(state_.path(), config_.path());
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->damage, HasSubstr("cannot be read"));
}

TEST_F(DamagedKept, WhatCannotBeWrittenIsToldAndTriedAgain) {
  const std::string before = text();
  // Nothing can be put into the place of a directory.
  fs::rename(file(), state_.path() / "old");
  fs::create_directory(file());
  put("conf.d/more.yaml", "healthChecks: [{name: more}]\n");
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(checks(), 2u);
  EXPECT_THAT(warnings().dump(), HasSubstr("would go on with an older one, of 20"));
  // An unchanged reload tries again.
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(warnings().size(), 1u);
  fs::remove(file());
  fs::rename(state_.path() / "old", file());
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(warnings(), Json::array());
  EXPECT_THAT(text(), HasSubstr("more"));
  // Gone by another's hand: written again.
  fs::remove(file());
  expect(200, "POST", "/v1/reload");
  EXPECT_THAT(text(), HasSubstr("more"));
  EXPECT_NE(text(), before);
}

TEST_F(DamagedKept, WhatCouldNotBeWrittenIsWrittenWithoutAReload) {
  fs::remove(file());
  fs::create_directory(file());
  put("conf.d/more.yaml", "healthChecks: [{name: more}]\n");
  expect(200, "POST", "/v1/reload");
  EXPECT_EQ(warnings().size(), 1u);
  fs::remove(file());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fs::exists(file()) && std::chrono::steady_clock::now() < end)
    io_.run_one_for(std::chrono::seconds(1));
  EXPECT_THAT(text(), HasSubstr("more"));
  EXPECT_EQ(warnings(), Json::array());
}

// The sum of files of at most kMaxFileBytes, of kMaxValues values each, is more than either.
TEST(KeptFile, ItMayBeLargerThanAnyFileThatItIsMadeOf) {
  Configuration configuration;
  for (int i = 0; i < 40'000; ++i) {
    HealthCheck check;
    check.name = "hc" + std::to_string(i);
    check.response = std::string(250, 'a');
    configuration.healthChecks.push_back(std::move(check));
  }
  const test::TemporaryDirectory state;
  const std::string text = config::keptText(configuration, "/etc/weir", {});
  ASSERT_GT(text.size(), config::kMaxFileBytes);
  EXPECT_NE(text.find("\n---\n"), text.npos);
  std::ofstream(state.path() / config::kKeptName) << text;
  auto kept = config::readKept(state.path(), "/etc/weir");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->damage, "");
  const config::Loaded loaded = config::loadKept(*std::move(kept));
  ASSERT_TRUE(loaded.ok()) << loaded.diagnostics.at(0).toString();
  EXPECT_TRUE(loaded.configuration == configuration);
}

}  // namespace
}  // namespace weir::manager
