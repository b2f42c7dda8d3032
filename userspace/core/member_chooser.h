// SPDX-License-Identifier: GPL-2.0-or-later
//
// A member of a group by its locality policy (X4). Members are numbers, in the order in which they
// were given; who they are and how they fare is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hash_ring.h"
#include "random_numbers.h"
#include "weighted_turns.h"
#include "weir/maglev.h"
#include "weir/proxy_model.h"

namespace weir {

class MemberChooser {
 public:
  struct Members {
    std::vector<std::string> identities;  // sorted, so that tables do not depend on an order
    std::vector<std::uint32_t> weights;   // for WEIGHTED_ROUND_ROBIN; otherwise all 1
    friend bool operator==(const Members&, const Members&) = default;
  };
  // What a choice may ask of members.
  struct Questions {
    std::function<bool(std::size_t)> accepts;
    std::function<std::uint64_t(std::size_t)> open;  // connections
  };

  MemberChooser() = default;
  // ORIGINAL_DESTINATION chooses no members of groups; it is treated as ROUND_ROBIN.
  MemberChooser(LocalityPolicy policy, Members members, std::uint64_t seed);
  // Whose turn it is goes over from `before` where members are the same.
  void takeTurns(const MemberChooser& before);

  LocalityPolicy policy() const noexcept { return policy_; }
  const Members& members() const noexcept { return members_; }
  std::size_t size() const noexcept { return members_.identities.size(); }

  // nullopt: no member is accepted.
  std::optional<std::size_t> choose(std::uint64_t hash, RandomNumbers&, const Questions&);

 private:
  std::optional<std::size_t> scanFrom(std::size_t first, const Questions&) const;
  std::optional<std::size_t> nextInTurn(const Questions&);
  std::optional<std::size_t> lessLoaded(RandomNumbers&, const Questions&) const;
  std::optional<std::size_t> atRandom(RandomNumbers&, const Questions&) const;
  std::optional<std::size_t> byMaglev(std::uint64_t hash, const Questions&) const;

  LocalityPolicy policy_ = LocalityPolicy::roundRobin;
  Members members_;
  std::size_t turn_ = 0;  // ROUND_ROBIN: who is next
  MaglevTable maglev_;    // empty with a single member
  HashRing ring_;
  WeightedTurns turns_;
};

}  // namespace weir
