// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/maglev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace weir {
namespace {

using testing::ElementsAre;

std::vector<MaglevBackend> someBackends(std::size_t count, std::uint64_t seed) {
  std::vector<MaglevBackend> backends;
  for (std::size_t i = 0; i < count; ++i) {
    backends.push_back(maglevBackend("10." + std::to_string(seed % 256) + "." +
                                         std::to_string(i / 256) + "." + std::to_string(i % 256),
                                     1, seed));
  }
  return backends;
}

std::vector<std::uint32_t> loads(const MaglevTable& table, std::size_t backends) {
  std::vector<std::uint32_t> load(backends);
  for (const std::uint16_t backend : table.slots()) ++load.at(backend);
  return load;
}

// Slots that changed hands between two backends that are in both tables. `gone`: index in the
// first table of the one that is not in the second.
std::size_t movedBetweenStaying(const MaglevTable& before, const MaglevTable& after,
                                std::size_t gone) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < before.slots().size(); ++i) {
    const std::size_t was = before.slots()[i];
    const std::size_t is = after.slots()[i] + (after.slots()[i] >= gone ? 1u : 0u);
    moved += was != gone && was != is;
  }
  return moved;
}

TEST(Maglev, P4_1_ExampleOfThePaper) {
  const std::vector<MaglevBackend> backends = {{3, 4, 1}, {0, 2, 1}, {3, 1, 1}};
  EXPECT_THAT(MaglevTable(backends, 7).slots(), ElementsAre(1, 0, 1, 0, 2, 2, 0));
}

TEST(Maglev, P4_1_ExampleOfThePaperAfterARemoval) {
  const std::vector<MaglevBackend> backends = {{3, 4, 1}, {3, 1, 1}};
  EXPECT_THAT(MaglevTable(backends, 7).slots(), ElementsAre(0, 0, 0, 0, 1, 1, 1));
}

TEST(Maglev, P2_EmptySetHasNoTable) {
  EXPECT_TRUE(MaglevTable().empty());
  EXPECT_TRUE(MaglevTable(std::vector<MaglevBackend>{}).empty());
}

TEST(Maglev, P4_1_OneBackendGetsEverything) {
  const MaglevTable table(someBackends(1, 3));
  EXPECT_EQ(loads(table, 1)[0], kMaglevSlots);
  EXPECT_EQ(table.pick(0), 0);
  EXPECT_EQ(table.pick(~std::uint64_t{0}), 0);
}

TEST(Maglev, P4_3_EqualBackendsDifferByOneSlot) {
  for (const std::size_t count : {2u, 3u, 10u, 100u, 1000u, 5000u}) {
    const auto load = loads(MaglevTable(someBackends(count, 1)), count);
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, 1u) << count;
  }
}

TEST(Maglev, P4_3_LoadOfTheBusiestBackendIsBounded) {
  const auto busiestByMean = [](std::size_t count) {
    const auto load = loads(MaglevTable(someBackends(count, 9)), count);
    return *std::max_element(load.begin(), load.end()) * static_cast<double>(count) / kMaglevSlots;
  };
  EXPECT_LE(busiestByMean(100), 1.002);
  EXPECT_LE(busiestByMean(1000), 1.01);
}

TEST(Maglev, P4_2_RemovalMovesFewOtherKeys) {
  struct Bound {
    std::size_t backends;
    std::size_t sets;
    double percent;
  };
  for (const Bound bound : {Bound{10, 40, 0.3}, Bound{100, 4, 0.7}, Bound{1000, 2, 0.7}}) {
    double sum = 0;
    std::size_t removals = 0;
    for (std::uint64_t seed = 1; seed <= bound.sets; ++seed) {
      const auto all = someBackends(bound.backends, seed);
      const MaglevTable before(all);
      for (std::size_t gone = 0; gone < all.size(); gone += bound.backends / 10) {
        auto rest = all;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
        const double moved =
            100.0 * static_cast<double>(movedBetweenStaying(before, MaglevTable(rest), gone)) /
            kMaglevSlots;
        sum += moved;
        ++removals;
        // With ten backends two permutations in some hundred are unluckily alike.
        if (bound.backends > 10) {
          EXPECT_LE(moved, bound.percent) << bound.backends;
        }
      }
    }
    EXPECT_LE(sum / static_cast<double>(removals), bound.percent * 0.6) << bound.backends;
  }
}

