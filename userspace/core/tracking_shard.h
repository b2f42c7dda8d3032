// SPDX-License-Identifier: GPL-2.0-or-later
//
// A part of the tracking table behind one lock: a run of slots, and the index, wheels and free list
// over them. All public functions lock.
//
// Time. Slots keep 32 bits of milliseconds, which wrap after 49 days. They are exact all the same:
// `clock_` is the latest time the shard has been used at, in full, and every entry was used in the
// 24 days before it. For this garbage must not outlive the range: a shard whose wheels lag by more
// than kLongestLag, because nobody called advance(), drops all that is idle at its next use.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "spin_lock.h"
#include "tracking_index.h"
#include "tracking_slot.h"
#include "tracking_wheel.h"
#include "weir/affinity.h"
#include "weir/tracking_table.h"
#include "weir/types.h"

namespace weir {

// What a shard's arrays are made of; all zeroed, but for the slots, and all outliving the shard.
template <std::size_t kWords>
struct ShardMemory {
  Slot<kWords>* slots;
  std::uint32_t slotCount;
  WheelLink* links;      // one per slot
  IndexBucket* buckets;  // TrackingIndex::bucketsFor(slotCount)
  TimingWheel* wheels;   // two
};

template <std::size_t kWords>
class alignas(64) TrackingShard {
 public:
  using Key = SlotKey<kWords>;
  using Use = TrackingTable::Use;

  // `hashSeed`: of hashOf(). `salt`: of the slots' checksums.
  void start(const ShardMemory<kWords>& memory, std::uint64_t hashSeed, std::uint32_t salt,
             Time now) noexcept {
    memory_ = memory;
    index_ = TrackingIndex(memory.buckets, TrackingIndex::bucketsFor(memory.slotCount));
    hashSeed_ = hashSeed;
    salt_ = salt;
    clock_ = now;
    setCursor(tickOf(now));
  }

  // Takes over what the slots hold; right after start(). `belongs(hash)`: is it this shard's?
  template <class Belongs>
  std::uint32_t recover(Belongs&& belongs) noexcept {
    const std::lock_guard guard(lock_);
    // Slots are first used in order, so a long untouched stretch ends the used part.
    constexpr std::uint32_t kUntouchedRun = 1024;
    std::uint32_t untouched = 0;
    for (std::uint32_t slot = 0; slot < memory_.slotCount && untouched < kUntouchedRun; ++slot) {
      untouched = memory_.slots[slot].isUntouched() ? untouched + 1 : 0;
      if (untouched == 0) fresh_ = slot + 1;
    }
    // Downwards, so that the free list begins with the lowest slots.
    for (std::uint32_t slot = fresh_; slot-- > 0;) {
      Slot<kWords>& s = memory_.slots[slot];
      if (!s.isEmpty() && isWorthKeeping(s)) {
        const std::uint64_t hash = hashOf(s.key);
        if (belongs(hash) && find(s.key, hash) == kNone) {
          index_.insert(hash, slot);
          link(slot);
          ++size_;
          continue;
        }
      }
      if (!s.isEmpty()) publish(s.use, 0);
      pushFree(slot);
    }
    return size_;
  }

  // The hash that indexes a key; its upper bits choose the shard.
  static std::uint64_t hashOf(const FlowKey& key, ServiceId service, std::uint64_t seed) noexcept {
    return hashKey(key, seed + service.value() * 0x9e3779b97f4a7c15ull);
  }

  void prefetch(std::uint64_t hash) const noexcept { index_.prefetch(hash); }
  void prefetchSlot(std::uint64_t hash) const noexcept {
    index_.prefetchSlots(hash, [this](std::uint32_t slot) {
      // A torn view may name any slot; prefetching never faults.
      __builtin_prefetch(memory_.slots + slot, 1);
    });
  }

