// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/kept_snapshots.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/boot_time.h"
#include "base/given_marks.h"
#include "support/temporary_directory.h"
#include "unit/engine/scene.h"

namespace weir {
namespace {

using std::chrono::seconds;
using test::webRules;
using test::webService;

class KeptSnapshotsTest : public testing::Test {
 protected:
  using Intake = SnapshotIntake<World>;

  // As every manager does at its start.
  KeptSnapshotsTest() { EXPECT_TRUE(writeGivenMarks(marksGiven(), now_)); }

  static std::vector<std::vector<std::uint8_t>> encoded(const std::vector<SnapshotMessage>& all) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const auto& message : all) bytes.push_back(encode(message));
    return bytes;
  }
  // As a data plane does with what the manager says.
  void hear(const std::vector<SnapshotMessage>& messages) {
    const auto bytes = encoded(messages);
    const std::vector<std::span<const std::uint8_t>> payloads(bytes.begin(), bytes.end());
    const auto taken = intake_.take(payloads);
    if (taken.world) world_ = taken.world;
    kept_.keep(intake_, taken, *world_, now_);
  }
  void hearEverything() {
    hear({NodeSnapshot{}, SyncBegin{}, webService(2, 5), webRules(6), SyncEnd{}});
  }
  // What the next process finds.
  std::optional<Intake::Taken> successor(Intake& intake) {
    KeptSnapshots kept(file(), marksGiven(), now_);
    auto taken = kept.restore(intake, now_ + seconds(7));
    age_ = kept.age(now_ + seconds(7));
    return taken;
  }
  std::optional<Intake::Taken> successor() {
    Intake intake;
    return successor(intake);
  }
  std::filesystem::path file() const { return directory_.path() / "engine.snapshots"; }
  std::filesystem::path marksGiven() const { return directory_.path() / kGivenMarksName; }
  std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void setContent(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
    std::filesystem::permissions(file(), std::filesystem::perms(0600));
  }

  test::TemporaryDirectory directory_;
  Time now_ = bootTime();
  Intake intake_;
  std::shared_ptr<const World> world_ = std::make_shared<const World>();
  KeptSnapshots kept_{file(), marksGiven(), now_};
  seconds age_{-1};
};

TEST_F(KeptSnapshotsTest, ASuccessorGoesOnWithWhatItsPredecessorWasTold) {
  hearEverything();
  Intake intake;
  const auto taken = successor(intake);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->generation, Generation(6));
  EXPECT_EQ(taken->world->service(test::kWeb)->snapshot(), webService(2, 5));
  EXPECT_EQ(taken->world->rules().snapshot(), webRules(6));
  EXPECT_EQ(intake.node(), NodeSnapshot{});
  EXPECT_TRUE(intake.isComplete());
  EXPECT_EQ(age_, seconds(7));
}

TEST_F(KeptSnapshotsTest, AManagerThatIsConnectedAndSilentIsNotThere) {
  hearEverything();
  Intake intake;
  KeptSnapshots successor(file(), marksGiven(), now_);
  ASSERT_TRUE(successor.restore(intake, now_).has_value());
  successor.tick(true, intake, *world_, now_ + seconds(9));
  EXPECT_EQ(successor.age(now_ + seconds(9)), seconds(9));
  EXPECT_EQ(successor.ageInWords(now_ + seconds(9)), ", without the manager for 9 s");

  const auto bytes = encoded({SyncBegin{}, webService(2, 5), webRules(6), SyncEnd{}});
  const auto taken =
      intake.take(std::vector<std::span<const std::uint8_t>>(bytes.begin(), bytes.end()));
  successor.keep(intake, taken, *world_, now_ + seconds(10));
  successor.tick(true, intake, *world_, now_ + seconds(12));
  EXPECT_EQ(successor.age(now_ + seconds(12)), seconds(0));
}

