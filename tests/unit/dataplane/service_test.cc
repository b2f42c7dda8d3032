// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <algorithm>

#include "support/data_plane_fixture.h"

namespace weir {
namespace {

using namespace test;

TEST(Service, BackendsAreFoundBySlot) {
  ServiceSnapshot snapshot = makeService(1, 3);
  snapshot.backends[1].slot = slot(500);
  snapshot.backends[1].validFrom[2] = generation(9);
  setEligible(snapshot, {0, 500});
  const Service service(snapshot, 0);
  ASSERT_NE(service.backend(slot(500)), nullptr);
  EXPECT_EQ(service.backend(slot(500))->mark, markOf(1));
  EXPECT_EQ(service.backend(slot(500))->validFrom[2], generation(9));
  EXPECT_EQ(service.describe(slot(500))->endpoint, "10.2.0.2");
  for (const unsigned hole : {1u, 3u, 499u, 501u, 65535u}) {
    EXPECT_EQ(service.backend(slot(hole)), nullptr);
    EXPECT_EQ(service.describe(slot(hole)), nullptr);
  }
}

TEST(Service, P4_1_TheOrderOfBackendsAndMembersDoesNotMatter) {
  ServiceSnapshot sorted = makeService(1, 20);
  ServiceSnapshot shuffled = sorted;
  std::reverse(shuffled.backends.begin(), shuffled.backends.end());
  std::rotate(shuffled.eligible.members.begin(), shuffled.eligible.members.begin() + 7,
              shuffled.eligible.members.end());
  const Service a(sorted, 42);
  const Service b(shuffled, 42);
  const auto& one = a.choiceFor(kNoZone);
  const auto& other = b.choiceFor(kNoZone);
  EXPECT_EQ(one.set, other.set);
  EXPECT_TRUE(std::ranges::equal(one.table.slots(), other.table.slots()));
}

TEST(Service, P4_1_SlotsAndMarksDoNotMatterEither) {
  // Another node may have given other numbers to the same backends.
  ServiceSnapshot here = makeService(1, 5);
  ServiceSnapshot there = here;
  for (auto& backend : there.backends) backend.slot = slot(100u - backend.slot.value());
  setEligible(there, {100, 99, 98, 97, 96});
  const Service a(here, 42);
  const Service b(there, 42);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t hash = i * 0x9e3779b97f4a7c15ull;
    const auto& x = a.choiceFor(kNoZone);
    const auto& y = b.choiceFor(kNoZone);
    EXPECT_EQ(a.describe(x.set.members[x.table.pick(hash)].slot)->endpoint,
              b.describe(y.set.members[y.table.pick(hash)].slot)->endpoint);
  }
}

TEST(Service, TheSeedChangesTheTable) {
  const Service a(makeService(1, 20), 1);
  const Service b(makeService(1, 20), 2);
  EXPECT_FALSE(
      std::ranges::equal(a.choiceFor(kNoZone).table.slots(), b.choiceFor(kNoZone).table.slots()));
}

TEST(Service, P3_ZonesHaveTheirOwnSets) {
  ServiceSnapshot snapshot = makeService(1, 4);
  EligibleSet near{"P2.1", "P3.4", {{slot(2), 1}}};
  snapshot.zonal = {{zoneIndex(0), near}, {zoneIndex(5), near}, {zoneIndex(2), snapshot.eligible}};
  const Service service(snapshot, 0);
  EXPECT_EQ(service.choiceFor(kNoZone).set, snapshot.eligible);
  EXPECT_EQ(service.choiceFor(zoneIndex(0)).set, near);
  EXPECT_EQ(service.choiceFor(zoneIndex(1)).set, snapshot.eligible);
  EXPECT_EQ(service.choiceFor(zoneIndex(9)).set, snapshot.eligible);
  // Equal sets share one table.
  EXPECT_EQ(&service.choiceFor(zoneIndex(5)), &service.choiceFor(zoneIndex(0)));
  EXPECT_EQ(&service.choiceFor(zoneIndex(2)), &service.choiceFor(kNoZone));
}

TEST(Service, MembersWithoutABackendAreLeftOut) {
  ServiceSnapshot snapshot = makeService(1, 2);
  snapshot.eligible.members.push_back({slot(7), 1});
  const Service service(snapshot, 0);
  EXPECT_EQ(service.choiceFor(kNoZone).set.members.size(), 2u);
}

TEST(Service, EmptySetHasAnEmptyTable) {
  const Service service(makeService(1, 0), 0);
  EXPECT_TRUE(service.choiceFor(kNoZone).table.empty());
}

}  // namespace
}  // namespace weir