  std::optional<TrackedEntry> lookup(const Key& key, std::uint64_t hash, const Use& use) noexcept {
    const std::lock_guard guard(lock_);
    if (use.refresh) observe(use.now);
    const std::uint32_t slot = find(key, hash);
    if (slot == kNone) return std::nullopt;
    const Time now = std::max(use.now, use.refresh ? clock_ : use.now);
    Slot<kWords>& s = memory_.slots[slot];
    const SlotUse before = unpackUse(s.use);
    TrackedEntry entry = entryOf(s);
    if (now - entry.lastUsed >= std::min(use.idleTimeout, timeoutOf(before))) return std::nullopt;
    if (use.refresh) {
      const SlotUse after = {millisecondsOf(now), storedTimeout(use.idleTimeout),
                             before.established || use.established};
      changeUse(slot, before, after);
      entry.lastUsed = now;
      entry.onlySynSeen = !after.established;
    }
    return entry;
  }

  bool insert(const Key& key, std::uint64_t hash, const SlotTarget& to, const Use& use) noexcept {
    if (memory_.slotCount == 0) return false;
    const std::lock_guard guard(lock_);
    observe(use.now);
    std::uint32_t slot = find(key, hash);
    if (slot != kNone) {
      const SlotUse before = unpackUse(memory_.slots[slot].use);
      wheelOf(before).unlink(memory_.links, slot);
      if (clock_ - lastUsed(before) >= std::min(use.idleTimeout, timeoutOf(before))) {
        ++counters_.expired;
        ++counters_.inserted;
      } else {
        ++counters_.replaced;
      }
    } else {
      slot = obtain();
      memory_.slots[slot].key = key;
      index_.insert(hash, slot);
      ++size_;
      ++counters_.inserted;
    }
    Slot<kWords>& s = memory_.slots[slot];
    publish(s.target, s.packTarget(to, salt_));
    publish(s.use,
            packUse({millisecondsOf(clock_), storedTimeout(use.idleTimeout), use.established}));
    link(slot);
    return true;
  }

  bool touch(const Key& key, std::uint64_t hash, Time used, bool established) noexcept {
    const std::lock_guard guard(lock_);
    observe(used);
    const std::uint32_t slot = find(key, hash);
    if (slot == kNone) return false;
    const SlotUse before = unpackUse(memory_.slots[slot].use);
    const Time last = std::max(lastUsed(before), used);
    changeUse(slot, before,
              {millisecondsOf(last), before.idleTimeout, before.established || established});
    return true;
  }

  bool erase(const Key& key, std::uint64_t hash) noexcept {
    const std::lock_guard guard(lock_);
    const std::uint32_t slot = find(key, hash);
    if (slot == kNone) return false;
    remove(slot, hash);
    return true;
  }

  // Looks at no more than `budget` entries whose time may have come; true: there are more.
  bool advance(Time now, std::uint32_t budget) noexcept {
    const std::lock_guard guard(lock_);
    observe(now);
    return collect(budget);
  }

  // Visits the entries in `count` slots from `from` on; false: there are no slots further on.
  bool visit(std::uint32_t from, std::uint32_t count,
             const std::function<bool(const TrackingTable::Visited&)>& keep) {
    const std::lock_guard guard(lock_);
    const std::uint32_t end = from + std::min(count, fresh_ - std::min(from, fresh_));
    for (std::uint32_t slot = from; slot < end; ++slot) {
      const Slot<kWords>& s = memory_.slots[slot];
      if (s.isEmpty()) continue;
      if (!keep({s.key.key(), s.key.service(), entryOf(s)})) remove(slot, hashOf(s.key));
    }
    return end < fresh_;
  }

  std::uint32_t size() const noexcept {
    const std::lock_guard guard(lock_);
    return size_;
  }
  TrackingCounters counters() const noexcept {
    const std::lock_guard guard(lock_);
    return counters_;
  }

 private:
  static constexpr std::uint32_t kNone = TrackingIndex::kNone;
  static constexpr std::chrono::milliseconds kTick = kWheelTick;
  // In ticks; with the longest idle timeout still less than the wheel's circumference.
  static constexpr std::int64_t kLongestLag = 400;
  static_assert(kLongestLag + kMaxIdleTimeout / kWheelTick + 2 < TimingWheel::kTicks);
  // Entries that one insert into a full shard may look at before it settles for the best of them.
  static constexpr std::uint32_t kWorkPerInsert = 64;

