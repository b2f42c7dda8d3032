// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the ladders (P2, P9) and zonal affinity (P3) share: members with the weights that count, and
// sets made of some of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/eligibility.h"

namespace weir {

// A member and its weight after P9.2: 1 where weighting does not act.
struct Candidate {
  const Member* member;
  std::uint32_t weight;

  bool healthy() const noexcept { return member->healthy; }
  bool failover() const noexcept { return member->failover; }
  bool nonzero() const noexcept { return weight != 0; }
};

// Does weighting act (P9.2)?
bool weightingActs(const BackendService&, std::span<const Member>) noexcept;
// Every member, sorted by identity, with the weight that counts.
std::vector<Candidate> candidates(const BackendService&, std::span<const Member>);

// The set of the given candidates; the caller fills in the zonal rule.
Eligibility makeSet(std::string rule, Pool pool, std::span<const Candidate> chosen,
                    std::string explanation);

template <class Predicate>
std::vector<Candidate> filter(std::span<const Candidate> from, Predicate keep) {
  std::vector<Candidate> kept;
  for (const Candidate& candidate : from)
    if (keep(candidate)) kept.push_back(candidate);
  return kept;
}

// Is part / whole at least `ratio`? Both are counts, so that the division rounds to the double
// nearest to the true quotient, which is also what the text of that ratio reads as: 1 of 10 meets
// 0.1, 3 of 10 meets 0.3.
inline bool meetsRatio(std::size_t part, std::size_t whole, double ratio) noexcept {
  return static_cast<double>(part) / static_cast<double>(whole) >= ratio;
}

}  // namespace weir