TEST(Maglev, P4_2_NewBackendTakesItsShare) {
  for (const std::size_t count : {10u, 100u, 1000u}) {
    const auto all = someBackends(count, 4);
    const MaglevTable before(std::span<const MaglevBackend>(all).first(count - 1));
    const MaglevTable after(all);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < kMaglevSlots; ++i) moved += before.slots()[i] != after.slots()[i];
    const double share = double{kMaglevSlots} / static_cast<double>(count);
    EXPECT_GE(static_cast<double>(moved), share - 1) << count;
    EXPECT_LE(static_cast<double>(moved), share + 0.007 * kMaglevSlots) << count;
  }
}

TEST(Maglev, P9_1_SharesFollowWeights) {
  std::vector<MaglevBackend> backends = someBackends(4, 2);
  const std::uint32_t weights[] = {1000, 1, 0, 499};
  for (std::size_t i = 0; i < 4; ++i) backends[i].weight = weights[i];
  const auto load = loads(MaglevTable(backends), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(load[i], weights[i] * double{kMaglevSlots} / 1500, 1) << i;
  }
  EXPECT_EQ(load[2], 0u);
}

TEST(Maglev, P9_1_WeightsMayAddUpToMoreThanTheSlots) {
  std::vector<MaglevBackend> backends = someBackends(1000, 2);
  std::mt19937 random(8);
  double sum = 0;
  for (MaglevBackend& backend : backends)
    sum += backend.weight = static_cast<std::uint32_t>(random() % 1001);
  const auto load = loads(MaglevTable(backends), backends.size());
  for (std::size_t i = 0; i < backends.size(); ++i) {
    EXPECT_NEAR(load[i], backends[i].weight * double{kMaglevSlots} / sum, 1) << i;
  }
}

TEST(Maglev, P9_1_HugeWeightsDoNotOverflow) {
  std::vector<MaglevBackend> backends = someBackends(3, 2);
  backends[0].weight = backends[1].weight = 0xffffffff;
  backends[2].weight = 1;
  const auto load = loads(MaglevTable(backends), 3);
  EXPECT_NEAR(load[0], kMaglevSlots / 2.0, 1);
  EXPECT_NEAR(load[1], kMaglevSlots / 2.0, 1);
  EXPECT_LE(load[2], 1u);
}

TEST(Maglev, P9_1_ChangingOneWeightMovesFewOtherKeys) {
  for (const std::size_t count : {10u, 100u, 1000u}) {
    std::vector<MaglevBackend> backends = someBackends(count, 6);
    std::mt19937 random(5);
    for (MaglevBackend& backend : backends)
      backend.weight = static_cast<std::uint32_t>(1 + random() % 1000);
    const MaglevTable before(backends);
    backends[count / 2].weight = 1 + backends[count / 2].weight / 2;
    const MaglevTable after(backends);
    const auto was = loads(before, count);
    const auto is = loads(after, count);
    std::size_t needed = 0;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < count; ++i) needed += is[i] > was[i] ? is[i] - was[i] : 0;
    for (std::size_t i = 0; i < kMaglevSlots; ++i) moved += before.slots()[i] != after.slots()[i];
    EXPECT_LE(static_cast<double>(moved - needed), 0.01 * kMaglevSlots) << count;
  }
}

TEST(Maglev, P9_5_AllWeightsZeroAreEqualShares) {
  std::vector<MaglevBackend> backends = someBackends(7, 2);
  const MaglevTable equal(backends);
  for (MaglevBackend& backend : backends) backend.weight = 0;
  const MaglevTable zero(backends);
  EXPECT_TRUE(std::equal(zero.slots().begin(), zero.slots().end(), equal.slots().begin(),
                         equal.slots().end()));
}

TEST(Maglev, P9_1_EqualWeightsAreEqualWhateverTheirValue) {
  std::vector<MaglevBackend> backends = someBackends(7, 2);
  const MaglevTable ones(backends);
  for (MaglevBackend& backend : backends) backend.weight = 317;
  const MaglevTable others(backends);
  EXPECT_TRUE(std::equal(ones.slots().begin(), ones.slots().end(), others.slots().begin()));
}

TEST(Maglev, P10_MostBackendsThatATableTakes) {
  const auto backends = someBackends(65535, 1);
  const auto load = loads(MaglevTable(backends), backends.size());
  EXPECT_EQ(*std::min_element(load.begin(), load.end()), 1u);
  EXPECT_EQ(*std::max_element(load.begin(), load.end()), 2u);
}

}  // namespace
}  // namespace weir
