// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/rule_tree.h"

#include <algorithm>
#include <bit>

namespace weir::manager {
namespace {

constexpr std::uint32_t endPreference(const RuleTreeLayout& layout) noexcept {
  return layout.ruleBase + kRulePreferences - 1;
}

class Tree {
 public:
  explicit Tree(const RuleTreeLayout& layout)
      : layout_(layout), shift_(static_cast<unsigned>(std::countr_zero(layout.fwmarkMask))) {}

  // Right halves first, a node after both its halves: preferences fall. `indices` are in the order
  // of their low bits.
  void lay(std::span<const std::uint32_t> indices, unsigned depth, std::uint32_t preference,
           bool isTarget) {
    if (indices.empty()) return;
    if (depth == kTreeBits) {
      for (const std::uint32_t index : indices)
        rules_.push_back({preference, RoutingRule::Action::lookup, index << shift_,
                          layout_.fwmarkMask, layout_.tableBase + index});
      return;
    }
    const std::uint32_t bit = 1u << (kTreeBits - 1 - depth);
    const auto middle = std::partition_point(indices.begin(), indices.end(),
                                             [bit](std::uint32_t i) { return (i & bit) == 0; });
    const std::span left(indices.begin(), middle);
    const std::span right(middle, indices.end());
    const bool forks = !left.empty() && !right.empty();
    const std::uint32_t rightPreference = preference + (2u << (kTreeBits - 1 - depth));

    lay(right, depth + 1, rightPreference, forks);
    lay(left, depth + 1, preference + 1, false);
    if (forks) {
      const std::uint32_t markBit = bit << shift_;
      rules_.push_back({preference, RoutingRule::Action::jump, markBit, markBit, rightPreference});
    } else if (isTarget) {
      rules_.push_back({preference, RoutingRule::Action::nothing, 0, 0, 0});
    }
  }

  std::vector<RoutingRule> rules_;

 private:
  const RuleTreeLayout& layout_;
  unsigned shift_;
};

}  // namespace

std::uint32_t indexOfMark(Mark mark, std::uint32_t fwmarkMask) noexcept {
  return (mark.value() & fwmarkMask) >> std::countr_zero(fwmarkMask);
}

std::uint32_t leafPreference(const RuleTreeLayout& layout, std::uint32_t index) noexcept {
  std::uint32_t preference = layout.ruleBase + 1;
  for (unsigned depth = 0; depth < kTreeBits; ++depth) {
    const std::uint32_t bit = 1u << (kTreeBits - 1 - depth);
    preference += (index & bit) != 0 ? 2 * bit : 1;
  }
  return preference;
}

std::vector<RoutingRule> layRuleTree(const RuleTreeLayout& layout,
                                     std::span<const std::uint32_t> indices) {
  if (indices.empty()) return {};
  Tree tree(layout);
  tree.rules_.push_back({endPreference(layout), RoutingRule::Action::nothing, 0, 0, 0});
  std::vector<std::uint32_t> byLeaf(indices.begin(), indices.end());
  constexpr std::uint32_t kLowBits = (1u << kTreeBits) - 1;
  std::ranges::stable_sort(byLeaf, {}, [](std::uint32_t index) { return index & kLowBits; });
  tree.lay(byLeaf, 0, layout.ruleBase + 1, false);
  tree.rules_.push_back(
      {layout.ruleBase, RoutingRule::Action::jump, 0, layout.fwmarkMask, endPreference(layout)});
  return std::move(tree.rules_);
}

}  // namespace weir::manager
