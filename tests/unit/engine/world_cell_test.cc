// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/world_cell.h"

#include <gtest/gtest.h>

#include <thread>

#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

TEST(WorldCell, BeforeTheFirstWorldEverythingPasses) {
  const WorldCell cell;
  WorldView view(cell);
  EXPECT_TRUE(view.refresh().services().empty());
}

TEST(WorldCell, ViewFollowsWhatIsPublished) {
  WorldCell cell;
  WorldView view(cell);
  const auto first = test::webWorld(1), second = test::webWorld(2);
  cell.publish(first);
  EXPECT_EQ(&view.refresh(), first.get());
  EXPECT_EQ(&view.refresh(), first.get());
  cell.publish(second);
  EXPECT_EQ(&view.refresh(), second.get());
}

// A world must not be freed on the packet path, nor kept for ever.
TEST(WorldCell, OldWorldIsFreedByCollectOnly) {
  WorldCell cell;
  WorldView view(cell);
  auto first = test::webWorld(1);
  const std::weak_ptr<const World> watched = first;
  cell.publish(std::move(first));
  view.refresh();
  cell.publish(test::webWorld(2));
  cell.collect();
  EXPECT_FALSE(watched.expired()) << "the view still holds it";
  view.refresh();
  EXPECT_FALSE(watched.expired()) << "the view freed it";
  cell.collect();
  EXPECT_TRUE(watched.expired());
}

TEST(WorldCell, ReadersSeeWholeWorldsWhileOthersArePublished) {
  WorldCell cell;
  const std::vector<std::shared_ptr<const World>> worlds{test::webWorld(1), test::webWorld(2)};
  cell.publish(worlds[0]);
  std::atomic<bool> stop{false};
  std::atomic<bool> wrong{false};
  std::thread reader([&] {
    WorldView view(cell);
    while (!stop) {
      const World* world = &view.refresh();
      if (world != worlds[0].get() && world != worlds[1].get()) wrong = true;
    }
  });
  for (std::size_t i = 0; i < 20000; ++i) cell.publish(worlds[i % 2]);
  stop = true;
  reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace weir::engine
