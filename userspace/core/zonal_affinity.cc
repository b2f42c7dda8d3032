// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "eligible_set.h"

namespace weir {
namespace {

// The backends of the client's zone that have the role of the base set, and which of them the base
// set holds.
struct ZoneShare {
  std::vector<Candidate> configured;
  std::vector<Candidate> eligible;
};

ZoneShare shareOf(const BackendService& service, std::span<const Member> members,
                  const Eligibility& base, const std::string& zone) {
  const std::vector<Candidate> all = candidates(service, members);
  ZoneShare share;
  share.configured = filter(all, [&](const Candidate& c) {
    return c.member->zone == zone && c.failover() == (base.pool == Pool::failover);
  });
  std::unordered_set<BackendSlot> inBase;
  for (const auto& member : base.set.members) inBase.insert(member.slot);
  share.eligible =
      filter(share.configured, [&](const Candidate& c) { return inBase.contains(c.member->slot); });
  return share;
}

Eligibility refined(const Eligibility& base, std::string_view zonalRule,
                    std::span<const Candidate> chosen, std::string explanation) {
  Eligibility result = makeSet(base.set.rule, base.pool, chosen, std::move(explanation));
  result.set.zonalRule = zonalRule;
  return result;
}

// P3.3. Never empty, since the zone has a configured backend of the role.
Eligibility stayWithin(const Eligibility& base, const ZoneShare& share, const std::string& zone) {
  if (!share.eligible.empty())
    return refined(base, "P3.3", share.eligible,
                   fmt::format("{}; of these the {} in the client's zone {}", base.explanation,
                               share.eligible.size(), zone));
  const auto unhealthy = filter(share.configured, [](const Candidate& c) { return !c.healthy(); });
  const auto weighing = filter(unhealthy, [](const Candidate& c) { return c.nonzero(); });
  const auto& chosen = !weighing.empty()    ? weighing
                       : !unhealthy.empty() ? unhealthy
                                            : share.configured;
  return refined(base, "P3.3", chosen,
                 fmt::format("{} in the client's zone {} is {}eligible: {} {} there all the same",
                             share.configured.size() == 1
                                 ? std::string("the only backend")
                                 : fmt::format("none of the {} backends", share.configured.size()),
                             zone, share.configured.size() == 1 ? "not " : "", chosen.size(),
                             unhealthy.empty() ? "of weight 0" : "unhealthy"));
}

// P3.4, P3.5.
std::optional<Eligibility> spillCross(const BackendService& service, const Eligibility& base,
                                      const ZoneShare& share, const std::string& zone) {
  if (share.eligible.empty()) return std::nullopt;
  const std::string ofZone =
      fmt::format("{}; {} of {} backends in the client's zone {} are healthy and eligible",
                  base.explanation, share.eligible.size(), share.configured.size(), zone);
  if (service.spilloverRatio == 0.0)
    return refined(base, "P3.4", share.eligible, ofZone + ", the spillover ratio is 0: only those");
  if (!meetsRatio(share.eligible.size(), share.configured.size(), service.spilloverRatio))
    return std::nullopt;
  return refined(base, "P3.5", share.eligible,
                 fmt::format("{}, at least the spillover ratio of {:.6g}%: only those", ofZone,
                             100.0 * service.spilloverRatio));
}

}  // namespace

std::optional<Eligibility> refineForZone(const BackendService& service,
                                         std::span<const Member> members, const Eligibility& base,
                                         const std::string& zone) {
  // P3.1; an empty set is one that P2.8 asked for (P3.7) or has no backend of its role anywhere.
  if (service.spillover == Spillover::disabled || base.set.members.empty()) return std::nullopt;
  const ZoneShare share = shareOf(service, members, base, zone);
  if (share.configured.empty()) return std::nullopt;  // P3.2
  switch (service.spillover) {
    case Spillover::disabled:
      return std::nullopt;
    case Spillover::stayWithinZone:
      return stayWithin(base, share, zone);
    case Spillover::spillCrossZone:
      // P3.6; in any other set every member is healthy.
      if (base.lastResort) return std::nullopt;
      return spillCross(service, base, share, zone);
  }
  return std::nullopt;
}

}  // namespace weir