TEST_F(KeptSnapshotsTest, WhatComesBeforeASynchronisationDoesNotSpeakForTheManager) {
  hearEverything();
  const std::string before = content();
  Intake intake;
  KeptSnapshots successor(file(), marksGiven(), now_);
  ASSERT_TRUE(successor.restore(intake, now_).has_value());
  NodeSnapshot node;
  node.queues = 2;
  const auto hear = [&](const std::vector<SnapshotMessage>& messages) {
    const auto bytes = encoded(messages);
    const auto taken =
        intake.take(std::vector<std::span<const std::uint8_t>>(bytes.begin(), bytes.end()));
    successor.keep(intake, taken, *world_, now_ + seconds(1));
  };
  // The messages of a connection arrive cut anywhere.
  hear({node});
  EXPECT_TRUE(successor.standsIn());
  EXPECT_EQ(content(), before);
  hear({SyncBegin{}, webService(2, 9)});
  EXPECT_TRUE(successor.standsIn());
  hear({webRules(9), SyncEnd{}});
  EXPECT_FALSE(successor.standsIn());
  EXPECT_NE(content(), before);
}

TEST_F(KeptSnapshotsTest, ChangesAreKeptAsTheyCome) {
  hearEverything();
  const auto before = content().size();
  hear({webService(3, 7)});
  NodeSnapshot node;
  node.queues = 4;
  hear({node});
  hear({webService(4, 8)});
  EXPECT_GT(content().size(), before);
  Intake intake;
  const auto taken = successor(intake);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->world->service(test::kWeb)->snapshot(), webService(4, 8));
  EXPECT_EQ(taken->generation, Generation(8));
}

TEST_F(KeptSnapshotsTest, ASuccessorBeginsWithTheNewestNode) {
  hearEverything();
  NodeSnapshot node;
  node.queues = 4;
  hear({node, SyncBegin{}, webService(2, 9), webRules(9), SyncEnd{}});
  Intake intake;
  ASSERT_TRUE(successor(intake).has_value());
  EXPECT_EQ(intake.node()->queues, 4);
}

TEST_F(KeptSnapshotsTest, AnUnfinishedSynchronisationIsNotKept) {
  hearEverything();
  hear({SyncBegin{}, webService(9, 20)});
  const auto taken = successor();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->world->service(test::kWeb)->snapshot(), webService(2, 5));
}

TEST_F(KeptSnapshotsTest, ManyChangesDoNotFillTheFileSystem) {
  hearEverything();
  for (std::uint32_t i = 0; i < 800; ++i) {
    ServiceSnapshot service = webService(1, 10 + i);
    service.backends.front().group.assign(4000, 'g');
    hear({service});
  }
  EXPECT_LT(content().size(), 1200u * 1024);
  const auto taken = successor();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->generation, Generation(809));
}

TEST_F(KeptSnapshotsTest, NobodyElseMayReadTheFile) {
  hearEverything();
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(KeptSnapshotsTest, AMessageThatWasNotWrittenWholeIsLeftOut) {
  hearEverything();
  const std::string whole = content();
  hear({webService(3, 7)});
  const std::string more = content();
  for (std::size_t cut = whole.size(); cut < more.size(); cut += 5) {
    setContent(more.substr(0, cut));
    const auto taken = successor();
    ASSERT_TRUE(taken.has_value()) << cut;
    EXPECT_EQ(taken->world->service(test::kWeb)->snapshot(), webService(2, 5));
  }
}

TEST_F(KeptSnapshotsTest, AFileThatWasCutEarlierIsNotUsed) {
  hearEverything();
  const std::string whole = content();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    setContent(whole.substr(0, cut));
    EXPECT_FALSE(successor().has_value()) << cut;
  }
}

TEST_F(KeptSnapshotsTest, NoChangedBitIsOverlooked) {
  hearEverything();
  hear({webService(3, 7)});
  const std::string whole = content();
  // Bytes 16 to 23 say when the manager was heard: any value is one.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (at >= 12 && at < 24) continue;
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    setContent(damaged);
    EXPECT_FALSE(successor().has_value()) << at;
  }
}

