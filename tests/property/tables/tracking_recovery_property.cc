// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <vector>

#include "core/tracking_slot.h"
#include "support/tracking_flows.h"
#include "weir/tracking_table.h"

namespace {

using namespace weir;
using namespace std::chrono_literals;
using weir::testing::flowNumber;
using weir::testing::SlotMemory;
using Use = TrackingTable::Use;

constexpr std::uint32_t kRoom = 50;
constexpr TrackingTableOptions kOptions{.ipv4Entries = kRoom, .ipv6Entries = kRoom, .seed = 12};
const std::size_t kIpv6Begin =
    TrackingTable::slotBytes({.ipv4Entries = kRoom, .ipv6Entries = 0, .seed = 0});

struct Flow {
  std::uint32_t number;
  Family family;
  friend auto operator<=>(const Flow&, const Flow&) = default;
};

TrackedKey tracked(const TrackingTable& table, const Flow& flow) {
  return table.tracked(flowNumber(flow.number, flow.family), ServiceId(1));
}

// A table with some flows in it, then some erased, as a process that died would leave it. Answers
// with the last-used times of the flows there.
std::map<Flow, Time> leaveFlows(const SlotMemory& memory, Time& now) {
  std::map<Flow, Time> flows;
  TrackingTable table(kOptions, memory.span(), now);
  const auto count = *rc::gen::inRange(0u, kRoom);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Flow flow{i, *rc::gen::element(Family::ipv4, Family::ipv6)};
    table.insert(tracked(table, flow), BackendSlot(static_cast<std::uint16_t>(i)), Generation(i),
                 Use{now, 600s, true, *rc::gen::arbitrary<bool>()});
    flows[flow] = now;
    now += std::chrono::milliseconds(*rc::gen::inRange(0, 30'000));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (*rc::gen::inRange(0, 4) != 0) continue;
    for (const Family family : {Family::ipv4, Family::ipv6}) {
      if (table.erase(tracked(table, {i, family}))) flows.erase({i, family});
    }
  }
  return flows;
}

bool isLive(Time lastUsed, Time now) { return now - lastUsed < 600s; }

// The flow in the slot that a byte of the memory belongs to, by its address.
std::uint32_t sourceAt(const SlotMemory& memory, std::size_t at) {
  const auto* bytes = memory.span().data();
  if (at < kIpv6Begin) {
    const auto* slot = reinterpret_cast<const Slot<1>*>(bytes) + at / sizeof(Slot<1>);
    return slot->isEmpty() ? ~0u : slot->key.key().source.ipv4Bits() - 0x0a000000;
  }
  const auto* slot =
      reinterpret_cast<const Slot<4>*>(bytes + kIpv6Begin) + (at - kIpv6Begin) / sizeof(Slot<4>);
  return slot->isEmpty() ? ~0u : static_cast<std::uint32_t>(slot->key.key().source.lo());
}

RC_GTEST_PROP(TrackingRecovery, KeepsExactlyTheLiveEntries, ()) {
  const SlotMemory memory(kOptions);
  Time now(5s);
  const auto flows = leaveFlows(memory, now);
  TrackingTable successor(kOptions, memory.span(), now);
  std::size_t live = 0;
  for (const auto& [flow, lastUsed] : flows) {
    const auto entry = successor.lookup(tracked(successor, flow), Use{now, 600s, false});
    RC_ASSERT(entry.has_value() == isLive(lastUsed, now));
    if (entry) {
      RC_ASSERT(entry->lastUsed == lastUsed);
      RC_ASSERT(entry->backend.value() == flow.number);
      ++live;
    }
  }
  RC_ASSERT(successor.recovered() == live);
  RC_ASSERT(successor.size() == live);
}

RC_GTEST_PROP(TrackingRecovery, SlotWithADamagedByteIsDroppedAndNoOther, ()) {
  const SlotMemory memory(kOptions);
  Time now(5s);
  const auto flows = leaveFlows(memory, now);
  // One damaged byte per slot, at random places.
  std::map<std::size_t, std::size_t> damage;  // slot's begin -> byte
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, memory.span().size());
    const std::size_t begin =
        at < kIpv6Begin ? at / sizeof(Slot<1>) * sizeof(Slot<1>)
                        : kIpv6Begin + (at - kIpv6Begin) / sizeof(Slot<4>) * sizeof(Slot<4>);
    damage.emplace(begin, at);
  }
  std::set<Flow> hit;
  for (const auto& [begin, at] : damage) {
    const bool ipv6 = at >= kIpv6Begin;
    // The last word of an IPv6 slot holds nothing.
    if (!ipv6 || at - begin < 56) {
      hit.insert({sourceAt(memory, at), ipv6 ? Family::ipv6 : Family::ipv4});
    }
  }
  for (const auto& [begin, at] : damage) {
    memory.span()[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
  }

  TrackingTable successor(kOptions, memory.span(), now);
  std::size_t live = 0;
  for (const auto& [flow, lastUsed] : flows) {
    const auto entry = successor.lookup(tracked(successor, flow), Use{now, 600s, false});
    RC_ASSERT(entry.has_value() == (isLive(lastUsed, now) && hit.count(flow) == 0));
    if (entry) {
      RC_ASSERT(entry->lastUsed == lastUsed);
      RC_ASSERT(entry->backend.value() == flow.number);
      ++live;
    }
  }
  RC_ASSERT(successor.recovered() == live);
}

RC_GTEST_PROP(TrackingRecovery, AnyDamageLeavesAWorkingTable, ()) {
  const SlotMemory memory(kOptions);
  Time now(5s);
  const auto flows = leaveFlows(memory, now);
  const auto bytes = memory.span();
  for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
    const auto from = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const auto to = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 200);
    for (std::size_t k = 0; k < length && from + k < bytes.size() && to + k < bytes.size(); ++k) {
      bytes[to + k] = *rc::gen::arbitrary<bool>()
                          ? bytes[from + k]
                          : static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
    }
  }
  TrackingTable successor(kOptions, bytes, now);
  RC_ASSERT(successor.size() == successor.recovered());
  RC_ASSERT(successor.recovered() <= successor.capacity());
  for (std::uint32_t i = 1000; i < 1000 + 2 * kRoom; ++i) {
    const TrackedKey key = tracked(successor, {i, Family::ipv4});
    RC_ASSERT(successor.insert(key, BackendSlot(1), Generation(1), Use{now, 600s}));
    RC_ASSERT(successor.lookup(key, Use{now, 600s}).has_value());
  }
  now += 2000s;
  while (successor.advance(now)) {
  }
  RC_ASSERT(successor.size() == 0u);
}

}  // namespace
