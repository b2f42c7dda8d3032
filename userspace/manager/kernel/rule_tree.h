// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the routing rules of backends lie. Pure: numbers in, rules out.
//
// The kernel walks routing rules one after the other, so a rule per backend in a line costs every
// packet as many tests as there are backends. Here they form a binary tree over the low bits of the
// mark's index, laid out in pre-order, that is walked by `goto` rules:
//
//   ruleBase        fwmark 0/mask goto end      unmarked traffic leaves at the first rule
//   ruleBase + 1    root: highest bit set: goto the right half; else fall through to the left one
//   ...             leaves: fwmark M/mask lookup table
//   end             nop                         ruleBase + 2^(kTreeBits + 1)
//
// Every node has one preference for ever, whatever else is present, so a new backend only adds
// rules on its own path. A node has a rule only if packets must be told where to go (both halves
// are inhabited), or if a goto leads to it.
//
// Preferences are scarce, since all must come before the main table's 32766. So indices that differ
// in their higher bits alone share a leaf: their rules have the same preference, and the kernel
// tries them one by one. As indices are given out from 1 on, that begins with the 8,192nd backend,
// and 65,535 of them cost a packet at most eight tests more.
//
// Why it is right in every state in between: a goto only jumps over the left half of its own node,
// and only with a mark that does not belong there; leaves compare the whole mark. So whichever
// inner rules are there, a walk meets the leaf of its own mark and can match no other; inner rules
// only make it short. Jumps go forward only, so every walk ends.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/control_plane.h"
#include "weir/types.h"

namespace weir::manager {

// Marks have an index (their bits under the mask); 0 is "no mark", the others are backends.
inline constexpr std::uint32_t kMarkIndices = kLastMarkPosition + 1;
// The bits of an index that the tree is made of.
inline constexpr unsigned kTreeBits = 13;
// Preferences that the layout takes, from ruleBase on.
inline constexpr std::uint32_t kRulePreferences = (2u << kTreeBits) + 1;

struct RoutingRule {
  enum class Action : std::uint8_t {
    lookup,  // target: routing table
    jump,    // target: preference, higher than this rule's
    nothing
  };
  std::uint32_t preference = 0;
  Action action = Action::nothing;
  std::uint32_t mark = 0;  // the rule matches a packet when (packet's mark & mask) == mark
  std::uint32_t mask = 0;
  std::uint32_t target = 0;
  friend auto operator<=>(const RoutingRule&, const RoutingRule&) = default;
};

struct RuleTreeLayout {
  std::uint32_t ruleBase = 0;    // at most 2^32 - kRulePreferences
  std::uint32_t tableBase = 0;   // table of index i: tableBase + i
  std::uint32_t fwmarkMask = 0;  // contiguous bits
};

// Index of a mark under a mask of contiguous bits.
std::uint32_t indexOfMark(Mark, std::uint32_t fwmarkMask) noexcept;

// Preference of an index's leaf.
std::uint32_t leafPreference(const RuleTreeLayout&, std::uint32_t index) noexcept;

// The rules for these indices (ascending, unique, 1..kMarkIndices - 1), highest preference first:
// added in this order, every goto finds its target. No indices: no rules.
std::vector<RoutingRule> layRuleTree(const RuleTreeLayout&, std::span<const std::uint32_t> indices);

}  // namespace weir::manager
