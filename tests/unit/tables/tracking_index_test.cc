// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/tracking_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace weir {
namespace {

class TrackingIndexTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBuckets = 8;

  std::uint32_t find(std::uint64_t hash, std::uint32_t slot) const {
    return index.find(hash, [&](std::uint32_t candidate) { return candidate == slot; });
  }

  std::vector<IndexBucket> buckets = std::vector<IndexBucket>(kBuckets);
  TrackingIndex index{buckets.data(), kBuckets};
};

TEST_F(TrackingIndexTest, EqualHashesAreToldApartByTheirKeys) {
  for (std::uint32_t slot = 0; slot < 30; ++slot) index.insert(7, slot);
  for (std::uint32_t slot = 0; slot < 30; ++slot) EXPECT_EQ(find(7, slot), slot);
  EXPECT_EQ(find(7, 30), TrackingIndex::kNone);
}

TEST_F(TrackingIndexTest, FullIndexFindsEverything) {
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t slot = 0; slot < kBuckets * 10; ++slot) {
    hashes.push_back(random());
    index.insert(hashes.back(), slot);
  }
  for (std::uint32_t slot = 0; slot < hashes.size(); ++slot) {
    EXPECT_EQ(find(hashes[slot], slot), slot);
  }
  EXPECT_EQ(find(random(), 999), TrackingIndex::kNone);
}

TEST_F(TrackingIndexTest, RemovalLeavesNothingBehind) {
  std::mt19937_64 random(3);
  std::map<std::uint32_t, std::uint64_t> present;
  for (int step = 0; step < 20000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random() % (kBuckets * 10));
    if (const auto found = present.find(slot); found != present.end()) {
      index.erase(found->second, slot);
      EXPECT_EQ(find(found->second, slot), TrackingIndex::kNone);
      present.erase(found);
    } else {
      // Few different hashes: crowded buckets.
      const std::uint64_t hash = random() % 4 << 44 | random() % 3;
      index.insert(hash, slot);
      present[slot] = hash;
    }
    for (const auto& [kept, hash] : present) ASSERT_EQ(find(hash, kept), kept);
  }
  for (const auto& [slot, hash] : present) index.erase(hash, slot);
  // No tags, and no count of entries that passed by.
  for (const IndexBucket& bucket : buckets) {
    for (const std::uint64_t lanes : bucket.lanes) EXPECT_EQ(lanes, 0u);
  }
}

TEST_F(TrackingIndexTest, PrefetchingFindsTheSlot) {
  index.insert(0x123456789abcdef0, 5);
  index.insert(0x123456789abcdef1, 6);
  std::vector<std::uint32_t> fetched;
  index.prefetchSlots(0x123456789abcdef0, [&](std::uint32_t slot) { fetched.push_back(slot); });
  EXPECT_EQ(fetched, std::vector<std::uint32_t>{5});
}

}  // namespace
}  // namespace weir
