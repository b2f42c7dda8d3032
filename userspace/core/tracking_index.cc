// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracking_index.h"

namespace weir {

namespace {

// Prefetching readers hold no lock, so writers must not tear.
template <class Word>
void write(Word& word, Word value) noexcept {
  std::atomic_ref<Word>(word).store(value, std::memory_order_relaxed);
}

}  // namespace

void TrackingIndex::insert(std::uint64_t hash, std::uint32_t slot) noexcept {
  for (std::uint32_t at = home(hash);; at = following(at)) {
    IndexBucket& bucket = buckets_[at];
    for (std::size_t word = 0; word < 3; ++word) {
      const std::uint64_t empty = equalLanes(bucket.lanes[word], 0) & kTagLanes[word];
      if (empty == 0) continue;
      const std::size_t lane = laneOf(word, empty);
      write(bucket.slots[lane], slot);
      write(bucket.lanes[word], bucket.lanes[word] | tagOf(hash) << (lane % 4 * 16));
      return;
    }
    // A count that has reached its end stays there: it costs looks, never a wrong answer.
    if ((bucket.lanes[2] & kOverflow) != kOverflow) {
      write(bucket.lanes[2], bucket.lanes[2] + (std::uint64_t{1} << kOverflowShift));
    }
  }
}

void TrackingIndex::erase(std::uint64_t hash, std::uint32_t slot) noexcept {
  const std::uint64_t pattern = patternOf(hash);
  for (std::uint32_t at = home(hash);; at = following(at)) {
    IndexBucket& bucket = buckets_[at];
    for (std::size_t word = 0; word < 3; ++word) {
      for (std::uint64_t hits = equalLanes(bucket.lanes[word], pattern) & kTagLanes[word];
           hits != 0; hits &= hits - 1) {
        const std::size_t lane = laneOf(word, hits);
        if (bucket.slots[lane] != slot) continue;
        write(bucket.lanes[word], bucket.lanes[word] & ~(std::uint64_t{0xffff} << (lane % 4 * 16)));
        return;
      }
    }
    if ((bucket.lanes[2] & kOverflow) != kOverflow) {
      write(bucket.lanes[2], bucket.lanes[2] - (std::uint64_t{1} << kOverflowShift));
    }
  }
}

}  // namespace weir