  static std::int64_t tickOf(Time time) noexcept { return time.time_since_epoch() / kTick; }
  static std::uint32_t millisecondsOf(Time time) noexcept {
    return static_cast<std::uint32_t>(time.time_since_epoch().count());
  }
  static std::uint16_t storedTimeout(std::chrono::seconds timeout) noexcept {
    return static_cast<std::uint16_t>(
        std::clamp(timeout, std::chrono::seconds(0), kMaxIdleTimeout).count());
  }
  static std::chrono::seconds timeoutOf(const SlotUse& use) noexcept {
    return std::chrono::seconds(use.idleTimeout);
  }
  Time lastUsed(const SlotUse& use) const noexcept {
    return clock_ + std::chrono::milliseconds(
                        static_cast<std::int32_t>(use.lastUsed - millisecondsOf(clock_)));
  }
  Time deadline(std::uint32_t slot) const noexcept {
    const SlotUse use = unpackUse(memory_.slots[slot].use);
    return lastUsed(use) + timeoutOf(use);
  }
  TrackedEntry entryOf(const Slot<kWords>& s) const noexcept {
    const SlotTarget target = s.targetOf();
    const SlotUse use = unpackUse(s.use);
    return {target.backend, target.madeIn, !use.established, lastUsed(use)};
  }
  std::uint64_t hashOf(const Key& key) const noexcept {
    return hashOf(key.key(), key.service(), hashSeed_);
  }
  std::uint32_t find(const Key& key, std::uint64_t hash) const noexcept {
    return index_.find(hash, [&](std::uint32_t slot) { return memory_.slots[slot].hasKey(key); });
  }
  TimingWheel& wheelOf(const SlotUse& use) const noexcept {
    return memory_.wheels[use.established ? 1 : 0];
  }

  void setCursor(std::int64_t tick) noexcept {
    cursor_ = tick;
    lagsFrom_ = Time((tick + kLongestLag) * kTick);
  }

  // The clock follows the latest time it is shown.
  void observe(Time now) noexcept {
    if (now <= clock_) return;
    if (now >= lagsFrom_) dropAllIdle(now);
    clock_ = now;
  }

  void dropAllIdle(Time now) noexcept {
    memory_.wheels[0].clear();
    memory_.wheels[1].clear();
    setCursor(tickOf(now));
    for (std::uint32_t slot = 0; slot < fresh_; ++slot) {
      if (memory_.slots[slot].isEmpty()) continue;
      // Linked even if it goes at once, since remove() takes it out of its wheel.
      const bool idle = deadline(slot) <= now;
      link(slot);
      if (idle) {
        remove(slot, hashOf(memory_.slots[slot].key));
        ++counters_.expired;
      }
    }
  }

  // Puts an entry into its wheel, at its deadline.
  void link(std::uint32_t slot) noexcept {
    const SlotUse use = unpackUse(memory_.slots[slot].use);
    const std::int64_t tick = std::max(tickOf(lastUsed(use) + timeoutOf(use)), cursor_);
    wheelOf(use).append(memory_.links, tick, slot);
  }

  void changeUse(std::uint32_t slot, const SlotUse& before, const SlotUse& after) noexcept {
    const std::uint64_t word = packUse(after);
    if (after.established != before.established || after.idleTimeout < before.idleTimeout) {
      // Otherwise the entry stays where it is, too early in its wheel, until its time comes.
      wheelOf(before).unlink(memory_.links, slot);
      publish(memory_.slots[slot].use, word);
      link(slot);
    } else {
      publish(memory_.slots[slot].use, word);
    }
  }

  void remove(std::uint32_t slot, std::uint64_t hash) noexcept {
    Slot<kWords>& s = memory_.slots[slot];
    wheelOf(unpackUse(s.use)).unlink(memory_.links, slot);
    index_.erase(hash, slot);
    publish(s.use, 0);
    pushFree(slot);
    --size_;
  }

