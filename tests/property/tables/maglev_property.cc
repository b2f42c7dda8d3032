// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weir/maglev.h"

namespace {

using namespace weir;

// Different identities, sorted.
std::vector<std::string> someIdentities(std::size_t least, std::size_t most) {
  const auto numbers = *rc::gen::container<std::set<std::uint32_t>>(
      *rc::gen::inRange(least, most), rc::gen::arbitrary<std::uint32_t>());
  std::vector<std::string> identities;
  for (const std::uint32_t n : numbers) {
    identities.push_back(std::to_string(n >> 24) + "." + std::to_string(n >> 16 & 255) + "." +
                         std::to_string(n >> 8 & 255) + "." + std::to_string(n & 255));
  }
  std::sort(identities.begin(), identities.end());
  return identities;
}

std::vector<MaglevBackend> backendsOf(const std::vector<std::string>& identities,
                                      std::uint64_t seed, std::uint32_t slots) {
  std::vector<MaglevBackend> backends;
  for (const std::string& identity : identities) {
    backends.push_back(maglevBackend(identity, 1, seed, slots));
  }
  return backends;
}

std::uint32_t anyPrime() { return *rc::gen::element(3u, 7u, 31u, 251u, 2053u, 65537u); }

RC_GTEST_PROP(Maglev, P4_1_OrderOfListingDoesNotMatterOnceSorted, ()) {
  const auto sorted = someIdentities(1, 20);
  auto listed = sorted;
  std::shuffle(listed.begin(), listed.end(), std::mt19937(*rc::gen::arbitrary<std::uint32_t>()));
  std::sort(listed.begin(), listed.end());
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const MaglevTable one(backendsOf(sorted, seed, kMaglevSlots));
  const MaglevTable other(backendsOf(listed, seed, kMaglevSlots));
  RC_ASSERT(std::equal(one.slots().begin(), one.slots().end(), other.slots().begin()));
}

RC_GTEST_PROP(Maglev, P9_1_EveryShareIsWithinOneSlotOfRight, ()) {
  const std::uint32_t slots = anyPrime();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  auto backends = backendsOf(someIdentities(1, 40), seed, slots);
  for (MaglevBackend& backend : backends) backend.weight = *rc::gen::inRange(0u, 1001u);
  std::uint64_t sum = 0;
  for (const MaglevBackend& backend : backends) sum += backend.weight;
  const MaglevTable table(backends, slots);
  RC_ASSERT(table.slots().size() == slots);
  std::vector<std::uint32_t> load(backends.size());
  for (const std::uint16_t backend : table.slots()) ++load.at(backend);
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const double weight = sum == 0 ? 1 : backends[i].weight;
    const double total = static_cast<double>(sum == 0 ? backends.size() : sum);
    RC_ASSERT(load[i] < weight * slots / total + 1);
    RC_ASSERT(load[i] > weight * slots / total - 1);
    if (sum != 0 && backends[i].weight == 0) RC_ASSERT(load[i] == 0u);
  }
}

RC_GTEST_PROP(Maglev, P4_2_AddingOneOfNMovesAboutOneNth, ()) {
  const auto identities = someIdentities(2, 60);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto all = backendsOf(identities, seed, kMaglevSlots);
  const auto added = *rc::gen::inRange<std::size_t>(0, all.size());
  auto fewer = all;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(added));
  const MaglevTable before(fewer);
  const MaglevTable after(all);
  std::size_t toNew = 0;
  std::size_t elsewhere = 0;
  for (std::size_t i = 0; i < kMaglevSlots; ++i) {
    const std::size_t is = after.slots()[i];
    const std::size_t was = before.slots()[i] + (before.slots()[i] >= added ? 1u : 0u);
    if (is == added) {
      ++toNew;
    } else if (is != was) {
      ++elsewhere;
    }
  }
  RC_ASSERT(toNew >= kMaglevSlots / all.size());
  RC_ASSERT(toNew <= kMaglevSlots / all.size() + 1);
  // The usual is 0.15 to 0.3%; any two permutations may happen to be alike.
  RC_ASSERT(elsewhere < kMaglevSlots * 4 / 100);
}

}  // namespace
