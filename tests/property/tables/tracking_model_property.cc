// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table against a std::map, by random operations on a clock that sometimes jumps.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "support/tracking_flows.h"
#include "weir/tracking_table.h"

namespace {

using namespace weir;
using namespace std::chrono_literals;
using weir::testing::flowNumber;
using Use = TrackingTable::Use;

struct ModelEntry {
  BackendSlot backend;
  Generation madeIn;
  bool onlySyn;
  Time lastUsed;
  std::chrono::seconds timeout;
  Time deadline() const { return lastUsed + timeout; }
};
using ModelKey = std::pair<std::uint32_t, std::uint16_t>;  // flow, service

constexpr std::size_t kRoom = 12;

class Machine {
 public:
  explicit Machine(Family family)
      : family_(family),
        table_({.ipv4Entries = family == Family::ipv4 ? kRoom : 0,
                .ipv6Entries = family == Family::ipv6 ? kRoom : 0,
                .seed = *rc::gen::arbitrary<std::uint64_t>()}) {}

  void step() {
    switch (*rc::gen::weightedElement<int>({{6, 0}, {6, 1}, {1, 2}, {3, 3}, {1, 4}, {1, 5}})) {
      case 0:
        return lookup();
      case 1:
        return insert();
      case 2:
        return erase();
      case 3:
        return pass();
      case 4:
        return advance();
      case 5:
        return visit();
    }
  }

 private:
  TrackedKey tracked(const ModelKey& key) const {
    return table_.tracked(flowNumber(key.first, family_), ServiceId(key.second));
  }
  ModelKey anyKey() const {
    return {*rc::gen::inRange(0u, 20u), static_cast<std::uint16_t>(*rc::gen::inRange(1, 3))};
  }
  std::chrono::seconds anyTimeout() const {
    return std::chrono::seconds(*rc::gen::weightedElement<int>(
        {{6, 600}, {2, 60}, {1, 3600}, {1, static_cast<int>(kMaxIdleTimeout.count())}}));
  }
  bool isLive(const ModelEntry& entry) const { return now_ < entry.deadline(); }

  void pass() {
    now_ += std::chrono::milliseconds(*rc::gen::oneOf(
        rc::gen::inRange<std::int64_t>(0, 20'000), rc::gen::inRange<std::int64_t>(0, 700'000),
        // Hours to months, and what looks like no time at all in 32 bits.
        rc::gen::inRange<std::int64_t>(0, 20'000'000'000),
        rc::gen::just<std::int64_t>(0x100000000)));
  }

  void lookup() {
    const ModelKey key = anyKey();
    const Use use{now_, anyTimeout(), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
    const auto found = model_.find(key);
    const bool expected = found != model_.end() && isLive(found->second) &&
                          now_ < found->second.lastUsed + use.idleTimeout;
    const auto entry = table_.lookup(tracked(key), use);
    RC_ASSERT(entry.has_value() == expected);
    if (!expected) return;
    ModelEntry& model = found->second;
    if (use.refresh) {
      model.lastUsed = now_;
      model.timeout = use.idleTimeout;
      model.onlySyn = model.onlySyn && !use.established;
    }
    RC_ASSERT(entry->backend == model.backend);
    RC_ASSERT(entry->madeIn == model.madeIn);
    RC_ASSERT(entry->onlySynSeen == model.onlySyn);
    RC_ASSERT(entry->lastUsed == model.lastUsed);
  }

  void insert() {
    const ModelKey key = anyKey();
    const Use use{now_, anyTimeout(), true, *rc::gen::arbitrary<bool>()};
    const BackendSlot backend(*rc::gen::arbitrary<std::uint16_t>());
    const Generation generation(*rc::gen::arbitrary<std::uint32_t>());
    const TrackingCounters before = table_.counters();
    RC_ASSERT(table_.insert(tracked(key), backend, generation, use));
    const TrackingCounters after = table_.counters();
    if (after.evictedOnlySyn + after.evictedEstablished !=
        before.evictedOnlySyn + before.evictedEstablished) {
      forgetEvicted(after.evictedOnlySyn != before.evictedOnlySyn);
    }
    model_[key] = {backend, generation, !use.established, now_, use.idleTimeout};
    RC_ASSERT(table_.size() <= kRoom);
  }

  // Finds out which live entry gave way, and whether it was one that had to.
  void forgetEvicted(bool onlySyn) {
    // Garbage would have gone first, unless its time came within this tick.
    RC_ASSERT(std::count_if(model_.begin(), model_.end(), [&](const auto& e) {
                return now_ < e.second.deadline() + kWheelTick;
              }) >= static_cast<std::ptrdiff_t>(kRoom));
    std::optional<ModelKey> victim;
    Time earliest = Time::max();
    bool anyOnlySyn = false;
    for (const auto& [key, entry] : model_) {
      if (!isLive(entry)) continue;
      anyOnlySyn |= entry.onlySyn;
      if (entry.onlySyn == onlySyn) earliest = std::min(earliest, entry.deadline());
      if (!table_.lookup(tracked(key), Use{now_, kMaxIdleTimeout, false})) {
        RC_ASSERT(!victim);
        victim = key;
      }
    }
    RC_ASSERT(victim.has_value());
    RC_ASSERT(anyOnlySyn == onlySyn);
    RC_ASSERT(model_[*victim].onlySyn == onlySyn);
    RC_ASSERT(model_[*victim].deadline() < earliest + kWheelTick);
    model_.erase(*victim);
  }

  void erase() {
    const ModelKey key = anyKey();
    const auto found = model_.find(key);
    // Whether garbage is still there is the table's business.
    const bool erased = table_.erase(tracked(key));
    if (found != model_.end() && isLive(found->second)) RC_ASSERT(erased);
    if (found == model_.end()) RC_ASSERT(!erased);
    if (found != model_.end()) model_.erase(found);
  }

  void advance() {
    while (table_.advance(now_)) {
    }
    // What is left has been idle too long by less than a tick.
    std::size_t atLeast = 0;
    std::size_t atMost = 0;
    for (const auto& [key, entry] : model_) {
      atLeast += isLive(entry);
      atMost += now_ < entry.deadline() + kWheelTick;
    }
    RC_ASSERT(table_.size() >= atLeast);
    RC_ASSERT(table_.size() <= atMost);
  }

  void visit() {
    std::size_t live = 0;
    const auto which = *rc::gen::inRange(0u, 40u);
    table_.visit([&](const TrackingTable::Visited& visited) {
      for (const auto& [key, entry] : model_) {
        if (visited.key != flowNumber(key.first, family_)) continue;
        if (visited.service != ServiceId(key.second)) continue;
        RC_ASSERT(visited.entry.lastUsed == entry.lastUsed);
        RC_ASSERT(visited.entry.backend == entry.backend);
        live += isLive(entry);
        return key.first != which;
      }
      RC_FAIL("an entry that nobody made");
      return true;
    });
    RC_ASSERT(live ==
              static_cast<std::size_t>(std::count_if(
                  model_.begin(), model_.end(), [&](const auto& e) { return isLive(e.second); })));
    std::erase_if(model_, [&](const auto& e) { return e.first.first == which; });
  }

  Family family_;
  TrackingTable table_;
  std::map<ModelKey, ModelEntry> model_;  // garbage included
  Time now_{5s};
};

RC_GTEST_PROP(TrackingTable, P6_BehavesLikeAMap, ()) {
  Machine machine(*rc::gen::element(Family::ipv4, Family::ipv6));
  const int steps = *rc::gen::inRange(0, 400);
  for (int i = 0; i < steps; ++i) machine.step();
}

}  // namespace