  void pushFree(std::uint32_t slot) noexcept {
    memory_.links[slot].next = firstFree_;
    firstFree_ = slot;
  }
  std::uint32_t takeFree() noexcept {
    std::uint32_t slot = firstFree_;
    if (slot != kNone) {
      firstFree_ = memory_.links[slot].next;
    } else if (fresh_ < memory_.slotCount) {
      slot = fresh_++;
    }
    // The next new flow's memory can be on its way before there is that flow.
    const std::uint32_t next = firstFree_ != kNone ? firstFree_ : fresh_;
    if (next < memory_.slotCount) {
      __builtin_prefetch(memory_.slots + next, 1);
      __builtin_prefetch(memory_.links + next, 1);
    }
    return slot;
  }

  // An empty slot; makes one if there is none.
  std::uint32_t obtain() noexcept {
    std::uint32_t slot = takeFree();
    if (slot == kNone && cursor_ < tickOf(clock_)) {
      collect(kWorkPerInsert);
      slot = takeFree();
    }
    if (slot == kNone) {
      evict();
      slot = takeFree();
    }
    return slot;
  }

  bool collect(std::uint32_t budget) noexcept {
    const std::int64_t present = tickOf(clock_);
    for (const std::size_t which : {0u, 1u}) {
      TimingWheel& wheel = memory_.wheels[which];
      for (;;) {
        const auto earliest = wheel.earliest(cursor_);
        if (!earliest || earliest->tick >= present) break;
        if (budget == 0) return true;
        --budget;
        if (deadline(earliest->slot) <= clock_) {
          remove(earliest->slot, hashOf(memory_.slots[earliest->slot].key));
          ++counters_.expired;
        } else {
          relink(wheel, earliest->slot);
        }
      }
    }
    if (present > cursor_) setCursor(present);
    return false;
  }

  // An entry refreshed since it was linked moves to where it belongs now.
  void relink(TimingWheel& wheel, std::uint32_t slot) noexcept {
    wheel.unlink(memory_.links, slot);
    link(slot);
  }

  // Only-SYN entries first; of these the one whose deadline is nearest. The shard is full.
  void evict() noexcept {
    TimingWheel& wheel = memory_.wheels[memory_.wheels[0].empty() ? 1 : 0];
    std::uint32_t victim = kNone;
    for (std::uint32_t work = 0; work < kWorkPerInsert; ++work) {
      const auto earliest = wheel.earliest(cursor_);
      if (tickOf(deadline(earliest->slot)) <= earliest->tick) {
        victim = earliest->slot;
        break;
      }
      relink(wheel, earliest->slot);
      if (victim == kNone || deadline(earliest->slot) < deadline(victim)) victim = earliest->slot;
    }
    const bool established = unpackUse(memory_.slots[victim].use).established;
    const bool idle = deadline(victim) <= clock_;
    remove(victim, hashOf(memory_.slots[victim].key));
    // As for free slots: a full table evicts with every new flow.
    if (const auto next = wheel.earliest(cursor_)) {
      __builtin_prefetch(memory_.slots + next->slot, 1);
      __builtin_prefetch(memory_.links + next->slot, 1);
    }
    ++(idle          ? counters_.expired
       : established ? counters_.evictedEstablished
                     : counters_.evictedOnlySyn);
  }

  bool isWorthKeeping(const Slot<kWords>& s) const noexcept {
    if (!s.isIntact(salt_)) return false;
    const SlotUse use = unpackUse(s.use);
    const Time last = lastUsed(use);
    // The clock does not go backwards: a use in the future was never written.
    return last <= clock_ + kTick && last >= Time() && clock_ - last < timeoutOf(use);
  }

  // What every lookup needs fills the first line.
  mutable SpinLock lock_;
  std::uint32_t size_ = 0;
  Time clock_;
  Time lagsFrom_;
  TrackingIndex index_;
  ShardMemory<kWords> memory_{};
  std::uint32_t salt_ = 0;
  std::uint32_t firstFree_ = kNone;
  std::uint32_t fresh_ = 0;  // slots from here on were never used
  std::int64_t cursor_ = 0;  // no entry is linked to an earlier tick
  std::uint64_t hashSeed_ = 0;
  TrackingCounters counters_;
};

}  // namespace weir
