// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace weir {

// Turns in proportion to weights, spread evenly: a member of weight w is due every 1/w, and the one
// due earliest is next (earliest deadline first). A choice costs O(log members).
class WeightedTurns {
 public:
  WeightedTurns() = default;
  // Weight 0: no turns, unless all are 0, which makes all equal. `dues`: how far off each member's
  // next turn is; nullopt: as far as its weight says.
  WeightedTurns(std::span<const std::uint32_t> weights,
                std::span<const std::optional<double>> dues) {
    bool allZero = true;
    for (const std::uint32_t weight : weights) allZero = allZero && weight == 0;
    due_.resize(weights.size());
    steps_.resize(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::uint32_t weight = allZero ? 1 : weights[i];
      if (weight == 0) continue;
      steps_[i] = 1.0 / weight;
      due_[i] = dues[i].value_or(steps_[i]);
      order_.emplace(due_[i], i);
    }
  }

  // The member whose turn is next among those that `accepts(member)`; it had its turn then.
  template <class Accepts>
  std::optional<std::size_t> pick(Accepts accepts) {
    for (auto it = order_.begin(); it != order_.end(); ++it) {
      const std::size_t member = it->second;
      if (!accepts(member)) continue;
      if (it == order_.begin()) now_ = it->first;
      order_.erase(it);
      due_[member] = std::max(due_[member], now_) + steps_[member];
      order_.emplace(due_[member], member);
      return member;
    }
    return std::nullopt;
  }
  // How far off a member's next turn is; nullopt: it has none.
  std::optional<double> dueIn(std::size_t member) const {
    return steps_[member] == 0 ? std::nullopt : std::optional(std::max(0.0, due_[member] - now_));
  }

 private:
  double now_ = 0;
  std::vector<double> due_;
  std::vector<double> steps_;  // 0: no turns
  std::set<std::pair<double, std::size_t>> order_;
};

}  // namespace weir
