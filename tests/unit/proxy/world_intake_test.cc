// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "base/snapshot_intake.h"
#include "weir/proxy_world.h"

namespace weir::proxy {
namespace {

class WorldIntakeTest : public testing::Test {
 protected:
  using Intake = SnapshotIntake<ProxyWorld>;
  Intake::Taken take(const std::vector<SnapshotMessage>& messages) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const auto& message : messages) bytes.push_back(encode(message));
    const std::vector<std::span<const std::uint8_t>> payloads(bytes.begin(), bytes.end());
    return intake_.take(payloads);
  }
  static ProxySnapshot node(std::uint32_t generation) {
    ProxySnapshot snapshot;
    snapshot.generation = Generation(generation);
    return snapshot;
  }

  Intake intake_;
};

TEST_F(WorldIntakeTest, TheGenerationIsThatOfAManagerThatLostItsState) {
  EXPECT_EQ(take({SyncBegin{}, node(63), SyncEnd{}}).generation, Generation(63));
  EXPECT_EQ(take({SyncBegin{}, node(12), SyncEnd{}}).generation, Generation(12));
}

TEST_F(WorldIntakeTest, AnUnfinishedSynchronisationDoesNotTakeBackTheGeneration) {
  take({SyncBegin{}, node(63), SyncEnd{}});
  EXPECT_EQ(take({SyncBegin{}, node(5)}).generation, Generation(63));
  intake_.interrupt();
  EXPECT_EQ(take({node(64)}).generation, Generation(64));
}

}  // namespace
}  // namespace weir::proxy
