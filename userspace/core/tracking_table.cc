// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/tracking_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "hash.h"
#include "tracking_shard.h"
#include "zeroed_array.h"

namespace weir {

namespace {

// How the entries of a family are cut into shards.
struct Layout {
  std::uint32_t shards = 1;
  std::uint32_t slotsPerShard = 0;

  static Layout of(std::size_t entries) noexcept {
    // A shard's wheels take 33 KB: with so many entries in it that is 2 bytes for each.
    constexpr std::size_t kEntriesPerShard = 16384;
    constexpr std::size_t kMostShards = 64;
    constexpr std::size_t kMostEntries = std::size_t{1} << 27;
    entries = std::min(entries, kMostEntries);
    Layout layout;
    layout.shards = static_cast<std::uint32_t>(
        std::bit_floor(std::clamp<std::size_t>(entries / kEntriesPerShard, 1, kMostShards)));
    layout.slotsPerShard =
        static_cast<std::uint32_t>((entries + layout.shards - 1) / layout.shards);
    if (layout.shards > 1) {
      // Flows spread over shards with a deviation of a square root; four of them make it rare
      // (one table in 500) that a shard is full before the table holds `entries`.
      layout.slotsPerShard += 4 * static_cast<std::uint32_t>(std::sqrt(layout.slotsPerShard));
    }
    return layout;
  }
  std::size_t slots() const noexcept { return std::size_t{shards} * slotsPerShard; }
  std::size_t buckets() const noexcept {
    return std::size_t{shards} * TrackingIndex::bucketsFor(slotsPerShard);
  }
};

// Half of a table: all shards of one family.
template <std::size_t kWords>
class ShardSet {
 public:
  static std::size_t slotBytes(std::size_t entries) noexcept {
    const std::size_t bytes = Layout::of(entries).slots() * sizeof(Slot<kWords>);
    return (bytes + 63) / 64 * 64;
  }
  // Of slots, index, wheels and shards together.
  static std::size_t totalBytes(std::size_t entries) noexcept {
    const Layout layout = Layout::of(entries);
    return slotBytes(entries) + layout.slots() * sizeof(WheelLink) +
           layout.buckets() * sizeof(IndexBucket) +
           layout.shards * (2 * sizeof(TimingWheel) + sizeof(TrackingShard<kWords>));
  }

  ShardSet(std::size_t entries, std::byte* slots, std::uint64_t seed, Time now)
      : layout_(Layout::of(entries)),
        links_(layout_.slots()),
        buckets_(layout_.buckets()),
        wheels_(std::size_t{2} * layout_.shards),
        shards_(layout_.shards) {
    const std::uint64_t mixed = foldMultiply(seed ^ kPi0, kPi1);
    for (std::size_t i = 0; i < layout_.shards; ++i) {
      ShardMemory<kWords> memory;
      memory.slots = reinterpret_cast<Slot<kWords>*>(slots) + i * layout_.slotsPerShard;
      memory.slotCount = layout_.slotsPerShard;
      memory.links = links_.data() + i * layout_.slotsPerShard;
      memory.buckets = buckets_.data() + i * TrackingIndex::bucketsFor(layout_.slotsPerShard);
      memory.wheels = wheels_.data() + 2 * i;
      shards_[i].start(memory, seed, static_cast<std::uint32_t>(mixed), now);
    }
  }

  std::size_t recover() noexcept {
    std::size_t kept = 0;
    for (TrackingShard<kWords>& shard : shards_) {
      kept += shard.recover([&](std::uint64_t hash) { return &shardOf(hash) == &shard; });
    }
    return kept;
  }

  TrackingShard<kWords>& shardOf(std::uint64_t hash) noexcept {
    return shards_[((hash >> 32) * layout_.shards) >> 32];
  }
  std::vector<TrackingShard<kWords>>& shards() noexcept { return shards_; }
  std::size_t capacity() const noexcept { return layout_.slots(); }

 private:
  Layout layout_;
  ZeroedArray<WheelLink> links_;
  ZeroedArray<IndexBucket> buckets_;
  ZeroedArray<TimingWheel> wheels_;
  std::vector<TrackingShard<kWords>> shards_;
};

bool isIpv4Key(const FlowKey& key) noexcept { return SlotKey<1>::holds(key); }

}  // namespace

struct TrackingTable::Impl {
  Impl(const TrackingTableOptions& options, std::byte* slots, Time now)
      : seed(options.seed),
        ipv4(options.ipv4Entries, slots, seed, now),
        ipv6(options.ipv6Entries, slots + ShardSet<1>::slotBytes(options.ipv4Entries), seed, now) {}
  explicit Impl(const TrackingTableOptions& options, ZeroedArray<std::byte> memory)
      : Impl(options, memory.data(), Time()) {
    ownSlots = std::move(memory);
  }

  template <class Function>
  void forEachShard(Function&& function) {
    for (auto& shard : ipv4.shards()) function(shard);
    for (auto& shard : ipv6.shards()) function(shard);
  }
  // Calls function(shard, packed key) for a key.
  template <class Function>
  auto at(const TrackedKey& tracked, Function&& function) {
    if (isIpv4Key(tracked.key)) {
      return function(ipv4.shardOf(tracked.hash), SlotKey<1>::of(tracked.key, tracked.service));
    }
    return function(ipv6.shardOf(tracked.hash), SlotKey<4>::of(tracked.key, tracked.service));
  }

