// SPDX-License-Identifier: GPL-2.0-or-later
//
// From a key's hash to its slot number: buckets of one cache line, as in Facebook's F14. A bucket
// holds ten slot numbers with 16 bits of hash each, compared all at once; an entry whose bucket is
// full goes to the next one that is not, and every bucket passed on the way counts it. So a lookup
// that finds a count of zero need not go on, and removal leaves no tombstone.
//
// The caller locks, except for prefetchSlots(), which may run at any time.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir {

struct alignas(64) IndexBucket {
  // Twelve lanes of 16 bits, lane 0 lowest: ten tags (0: empty), the overflow count, nothing.
  std::uint64_t lanes[3];
  std::uint32_t slots[10];
};
static_assert(sizeof(IndexBucket) == 64);

class TrackingIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Buckets for so many entries: seven of ten places used when all are there.
  static constexpr std::uint32_t bucketsFor(std::uint32_t entries) noexcept {
    return entries / 7 + 1;
  }

  TrackingIndex() = default;
  // `buckets`: zeroed, `count` of them, outlive the index.
  TrackingIndex(IndexBucket* buckets, std::uint32_t count) noexcept
      : buckets_(buckets), count_(count) {}

  // The slot of a hash for which same(slot) holds, or kNone.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, Same&& same) const noexcept {
    const std::uint64_t pattern = patternOf(hash);
    std::uint32_t at = home(hash);
    for (std::uint32_t looked = 0; looked < count_; ++looked) {
      const IndexBucket& bucket = buckets_[at];
      for (std::size_t word = 0; word < 3; ++word) {
        for (std::uint64_t hits = equalLanes(bucket.lanes[word], pattern) & kTagLanes[word];
             hits != 0; hits &= hits - 1) {
          const std::uint32_t slot = bucket.slots[laneOf(word, hits)];
          if (same(slot)) return slot;
        }
      }
      if ((bucket.lanes[2] & kOverflow) == 0) break;
      at = following(at);
    }
    return kNone;
  }

  // The hash's key must not be there yet, and there must be room.
  void insert(std::uint64_t hash, std::uint32_t slot) noexcept;
  // The slot must be there under this hash.
  void erase(std::uint64_t hash, std::uint32_t slot) noexcept;

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&buckets_[home(hash)]); }
  // Calls fetch(slot) for slots that the hash may have; what it reads may be out of date.
  template <class Fetch>
  void prefetchSlots(std::uint64_t hash, Fetch&& fetch) const noexcept {
    IndexBucket& bucket = buckets_[home(hash)];
    const std::uint64_t pattern = patternOf(hash);
    for (std::size_t word = 0; word < 3; ++word) {
      const std::uint64_t lanes =
          std::atomic_ref<std::uint64_t>(bucket.lanes[word]).load(std::memory_order_relaxed);
      for (std::uint64_t hits = equalLanes(lanes, pattern) & kTagLanes[word]; hits != 0;
           hits &= hits - 1) {
        fetch(std::atomic_ref<std::uint32_t>(bucket.slots[laneOf(word, hits)])
                  .load(std::memory_order_relaxed));
      }
    }
  }

 private:
  static constexpr std::uint64_t kEachLane = 0x0001000100010001ull;
  static constexpr std::uint64_t kTops = 0x8000800080008000ull;
  static constexpr std::uint64_t kTagLanes[3] = {kTops, kTops, 0x0000000080008000ull};
  static constexpr unsigned kOverflowShift = 32;
  static constexpr std::uint64_t kOverflow = 0xffffull << kOverflowShift;

  // The tables's shard comes from the hash's upper bits; bucket and tag from two other parts.
  std::uint32_t home(std::uint64_t hash) const noexcept {
    const auto part = static_cast<std::uint32_t>(hash >> 16);
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(part) * count_) >> 32);
  }
  std::uint32_t following(std::uint32_t bucket) const noexcept {
    return bucket + 1 == count_ ? 0 : bucket + 1;
  }
  static std::uint64_t tagOf(std::uint64_t hash) noexcept {
    const std::uint64_t tag = hash & 0xffff;
    return tag == 0 ? 1 : tag;
  }
  static std::uint64_t patternOf(std::uint64_t hash) noexcept { return tagOf(hash) * kEachLane; }
  // The top bit of every lane that equals the pattern's, exactly.
  static std::uint64_t equalLanes(std::uint64_t lanes, std::uint64_t pattern) noexcept {
    const std::uint64_t difference = lanes ^ pattern;
    return ~(((difference & ~kTops) + ~kTops) | difference) & kTops;
  }
  static std::size_t laneOf(std::size_t word, std::uint64_t hits) noexcept {
    return word * 4 + static_cast<std::size_t>(std::countr_zero(hits)) / 16;
  }

  IndexBucket* buckets_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace weir
