// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ladders of P2 and P9 and the refinement of P3, rule by rule.
#include "weir/eligibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

enum class Role { primary, failover };
constexpr bool kUp = true;
constexpr bool kDown = false;

// A service's members under construction; slots are given in order, identities are "a", "b", ...
class Fleet {
 public:
  Fleet& add(Role role, bool healthy, std::uint32_t weight = 1, const std::string& zone = "z1") {
    Member member;
    member.slot = BackendSlot(static_cast<std::uint16_t>(members_.size()));
    member.failover = role == Role::failover;
    member.healthy = healthy;
    member.weight = weight;
    member.zone = zone;
    member.identity = std::string(1, static_cast<char>('a' + members_.size()));
    members_.push_back(member);
    return *this;
  }
  Fleet& primary(bool healthy, std::uint32_t weight = 1) {
    return add(Role::primary, healthy, weight);
  }
  Fleet& failover(bool healthy, std::uint32_t weight = 1) {
    return add(Role::failover, healthy, weight);
  }
  Fleet& in(const std::string& zone) {
    members_.back().zone = zone;
    return *this;
  }
  Fleet& invalidWeight() {
    members_.back().weightValid = false;
    return *this;
  }
  const std::vector<Member>& members() const { return members_; }

 private:
  std::vector<Member> members_;
};

BackendService plain() {
  BackendService service;
  service.name = "web";
  service.backends = {{"g", false}};
  return service;
}

BackendService withFailover(double ratio = 0.0) {
  BackendService service = plain();
  service.backends.push_back({"standby", true});
  service.failover.failoverRatio = ratio;
  return service;
}

BackendService weighted(BackendService service) {
  service.weighted = true;
  return service;
}

// "abc": the identities of a set's members, in its order.
std::string names(const Eligibility& eligibility, const Fleet& fleet) {
  std::string all;
  for (const auto& member : eligibility.set.members)
    all += fleet.members()[member.slot.value()].identity;
  return all;
}

std::vector<std::uint32_t> weights(const Eligibility& eligibility) {
  std::vector<std::uint32_t> all;
  for (const auto& member : eligibility.set.members) all.push_back(member.weight);
  return all;
}

struct Outcome {
  std::string rule;
  std::string members;
  Pool pool;
  bool lastResort;
  friend bool operator==(const Outcome&, const Outcome&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << o.rule << " {" << o.members << "} pool " << static_cast<int>(o.pool)
               << (o.lastResort ? " last resort" : "");
  }
};

Outcome outcome(const BackendService& service, const Fleet& fleet) {
  const Eligibility result = eligible(service, fleet.members());
  return {result.set.rule, names(result, fleet), result.pool, result.lastResort};
}

TEST(Eligibility, P2_1_AllHealthyBackends) {
  EXPECT_EQ(outcome(plain(), Fleet().primary(kUp).primary(kDown).primary(kUp)),
            (Outcome{"P2.1", "ac", Pool::primary, false}));
}

TEST(Eligibility, P2_2_NoneHealthyMeansAllAsLastResort) {
  EXPECT_EQ(outcome(plain(), Fleet().primary(kDown).primary(kDown)),
            (Outcome{"P2.2", "ab", Pool::primary, true}));
}

TEST(Eligibility, P2_ServiceWithoutBackendsDrops) {
  EXPECT_EQ(outcome(plain(), Fleet()), (Outcome{"P2.2", "", Pool::none, false}));
  EXPECT_EQ(outcome(withFailover(), Fleet()), (Outcome{"P2.9", "", Pool::none, false}));
  EXPECT_EQ(outcome(weighted(plain()), Fleet()), (Outcome{"P9.3", "", Pool::none, false}));
  EXPECT_EQ(outcome(weighted(withFailover()), Fleet()), (Outcome{"P9.4", "", Pool::none, false}));
}

TEST(Eligibility, P2_3_NoHealthyPrimaryMeansHealthyFailovers) {
  EXPECT_EQ(outcome(withFailover(), Fleet().primary(kDown).failover(kUp).failover(kDown)),
            (Outcome{"P2.3", "b", Pool::failover, false}));
  // Also without any primary.
  EXPECT_EQ(outcome(withFailover(), Fleet().failover(kUp)),
            (Outcome{"P2.3", "a", Pool::failover, false}));
}

TEST(Eligibility, P2_4_NoHealthyFailoverKeepsPrimariesWhateverTheRatio) {
  EXPECT_EQ(outcome(withFailover(1.0), Fleet().primary(kUp).primary(kDown).failover(kDown)),
            (Outcome{"P2.4", "a", Pool::primary, false}));
  // A failover group without members is a failover policy all the same.
  EXPECT_EQ(outcome(withFailover(1.0), Fleet().primary(kUp).primary(kDown)),
            (Outcome{"P2.4", "a", Pool::primary, false}));
}

