// SPDX-License-Identifier: GPL-2.0-or-later
//
// A timing wheel: entries in the order in which their idle timeouts end, to a tick's precision.
//
// A flat ring of ticks, each with a list of entries, oldest first, and a bit that says whether it
// has any. 4,096 ticks of 16 s reach further than the longest idle timeout (3,600 ticks), so one
// level is enough. Lists are doubly linked through slot numbers, eight bytes per entry, shared by
// all wheels of a shard: an entry is in one of them, or free.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir {

// The last of a list has kEnd | position of its tick for `next`; the first one's `prev` is the
// last.
struct WheelLink {
  std::uint32_t next;
  std::uint32_t prev;
};

// All zeros: no entry.
struct TimingWheel {
  static constexpr std::int64_t kTicks = 4096;

  void append(WheelLink* links, std::int64_t tick, std::uint32_t slot) noexcept {
    const std::uint32_t at = positionOf(tick);
    if (!isUsed(at)) {
      setUsed(at);
      first[at] = slot;
      links[slot] = {kEnd | at, slot};
      return;
    }
    WheelLink& head = links[first[at]];
    links[head.prev].next = slot;
    links[slot] = {kEnd | at, head.prev};
    head.prev = slot;
  }

  // The entry must be in this wheel.
  void unlink(WheelLink* links, std::uint32_t slot) noexcept {
    const WheelLink link = links[slot];
    if ((link.next & kEnd) != 0) {
      const std::uint32_t at = link.next & ~kEnd;
      if (first[at] == slot) {
        setUnused(at);
      } else {
        links[link.prev].next = link.next;
        links[first[at]].prev = link.prev;
      }
      return;
    }
    links[link.next].prev = link.prev;
    const std::uint32_t previousNext = links[link.prev].next;
    if ((previousNext & kEnd) != 0) {
      first[previousNext & ~kEnd] = link.next;  // this was the first: its prev is the last
    } else {
      links[link.prev].next = link.next;
    }
  }

  struct Earliest {
    std::int64_t tick;
    std::uint32_t slot;
  };
  // The first entry of the first used tick; all entries lie in `from` and the kTicks - 1 after it.
  std::optional<Earliest> earliest(std::int64_t from) const noexcept {
    if (usedWords == 0) return std::nullopt;
    const std::uint32_t start = positionOf(from);
    const std::uint32_t word = start / 64;
    std::uint32_t at = kNowhere;
    if (const std::uint64_t here = used[word] >> (start % 64) << (start % 64); here != 0) {
      at = word * 64 + static_cast<std::uint32_t>(std::countr_zero(here));
    } else {
      // The other words in ring order; this one again at the end, for its lower bits.
      const std::uint32_t turn = (word + 1) % 64;
      const auto ahead = static_cast<std::uint32_t>(
          std::countr_zero(std::rotr(usedWords, static_cast<int>(turn))));
      const std::uint32_t found = (turn + ahead) % 64;
      at = found * 64 + static_cast<std::uint32_t>(std::countr_zero(used[found]));
    }
    return Earliest{from + ((at - start) & (kTicks - 1)), first[at]};
  }

  bool empty() const noexcept { return usedWords == 0; }
  void clear() noexcept {
    usedWords = 0;
    for (std::uint64_t& word : used) word = 0;
  }

  static constexpr std::uint32_t kEnd = 0x80000000;
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  static std::uint32_t positionOf(std::int64_t tick) noexcept {
    return static_cast<std::uint32_t>(tick) & (kTicks - 1);
  }
  bool isUsed(std::uint32_t at) const noexcept { return (used[at / 64] >> (at % 64) & 1) != 0; }
  void setUsed(std::uint32_t at) noexcept {
    used[at / 64] |= std::uint64_t{1} << (at % 64);
    usedWords |= std::uint64_t{1} << (at / 64);
  }
  void setUnused(std::uint32_t at) noexcept {
    used[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    if (used[at / 64] == 0) usedWords &= ~(std::uint64_t{1} << (at / 64));
  }

  std::uint64_t usedWords;  // bit w: used[w] is not zero
  std::uint64_t used[kTicks / 64];
  std::uint32_t first[kTicks];  // meaningful where used
};

}  // namespace weir
