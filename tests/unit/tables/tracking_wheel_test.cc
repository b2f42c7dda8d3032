// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/tracking_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace weir {
namespace {

// The wheel against a list per tick.
TEST(TimingWheel, P6_1_EarliestIsTheOldestOfTheFirstTick) {
  constexpr std::uint32_t kSlots = 300;
  auto wheel = std::make_unique<TimingWheel>();
  std::vector<WheelLink> links(kSlots);
  std::map<std::int64_t, std::vector<std::uint32_t>> model;
  std::map<std::uint32_t, std::int64_t> tickOf;
  std::mt19937 random(11);
  std::int64_t from = 1000000;
  for (int step = 0; step < 100000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random() % kSlots);
    if (const auto found = tickOf.find(slot); found != tickOf.end()) {
      auto& list = model[found->second];
      list.erase(std::find(list.begin(), list.end(), slot));
      if (list.empty()) model.erase(found->second);
      tickOf.erase(found);
      wheel->unlink(links.data(), slot);
    } else {
      // Sometimes far ahead, sometimes crowded.
      const std::int64_t tick =
          from + static_cast<std::int64_t>(random() % (step % 3 == 0 ? TimingWheel::kTicks : 5));
      model[tick].push_back(slot);
      tickOf[slot] = tick;
      wheel->append(links.data(), tick, slot);
    }
    ASSERT_EQ(wheel->empty(), model.empty());
    const auto earliest = wheel->earliest(from);
    ASSERT_EQ(earliest.has_value(), !model.empty());
    if (earliest) {
      ASSERT_EQ(earliest->tick, model.begin()->first);
      ASSERT_EQ(earliest->slot, model.begin()->second.front());
    }
    if (step % 7 == 0) from = model.empty() ? from + 5000 : model.begin()->first;
  }
}

}  // namespace
}  // namespace weir
