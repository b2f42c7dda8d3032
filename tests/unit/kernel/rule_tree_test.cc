// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/rule_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "unit/kernel/rule_walk.h"

namespace weir::manager {
namespace {

constexpr RuleTreeLayout kLayout{10000, 0x77650000, 0xffff0000};
constexpr std::uint32_t kLeaves = 1u << kTreeBits;
constexpr std::uint32_t kForeignBits = 0x1234;  // outside of the mask

std::uint32_t markOf(std::uint32_t index) { return index << 16 | kForeignBits; }

std::vector<std::uint32_t> sequence(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

std::vector<std::uint32_t> randomIndices(std::mt19937& random, std::size_t count) {
  std::set<std::uint32_t> indices;
  std::uniform_int_distribution<std::uint32_t> any(1, kLeaves - 1);
  while (indices.size() < count) indices.insert(any(random));
  return {indices.begin(), indices.end()};
}

// Sorted once; walk() sorts again, which is cheap then.
std::vector<RoutingRule> laid(std::span<const std::uint32_t> indices) {
  auto rules = layRuleTree(kLayout, indices);
  std::ranges::reverse(rules);
  return rules;
}

TEST(RuleTree, NoBackendsNeedNoRules) { EXPECT_TRUE(layRuleTree(kLayout, {}).empty()); }

TEST(RuleTree, RulesComeHighestPreferenceFirstSoThatJumpsFindTheirTargets) {
  std::mt19937 random(1);
  const auto rules = layRuleTree(kLayout, randomIndices(random, 500));
  std::set<std::uint32_t> laidBefore;
  for (const RoutingRule& rule : rules) {
    EXPECT_TRUE(
        laidBefore.empty() || rule.preference < *laidBefore.begin() ||
        (rule.action == RoutingRule::Action::lookup && rule.preference == *laidBefore.begin()));
    EXPECT_TRUE(rule.action != RoutingRule::Action::jump || laidBefore.contains(rule.target));
    laidBefore.insert(rule.preference);
  }
}

TEST(RuleTree, PreferencesStayInTheirRange) {
  const auto rules = laid(sequence(1, kMarkIndices - 1));
  EXPECT_EQ(rules.front().preference, kLayout.ruleBase);
  EXPECT_EQ(rules.back().preference, kLayout.ruleBase + kRulePreferences - 1);
  EXPECT_EQ(leafPreference(kLayout, kMarkIndices - 1), rules.back().preference - 1);
}

TEST(RuleTree, UnmarkedPacketsMeetTwoRules) {
  const auto rules = laid(sequence(1, 1000));
  const Walk unmarked = walk(rules, kForeignBits);
  EXPECT_EQ(unmarked.table, std::nullopt);
  EXPECT_EQ(unmarked.tests, 2u);  // the first, and the nop that it leads to
}

TEST(RuleTree, AThousandBackendsCostTwelveTests) {
  const auto rules = laid(sequence(1, 1000));
  unsigned most = 0;
  for (std::uint32_t index = 1; index <= 1000; ++index)
    most = std::max(most, walk(rules, markOf(index)).tests);
  EXPECT_EQ(most, 12u);  // the first, ten bits, the leaf
  EXPECT_LE(rules.size(), 2u * 1000 + 2 + kTreeBits);
}

TEST(RuleTree, EveryMarkFindsItsTableAndOthersFindNone) {
  std::mt19937 random(2);
  for (const std::size_t count : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    const auto indices = randomIndices(random, count);
    const std::set<std::uint32_t> present(indices.begin(), indices.end());
    const auto rules = laid(indices);
    for (std::uint32_t index = 0; index < kLeaves; index += count < 1000 ? 1 : 7) {
      const Walk found = walk(rules, markOf(index));
      ASSERT_EQ(found.table,
                present.contains(index) ? std::optional(kLayout.tableBase + index) : std::nullopt)
          << index << " of " << count;
      ASSERT_TRUE(!found.table || found.tests <= kTreeBits + 2);
    }
    // The same leaf, another mark: no backend of ours.
    EXPECT_EQ(walk(rules, markOf(kLeaves + indices.front())).table, std::nullopt);
  }
}

TEST(RuleTree, P10_MoreBackendsThanLeavesShareThem) {
  const auto rules = laid(sequence(1, kMarkIndices - 1));
  for (std::uint32_t index = 1; index < kMarkIndices; index += 997) {
    const Walk found = walk(rules, markOf(index));
    ASSERT_EQ(found.table, kLayout.tableBase + index);
    // The first, thirteen bits, and the eight of the leaf.
    ASSERT_LE(found.tests, 1 + kTreeBits + 8);
  }
  EXPECT_EQ(walk(rules, kForeignBits).table, std::nullopt);
}

TEST(RuleTree, MarksFindTheirTablesWhicheverInnerRulesAreMissing) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const auto indices = randomIndices(random, 60);
    auto rules = laid(indices);
    std::erase_if(rules, [&](const RoutingRule& rule) {
      return rule.action != RoutingRule::Action::lookup && random() % 2 == 0;
    });
    for (const std::uint32_t index : indices)
      ASSERT_EQ(walk(rules, markOf(index)).table, kLayout.tableBase + index) << round;
  }
}

TEST(RuleTree, MarksFindTheirTablesWhileOneTreeTurnsIntoAnother) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    const auto before = randomIndices(random, 40);
    const auto after = randomIndices(random, 40);
    // New rules are added one by one, then all old ones are there too.
    auto rules = laid(before);
    for (const RoutingRule& rule : layRuleTree(kLayout, after)) {
      if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
      for (const std::uint32_t index : before)
        ASSERT_EQ(walk(rules, markOf(index)).table, kLayout.tableBase + index) << round;
    }
    for (const std::uint32_t index : after)
      ASSERT_EQ(walk(rules, markOf(index)).table, kLayout.tableBase + index) << round;
  }
}

TEST(RuleTree, AnotherBackendTouchesOnlyItsOwnPath) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    const auto indices = randomIndices(random, 200);
    const std::uint32_t added = indices[random() % indices.size()];
    auto without = indices;
    std::erase(without, added);

    std::set<std::uint32_t> path{leafPreference(kLayout, added)};
    std::uint32_t node = kLayout.ruleBase + 1;
    for (std::uint32_t bit = kLeaves / 2; bit != 0; bit /= 2) {
      path.insert(node);
      path.insert(node + 2 * bit);  // the right half, which becomes a target
      node += (added & bit) != 0 ? 2 * bit : 1;
    }
    const auto larger = laid(indices);
    const auto smaller = laid(without);
    std::vector<RoutingRule> difference;
    std::ranges::set_symmetric_difference(larger, smaller, std::back_inserter(difference));
    for (const RoutingRule& rule : difference) EXPECT_TRUE(path.contains(rule.preference));
    EXPECT_LE(difference.size(), 2u * kTreeBits);
  }
}

TEST(RuleTree, NarrowMasksWorkAlike) {
  const RuleTreeLayout narrow{500, 100, 0x00000f00};
  const std::vector<std::uint32_t> indices{1, 2, 3, 8, 15};
  const auto rules = layRuleTree(narrow, indices);
  for (std::uint32_t index = 0; index < 16; ++index) {
    const bool present = std::ranges::find(indices, index) != indices.end();
    EXPECT_EQ(walk(rules, index << 8 | 0xf000000f).table,
              present ? std::optional(100 + index) : std::nullopt);
  }
  EXPECT_EQ(indexOfMark(Mark(0xabc00d34), 0x00000f00), 13u);
}

}  // namespace
}  // namespace weir::manager