TEST_F(KeptSnapshotsTest, AFileThatOthersMayHaveWrittenIsNotUsed) {
  hearEverything();
  std::filesystem::permissions(file(), std::filesystem::perms(0660));
  EXPECT_FALSE(successor().has_value());
}

TEST_F(KeptSnapshotsTest, NeitherALinkNorADirectoryIsUsed) {
  hearEverything();
  std::filesystem::rename(file(), directory_.path() / "elsewhere");
  std::filesystem::create_symlink(directory_.path() / "elsewhere", file());
  EXPECT_FALSE(successor().has_value());
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_FALSE(successor().has_value());
}

TEST_F(KeptSnapshotsTest, AfterACleanStopThereIsNothingToGoOnWith) {
  hearEverything();
  kept_.remove();
  hear({webService(3, 7)});
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_FALSE(successor().has_value());
}

TEST_F(KeptSnapshotsTest, WhatASuccessorHasWrittenIsNotTouched) {
  hearEverything();
  kept_.leave();
  setContent("of the successor");
  hear({NodeSnapshot{}, SyncBegin{}, webService(3, 7), webRules(8), SyncEnd{}});
  kept_.tick(true, intake_, *world_, now_ + seconds(5));
  EXPECT_EQ(content(), "of the successor");
}

TEST_F(KeptSnapshotsTest, AManagerThatIsSilentIsWaitedForButNotForLong) {
  using Manager = KeptSnapshots::Manager;
  KeptSnapshots kept(file(), marksGiven(), now_);
  EXPECT_FALSE(kept.isDue(Manager::silent, now_));
  EXPECT_FALSE(kept.isDue(Manager::silent, now_ + std::chrono::milliseconds(900)));
  EXPECT_TRUE(kept.isDue(Manager::silent, now_ + seconds(1)));
  EXPECT_FALSE(kept.isDue(Manager::away, now_ + seconds(2)));
  EXPECT_TRUE(KeptSnapshots(file(), marksGiven(), now_).isDue(Manager::away, now_));
}

// What it has said would be lost, and the rest of it would be taken for the whole.
TEST_F(KeptSnapshotsTest, AManagerThatSpeaksIsHeardToTheEnd) {
  hearEverything();
  KeptSnapshots kept(file(), marksGiven(), now_);
  Intake intake;
  const auto bytes = encoded({SyncBegin{}, webService(3, 7)});
  const std::vector<std::span<const std::uint8_t>> payloads(bytes.begin(), bytes.end());
  intake.take(payloads);
  EXPECT_FALSE(kept.isDue(KeptSnapshots::managerOf(true, intake), now_ + seconds(60)));
  // Until it goes away in the midst of it.
  intake.interrupt();
  EXPECT_TRUE(kept.isDue(KeptSnapshots::managerOf(false, intake), now_ + seconds(60)));
}

TEST_F(KeptSnapshotsTest, WhatIsOlderThanAMarksBackendIsNotUsed) {
  hearEverything();
  ASSERT_TRUE(writeGivenMarks(marksGiven(), now_));
  EXPECT_TRUE(successor().has_value());
  ASSERT_TRUE(writeGivenMarks(marksGiven(), now_ + std::chrono::milliseconds(1)));
  EXPECT_FALSE(successor().has_value());
  now_ += seconds(1);
  hear({webService(3, 7)});
  EXPECT_TRUE(successor().has_value());
}

