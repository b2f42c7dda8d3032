// SPDX-License-Identifier: GPL-2.0-or-later
#include "eligible_set.h"

#include <algorithm>

namespace weir {

bool weightingActs(const BackendService& service, std::span<const Member> members) noexcept {
  return service.weighted &&
         std::all_of(members.begin(), members.end(), [](const Member& m) { return m.weightValid; });
}

std::vector<Candidate> candidates(const BackendService& service, std::span<const Member> members) {
  const bool weighting = weightingActs(service, members);
  std::vector<Candidate> all;
  all.reserve(members.size());
  for (const Member& member : members) all.push_back({&member, weighting ? member.weight : 1});
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.member->identity < b.member->identity;
  });
  return all;
}

Eligibility makeSet(std::string rule, Pool pool, std::span<const Candidate> chosen,
                    std::string explanation) {
  Eligibility result;
  result.set.rule = std::move(rule);
  result.pool = chosen.empty() ? Pool::none : pool;
  result.explanation = std::move(explanation);
  const bool anyWeight =
      std::any_of(chosen.begin(), chosen.end(), [](const Candidate& c) { return c.nonzero(); });
  const bool anyHealthy =
      std::any_of(chosen.begin(), chosen.end(), [](const Candidate& c) { return c.healthy(); });
  result.lastResort = !chosen.empty() && !anyHealthy;
  result.set.members.reserve(chosen.size());
  for (const Candidate& candidate : chosen)
    result.set.members.push_back({candidate.member->slot, anyWeight ? candidate.weight : 1});
  return result;
}

}  // namespace weir
