// SPDX-License-Identifier: GPL-2.0-or-later
//
// The kernel's walk over routing rules (fib_rules_lookup), for tests: rules in order of preference,
// equal ones in order of addition; a goto without a target is skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "manager/kernel/rule_tree.h"

namespace weir::manager {

struct Walk {
  std::optional<std::uint32_t> table;  // of the lookup that matched
  unsigned tests = 0;                  // rules compared with the packet
};

inline Walk walk(std::vector<RoutingRule> rules, std::uint32_t packetMark) {
  std::ranges::stable_sort(rules, {}, &RoutingRule::preference);
  Walk result;
  for (std::size_t i = 0; i < rules.size();) {
    const RoutingRule& rule = rules[i];
    ++result.tests;
    ++i;
    if ((packetMark & rule.mask) != rule.mark) continue;
    switch (rule.action) {
      case RoutingRule::Action::lookup:
        result.table = rule.target;
        return result;
      case RoutingRule::Action::jump: {
        const auto target =
            std::ranges::lower_bound(rules, rule.target, {}, &RoutingRule::preference);
        if (target == rules.end() || target->preference != rule.target) break;
        i = static_cast<std::size_t>(target - rules.begin());
        break;
      }
      case RoutingRule::Action::nothing:
        break;
    }
  }
  return result;
}

}  // namespace weir::manager