  ZeroedArray<std::byte> ownSlots;
  std::uint64_t seed;
  ShardSet<1> ipv4;
  ShardSet<4> ipv6;
  std::size_t recovered = 0;
  std::atomic<std::int64_t> advancedTo{-1};  // all ticks before this one are collected
};

std::size_t TrackingTable::slotBytes(const TrackingTableOptions& options) noexcept {
  return ShardSet<1>::slotBytes(options.ipv4Entries) + ShardSet<4>::slotBytes(options.ipv6Entries);
}

TrackingTable::TrackingTable(const TrackingTableOptions& options, std::span<std::byte> slots,
                             Time now)
    : impl_(std::make_unique<Impl>(options, slots.data(), now)) {
  impl_->recovered = impl_->ipv4.recover() + impl_->ipv6.recover();
}

TrackingTable::TrackingTable(const TrackingTableOptions& options)
    : impl_(std::make_unique<Impl>(options, ZeroedArray<std::byte>(slotBytes(options)))) {}

TrackingTable::~TrackingTable() = default;

std::size_t TrackingTable::recovered() const noexcept { return impl_->recovered; }

std::uint64_t TrackingTable::hash(const FlowKey& key, ServiceId service) const noexcept {
  return TrackingShard<1>::hashOf(key, service, impl_->seed);
}

void TrackingTable::prefetch(const TrackedKey& tracked) const noexcept {
  if (isIpv4Key(tracked.key)) {
    impl_->ipv4.shardOf(tracked.hash).prefetch(tracked.hash);
  } else {
    impl_->ipv6.shardOf(tracked.hash).prefetch(tracked.hash);
  }
}

void TrackingTable::prefetchSlot(const TrackedKey& tracked) const noexcept {
  if (isIpv4Key(tracked.key)) {
    impl_->ipv4.shardOf(tracked.hash).prefetchSlot(tracked.hash);
  } else {
    impl_->ipv6.shardOf(tracked.hash).prefetchSlot(tracked.hash);
  }
}

std::optional<TrackedEntry> TrackingTable::lookup(const TrackedKey& tracked,
                                                  const Use& use) noexcept {
  return impl_->at(
      tracked, [&](auto& shard, const auto& key) { return shard.lookup(key, tracked.hash, use); });
}

bool TrackingTable::insert(const TrackedKey& tracked, BackendSlot backend, Generation madeIn,
                           const Use& use) noexcept {
  return impl_->at(tracked, [&](auto& shard, const auto& key) {
    return shard.insert(key, tracked.hash, {backend, madeIn}, use);
  });
}

bool TrackingTable::erase(const TrackedKey& tracked) noexcept {
  return impl_->at(tracked,
                   [&](auto& shard, const auto& key) { return shard.erase(key, tracked.hash); });
}

bool TrackingTable::touch(const TrackedKey& tracked, Time lastUsed, bool established) noexcept {
  return impl_->at(tracked, [&](auto& shard, const auto& key) {
    return shard.touch(key, tracked.hash, lastUsed, established);
  });
}

bool TrackingTable::advance(Time now) noexcept {
  // So few at a time that no packet waits for a shard longer than for a cache miss or two.
  constexpr std::uint32_t kEntriesPerShard = 16;
  const std::int64_t tick = now.time_since_epoch() / kWheelTick;
  if (tick <= impl_->advancedTo.load(std::memory_order_relaxed)) return false;
  bool more = false;
  impl_->forEachShard([&](auto& shard) { more |= shard.advance(now, kEntriesPerShard); });
  if (!more) impl_->advancedTo.store(tick, std::memory_order_relaxed);
  return more;
}

void TrackingTable::visit(const std::function<bool(const Visited&)>& keep) {
  // Entries keep their slots for life, so the lock need not be held from the first to the last.
  constexpr std::uint32_t kSlotsPerLock = 256;
  impl_->forEachShard([&](auto& shard) {
    for (std::uint32_t from = 0; shard.visit(from, kSlotsPerLock, keep);) from += kSlotsPerLock;
  });
}

std::size_t TrackingTable::size() const noexcept {
  std::size_t size = 0;
  impl_->forEachShard([&](auto& shard) { size += shard.size(); });
  return size;
}

std::size_t TrackingTable::capacity() const noexcept {
  return impl_->ipv4.capacity() + impl_->ipv6.capacity();
}

TrackingCounters TrackingTable::counters() const noexcept {
  TrackingCounters sum;
  impl_->forEachShard([&](auto& shard) {
    const TrackingCounters counters = shard.counters();
    sum.inserted += counters.inserted;
    sum.replaced += counters.replaced;
    sum.expired += counters.expired;
    sum.evictedOnlySyn += counters.evictedOnlySyn;
    sum.evictedEstablished += counters.evictedEstablished;
  });
  return sum;
}

std::size_t TrackingTable::bytesPerFlow(Family family) noexcept {
  const TrackingTableOptions options;
  const auto perEntry = [](std::size_t bytes, std::size_t entries) {
    return (bytes + entries - 1) / entries;
  };
  return family == Family::ipv4
             ? perEntry(ShardSet<1>::totalBytes(options.ipv4Entries), options.ipv4Entries)
             : perEntry(ShardSet<4>::totalBytes(options.ipv6Entries), options.ipv6Entries);
}

}  // namespace weir