TEST(Eligibility, P2_5_RatioZeroKeepsPrimaries) {
  EXPECT_EQ(outcome(withFailover(0.0), Fleet().primary(kUp).primary(kDown).failover(kUp)),
            (Outcome{"P2.5", "a", Pool::primary, false}));
}

TEST(Eligibility, P2_6_RatioAtThresholdKeepsPrimaries) {
  EXPECT_EQ(outcome(withFailover(0.5), Fleet().primary(kUp).primary(kDown).failover(kUp)),
            (Outcome{"P2.6", "a", Pool::primary, false}));
}

TEST(Eligibility, P2_6_DecimalRatiosAreMetExactly) {
  for (unsigned total = 1; total <= 100; ++total) {
    for (unsigned healthy = 1; healthy <= total; ++healthy) {
      // The ratio as a person writes it, with as many digits as it takes.
      const double ratio = std::stod(std::to_string(healthy * 1000 / total)) / 1000;
      if (healthy * 1000 % total != 0) continue;
      Fleet fleet;
      for (unsigned i = 0; i < total; ++i) fleet.primary(i < healthy);
      fleet.failover(kUp);
      EXPECT_EQ(eligible(withFailover(ratio), fleet.members()).set.rule, "P2.6")
          << healthy << " of " << total;
    }
  }
}

TEST(Eligibility, P2_7_BelowTheRatioMeansFailovers) {
  EXPECT_EQ(outcome(withFailover(0.51), Fleet().primary(kUp).primary(kDown).failover(kUp)),
            (Outcome{"P2.7", "c", Pool::failover, false}));
}

TEST(Eligibility, P2_8_DropWhenNoneIsHealthy) {
  BackendService service = withFailover();
  service.failover.dropTrafficIfUnhealthy = true;
  EXPECT_EQ(outcome(service, Fleet().primary(kDown).failover(kDown)),
            (Outcome{"P2.8", "", Pool::none, false}));
  // The flag belongs to the failover policy: without one it has no say.
  service.backends.pop_back();
  EXPECT_EQ(outcome(service, Fleet().primary(kDown)), (Outcome{"P2.2", "a", Pool::primary, true}));
}

TEST(Eligibility, P2_9_NoneHealthyMeansPrimariesNeverFailovers) {
  EXPECT_EQ(outcome(withFailover(), Fleet().primary(kDown).failover(kDown).primary(kDown)),
            (Outcome{"P2.9", "ac", Pool::primary, true}));
  EXPECT_EQ(outcome(withFailover(), Fleet().failover(kDown)),
            (Outcome{"P2.9", "", Pool::none, false}));
}

TEST(Eligibility, P4_1_MembersAreSortedByIdentityWhateverTheOrder) {
  Fleet fleet;
  fleet.primary(kUp).primary(kUp).primary(kUp);
  std::vector<Member> reversed(fleet.members().rbegin(), fleet.members().rend());
  EXPECT_EQ(eligible(plain(), reversed).set, eligible(plain(), fleet.members()).set);
}

TEST(Eligibility, ExplanationsCarryTheNumbers) {
  Fleet fleet;
  fleet.primary(kUp).primary(kUp).primary(kUp).primary(kDown).failover(kUp);
  EXPECT_EQ(eligible(withFailover(0.5), fleet.members()).explanation,
            "3 of 4 primaries are healthy (75%), at least the failover ratio of 50%: all healthy "
            "primaries");
  EXPECT_THAT(eligible(withFailover(0.8), fleet.members()).explanation,
              HasSubstr("(75%), less than the failover ratio of 80%"));
}

TEST(Weights, P9_1_MembersCarryTheirWeights) {
  Fleet fleet;
  fleet.primary(kUp, 500).primary(kUp, 1000);
  EXPECT_THAT(weights(eligible(weighted(plain()), fleet.members())), ElementsAre(500, 1000));
  EXPECT_THAT(weights(eligible(plain(), fleet.members())), ElementsAre(1, 1));
}

TEST(Weights, P9_2_OneInvalidWeightMeansEqualWeights) {
  Fleet fleet;
  fleet.primary(kUp, 500).primary(kUp, 0).primary(kDown, 7).invalidWeight();
  const Eligibility result = eligible(weighted(plain()), fleet.members());
  EXPECT_EQ(names(result, fleet), "ab");
  EXPECT_THAT(weights(result), ElementsAre(1, 1));
  EXPECT_EQ(result.set.rule, "P9.3");
}