TEST_F(KeptSnapshotsTest, WhereTheTimeOfTheLastMarkIsUnknownNothingIsUsed) {
  hearEverything();
  std::ifstream in(marksGiven());
  const std::string given(std::istreambuf_iterator<char>(in), {});
  for (std::size_t i = 0; i < given.size() - 1; ++i) {
    std::string damaged = given;
    damaged[i] = damaged[i] == '0' ? '1' : '0';
    std::ofstream(marksGiven()) << damaged;
    EXPECT_FALSE(successor().has_value()) << damaged;
  }
  std::ofstream(marksGiven()) << "what is this";
  EXPECT_FALSE(successor().has_value());
  std::ofstream(marksGiven()) << given;
  EXPECT_TRUE(successor().has_value());
  std::filesystem::remove(marksGiven());
  EXPECT_FALSE(successor().has_value());
}

TEST_F(KeptSnapshotsTest, AMarkWhoseTimeCannotBeWrittenLeavesNoFormerTime) {
  hearEverything();
  std::filesystem::remove(marksGiven());
  std::filesystem::create_symlink("nowhere/at/all", marksGiven());
  EXPECT_FALSE(writeGivenMarks(marksGiven(), now_));
  EXPECT_FALSE(std::filesystem::is_symlink(marksGiven()));
}

TEST_F(KeptSnapshotsTest, WhatCouldNotBeKeptIsToldAndTriedAgain) {
  std::filesystem::create_directories(file() / "in the way");
  hearEverything();
  EXPECT_NE(kept_.notKept(), "");
  EXPECT_TRUE(kept_.tick(true, intake_, *world_, now_));
  EXPECT_FALSE(kept_.tick(true, intake_, *world_, now_ + seconds(2)));
  EXPECT_NE(kept_.notKept(), "");
  std::filesystem::remove_all(file());
  // Nothing that a manager who is away has said is taken for the newest.
  EXPECT_FALSE(kept_.tick(false, intake_, *world_, now_ + seconds(4)));
  EXPECT_FALSE(successor().has_value());
  EXPECT_TRUE(kept_.tick(true, intake_, *world_, now_ + seconds(6)));
  EXPECT_EQ(kept_.notKept(), "");
  Intake intake;
  const auto taken = successor(intake);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->world->service(test::kWeb)->snapshot(), webService(2, 5));
  EXPECT_EQ(intake.newestNode(), NodeSnapshot{});
}

TEST_F(KeptSnapshotsTest, TheAgeIsTheTimeWithoutTheManager) {
  hearEverything();
  kept_.tick(true, intake_, *world_, now_ + seconds(30));
  EXPECT_EQ(kept_.age(now_ + seconds(30)), seconds(0));
  kept_.tick(false, intake_, *world_, now_ + seconds(31));
  EXPECT_EQ(kept_.age(now_ + seconds(42)), seconds(12));
  EXPECT_EQ(kept_.ageInWords(now_ + seconds(42)), ", without the manager for 12 s");
  // The successor knows it too.
  now_ += seconds(60);
  successor();
  EXPECT_EQ(age_, seconds(37));
}

TEST_F(KeptSnapshotsTest, TheProxysWorldComesBackToo) {
  ProxySnapshot node;
  node.generation = Generation(3);
  node.zone = "a";
  ProxyServiceSnapshot service;
  service.name = "mail";
  service.generation = Generation(4);
  SnapshotIntake<ProxyWorld> intake;
  const auto bytes = encoded({SyncBegin{}, node, service, SyncEnd{}});
  const std::vector<std::span<const std::uint8_t>> payloads(bytes.begin(), bytes.end());
  const auto taken = intake.take(payloads);
  kept_.keep(intake, taken, *taken.world, now_);

  SnapshotIntake<ProxyWorld> next;
  const auto found = KeptSnapshots(file(), {}, now_).restore(next, now_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->world->node(), node);
  EXPECT_EQ(*found->world->service("mail"), service);
  EXPECT_EQ(found->generation, Generation(4));
  // The engine finds nothing in it that it could start with.
  Intake engine;
  const auto foreign = successor(engine);
  EXPECT_FALSE(foreign && engine.hasHeard<RulesSnapshot>());
}

}  // namespace
}  // namespace weir