TEST(Weights, P9_3_FirstNonEmptyRung) {
  const BackendService service = weighted(plain());
  EXPECT_EQ(outcome(service, Fleet().primary(kUp, 0).primary(kDown, 5).primary(kUp, 5)),
            (Outcome{"P9.3", "c", Pool::primary, false}));
  EXPECT_EQ(outcome(service, Fleet().primary(kUp, 0).primary(kDown, 5).primary(kDown, 0)),
            (Outcome{"P9.3", "b", Pool::primary, true}));
  EXPECT_EQ(outcome(service, Fleet().primary(kUp, 0).primary(kDown, 0)),
            (Outcome{"P9.3", "a", Pool::primary, false}));
  EXPECT_EQ(outcome(service, Fleet().primary(kDown, 0).primary(kDown, 0)),
            (Outcome{"P9.3", "ab", Pool::primary, true}));
}

TEST(Weights, P9_4_LadderOfP2WithNonzero) {
  const auto at = [](double ratio) { return weighted(withFailover(ratio)); };
  // The zero-weight primary is no healthy one, but counts as configured.
  EXPECT_EQ(outcome(at(0.5), Fleet().primary(kUp, 0).failover(kUp, 3)),
            (Outcome{"P2.3", "b", Pool::failover, false}));
  EXPECT_EQ(outcome(at(1.0), Fleet().primary(kUp, 3).primary(kDown, 3).failover(kUp, 0)),
            (Outcome{"P2.4", "a", Pool::primary, false}));
  EXPECT_EQ(outcome(at(0.0), Fleet().primary(kUp, 3).primary(kUp, 0).failover(kUp, 3)),
            (Outcome{"P2.5", "a", Pool::primary, false}));
  EXPECT_EQ(outcome(at(0.5), Fleet().primary(kUp, 3).primary(kUp, 0).failover(kUp, 3)),
            (Outcome{"P2.6", "a", Pool::primary, false}));
  EXPECT_EQ(outcome(at(0.6), Fleet().primary(kUp, 3).primary(kUp, 0).failover(kUp, 3)),
            (Outcome{"P2.7", "c", Pool::failover, false}));
}

TEST(Weights, P9_4_LastRungsInOrder) {
  const BackendService service = weighted(withFailover(0.5));
  Fleet fleet;  // from the last rung to the first
  fleet.failover(kDown, 0);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "a", Pool::failover, true}));
  fleet.primary(kDown, 0);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "b", Pool::primary, true}));
  fleet.failover(kUp, 0);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "c", Pool::failover, false}));
  fleet.primary(kUp, 0);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "d", Pool::primary, false}));
  fleet.failover(kDown, 2);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "e", Pool::failover, true}));
  fleet.primary(kDown, 2);
  EXPECT_EQ(outcome(service, fleet), (Outcome{"P9.4", "f", Pool::primary, true}));
}

TEST(Weights, P9_4_DropsWhenP2_8SaysSo) {
  BackendService service = weighted(withFailover());
  service.failover.dropTrafficIfUnhealthy = true;
  EXPECT_EQ(outcome(service, Fleet().primary(kUp, 0).failover(kDown, 5)),
            (Outcome{"P2.8", "", Pool::none, false}));
}

TEST(Weights, P9_5_SetOfZeroWeightsSharesEqually) {
  Fleet fleet;
  fleet.primary(kUp, 0).primary(kUp, 0);
  EXPECT_THAT(weights(eligible(weighted(plain()), fleet.members())), ElementsAre(1, 1));
}

struct Refined {
  std::string rule, zonalRule, members;
  friend bool operator==(const Refined&, const Refined&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Refined& r) {
    return out << r.rule << "/" << r.zonalRule << " {" << r.members << "}";
  }
};

std::optional<Refined> refine(const BackendService& service, const Fleet& fleet,
                              const std::string& zone = "z1") {
  const Eligibility base = eligible(service, fleet.members());
  const auto result = refineForZone(service, fleet.members(), base, zone);
  if (!result) return std::nullopt;
  EXPECT_EQ(result->pool, base.pool);
  return Refined{result->set.rule, result->set.zonalRule, names(*result, fleet)};
}

BackendService zonal(Spillover spillover, double ratio = 0.0, BackendService service = plain()) {
  service.spillover = spillover;
  service.spilloverRatio = ratio;
  return service;
}

TEST(ZonalAffinity, P3_1_DisabledIsSkipped) {
  EXPECT_EQ(refine(plain(), Fleet().primary(kUp).primary(kUp).in("z2")), std::nullopt);
}

TEST(ZonalAffinity, P3_2_NoBackendOfTheZoneIsSkipped) {
  const auto fleet = Fleet().primary(kUp).in("z2");
  EXPECT_EQ(refine(zonal(Spillover::stayWithinZone), fleet), std::nullopt);
  EXPECT_EQ(refine(zonal(Spillover::spillCrossZone), fleet), std::nullopt);
}

TEST(ZonalAffinity, P3_2_OnlyTheActiveRoleMatches) {
  // The zone has a primary, but failover backends are active.
  const auto service = zonal(Spillover::stayWithinZone, 0.0, withFailover());
  EXPECT_EQ(refine(service, Fleet().primary(kDown).failover(kUp).in("z2")), std::nullopt);
  EXPECT_EQ(refine(service, Fleet().primary(kDown).failover(kUp).failover(kUp).in("z2")),
            (Refined{"P2.3", "P3.3", "b"}));
}

TEST(ZonalAffinity, P3_3_StayKeepsTheZones) {
  EXPECT_EQ(refine(zonal(Spillover::stayWithinZone),
                   Fleet().primary(kUp).primary(kDown).primary(kUp).in("z2")),
            (Refined{"P2.1", "P3.3", "a"}));
}

TEST(ZonalAffinity, P3_3_StayTakesTheZonesUnhealthyWhenNoneIsEligible) {
  EXPECT_EQ(refine(zonal(Spillover::stayWithinZone),
                   Fleet().primary(kDown).primary(kDown).primary(kUp).in("z2")),
            (Refined{"P2.1", "P3.3", "ab"}));
}

TEST(ZonalAffinity, P3_3_StayRefinesALastResortSet) {
  EXPECT_EQ(
      refine(zonal(Spillover::stayWithinZone), Fleet().primary(kDown).primary(kDown).in("z2")),
      (Refined{"P2.2", "P3.3", "a"}));
}

TEST(ZonalAffinity, P3_3_StayWithWeights) {
  const auto service = zonal(Spillover::stayWithinZone, 0.0, weighted(plain()));
  // Unhealthy ones of nonzero weight before those of zero weight.
  EXPECT_EQ(refine(service, Fleet().primary(kDown, 0).primary(kDown, 2).primary(kUp, 1).in("z2")),
            (Refined{"P9.3", "P3.3", "b"}));
  EXPECT_EQ(refine(service, Fleet().primary(kDown, 0).primary(kUp, 0).primary(kUp, 1).in("z2")),
            (Refined{"P9.3", "P3.3", "a"}));
  EXPECT_EQ(refine(service, Fleet().primary(kUp, 0).primary(kUp, 1).in("z2")),
            (Refined{"P9.3", "P3.3", "a"}));
}

TEST(ZonalAffinity, P3_4_SpillWithRatioZero) {
  const auto service = zonal(Spillover::spillCrossZone);
  EXPECT_EQ(refine(service, Fleet().primary(kUp).primary(kDown).primary(kUp).in("z2")),
            (Refined{"P2.1", "P3.4", "a"}));
  EXPECT_EQ(refine(service, Fleet().primary(kDown).primary(kUp).in("z2")), std::nullopt);
}

TEST(ZonalAffinity, P3_5_SpillRatioOfTheZonesConfiguredBackends) {
  const auto fleet = Fleet().primary(kUp).primary(kDown).primary(kUp).in("z2");
  EXPECT_EQ(refine(zonal(Spillover::spillCrossZone, 0.5), fleet), (Refined{"P2.1", "P3.5", "a"}));
  EXPECT_EQ(refine(zonal(Spillover::spillCrossZone, 0.51), fleet), std::nullopt);
}

TEST(ZonalAffinity, P3_5_DenominatorCountsTheRoleOnly) {
  const auto service = zonal(Spillover::spillCrossZone, 1.0, withFailover());
  EXPECT_EQ(refine(service, Fleet().primary(kUp).failover(kDown).primary(kUp).in("z2")),
            (Refined{"P2.4", "P3.5", "a"}));
}

TEST(ZonalAffinity, P3_6_SpillNeverRefinesALastResortSet) {
  const auto fleet = Fleet().primary(kDown).primary(kDown).in("z2");
  EXPECT_EQ(refine(zonal(Spillover::spillCrossZone), fleet), std::nullopt);
  EXPECT_EQ(refine(zonal(Spillover::spillCrossZone, 0.1), fleet), std::nullopt);
}

TEST(ZonalAffinity, P3_7_EmptyByP2_8StaysEmpty) {
  auto service = zonal(Spillover::stayWithinZone, 0.0, withFailover());
  service.failover.dropTrafficIfUnhealthy = true;
  EXPECT_EQ(refine(service, Fleet().primary(kDown).failover(kDown)), std::nullopt);
}

}  // namespace
}  // namespace weir
