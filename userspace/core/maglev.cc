// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/maglev.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "hash.h"

namespace weir {

namespace {

// Slots per backend in proportion to the weights, adding up to `slots`: each share rounded down,
// the slots left over given one each to the largest remainders, ties in order.
std::vector<std::uint32_t> quotasOf(std::span<const MaglevBackend> backends, std::uint32_t slots) {
  std::uint64_t sum = 0;
  for (const MaglevBackend& backend : backends) sum += backend.weight;
  const bool allZero = sum == 0;
  if (allZero) sum = backends.size();

  std::vector<std::uint32_t> quotas(backends.size());
  std::vector<std::uint64_t> remainders(backends.size());
  std::uint32_t left = slots;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const std::uint64_t share = std::uint64_t{allZero ? 1 : backends[i].weight} * slots;
    quotas[i] = static_cast<std::uint32_t>(share / sum);
    remainders[i] = share % sum;
    left -= quotas[i];
  }
  if (left == 0) return quotas;
  std::vector<std::uint32_t> order(backends.size());
  std::iota(order.begin(), order.end(), 0u);
  // `left` is less than the number of nonzero remainders, so nobody of weight zero is reached.
  std::nth_element(order.begin(), order.begin() + left, order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
                   });
  for (std::uint32_t i = 0; i < left; ++i) ++quotas[order[i]];
  return quotas;
}

// A backend on its walk through its permutation.
struct Walker {
  std::uint32_t slot;  // it looks at next
  std::uint32_t skip;
  std::uint32_t quota;  // slots still to get
  std::uint16_t backend;
};

// All backends of one weight; they take their turns together, in order. Turn j of a class is in
// round floor(j * largest weight / its weight), reached without divisions: `step` rounds on, and
// one more whenever the carry is full.
struct Class {
  std::uint32_t weight;
  std::uint32_t step;
  std::uint32_t fraction;  // of the step, in units of 1 / weight
  std::uint32_t carry = 0;
  std::vector<Walker> walkers;

  std::uint32_t nextRound(std::uint32_t round) noexcept {
    round += step;
    // carry + fraction may exceed 32 bits; weight - fraction cannot.
    if (carry >= weight - fraction) {
      carry -= weight - fraction;
      return round + 1;
    }
    carry += fraction;
    return round;
  }
};

// Weights below this part of the largest one take turns as if they were so large; their quotas,
// which decide their shares, stay exact.
constexpr std::uint32_t kLongestStep = 65535;

std::vector<Class> classesOf(std::span<const MaglevBackend> backends,
                             std::span<const std::uint32_t> quotas) {
  std::uint32_t largest = 0;
  for (const MaglevBackend& backend : backends) largest = std::max(largest, backend.weight);
  std::vector<std::uint32_t> order(backends.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return backends[a].weight > backends[b].weight;
  });
  std::vector<Class> classes;
  for (const std::uint32_t i : order) {
    if (quotas[i] == 0) continue;
    // Zero only where all are zero, and so equal.
    const std::uint32_t weight = std::max(backends[i].weight, 1u);
    if (classes.empty() || classes.back().weight != weight) {
      const std::uint32_t step = std::clamp(largest / weight, 1u, kLongestStep);
      classes.push_back({weight, step, step == kLongestStep ? 0 : largest % weight, 0, {}});
    }
    classes.back().walkers.push_back(
        {backends[i].offset, backends[i].skip, quotas[i], static_cast<std::uint16_t>(i)});
  }
  return classes;
}

// Which class has a turn in which round: a ring of rounds, each a list of classes in the order in
// which they were put there, and a bit for every round that has any. All operations take constant
// time, so weights of 1000:1 do not cost a thousand idle looks per turn.
class Calendar {
 public:
  // `longestStep`: how far ahead of the current round add() may reach.
  Calendar(std::size_t classes, std::uint32_t longestStep)
      : rounds_(std::bit_ceil(std::max(longestStep + 1, 64u))),
        used_(rounds_.size() / 64),
        next_(classes),
        mask_(static_cast<std::uint32_t>(rounds_.size()) - 1) {}

  void add(std::uint16_t item, std::uint32_t round) noexcept {
    const std::uint32_t at = round & mask_;
    std::uint64_t& word = used_[at / 64];
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    if ((word & bit) == 0) {
      word |= bit;
      rounds_[at].first = item;
    } else {
      next_[rounds_[at].last] = item;
    }
    rounds_[at].last = item;
    next_[item] = kNone;
  }

  // The first round from `round` on that has a class; there must be one.
  std::uint32_t nextUsed(std::uint32_t round) const noexcept {
    for (;;) {
      const std::uint32_t at = round & mask_;
      const std::uint64_t rest = used_[at / 64] >> (at % 64);
      if (rest != 0) return round + static_cast<std::uint32_t>(std::countr_zero(rest));
      round += 64 - at % 64;
    }
  }

  // Empties a round; walk what it held with next(), read before the class is added again.
  std::uint16_t take(std::uint32_t round) noexcept {
    const std::uint32_t at = round & mask_;
    used_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    return rounds_[at].first;
  }
  std::uint16_t next(std::uint16_t item) const noexcept { return next_[item]; }

  static constexpr std::uint16_t kNone = 0xffff;

 private:
  struct Round {
    std::uint16_t first = kNone;
    std::uint16_t last = kNone;
  };
  std::vector<Round> rounds_;
  std::vector<std::uint64_t> used_;
  std::vector<std::uint16_t> next_;
  std::uint32_t mask_;
};

// The slots given out so far. Whether a slot is still free is a coin toss for most of the time, so
// nothing branches on it: an assignment is always noted, and counted only if it holds.
class Assignment {
 public:
  explicit Assignment(std::uint32_t slots)
      : slots_(slots), taken_((slots + 63) / 64), notes_(slots + 1u) {}

  bool full() const noexcept { return count_ == slots_; }

  // One turn of every walker: each looks at one slot, and takes it if it is free.
  void turn(std::vector<Walker>& walkers) noexcept {
    std::uint32_t count = count_;
    bool anyDone = false;
    for (Walker& walker : walkers) {
      const std::uint32_t slot = walker.slot;
      std::uint64_t& word = taken_[slot / 64];
      const std::uint32_t free = static_cast<std::uint32_t>(~word >> (slot % 64)) & 1;
      word |= std::uint64_t{1} << (slot % 64);
      notes_[count] = {slot, walker.backend};
      count += free;
      walker.quota -= free;
      anyDone |= walker.quota == 0;
      const std::uint32_t next = slot + walker.skip;
      walker.slot = next >= slots_ ? next - slots_ : next;
    }
    count_ = count;
    if (anyDone) std::erase_if(walkers, [](const Walker& walker) { return walker.quota == 0; });
  }

  std::vector<std::uint16_t> table() const {
    std::vector<std::uint16_t> table(slots_);
    for (std::uint32_t i = 0; i < slots_; ++i) table[notes_[i].slot] = notes_[i].backend;
    return table;
  }

 private:
  struct Note {
    std::uint32_t slot;
    std::uint16_t backend;
  };
  std::uint32_t slots_;
  std::uint32_t count_ = 0;
  std::vector<std::uint64_t> taken_;  // as bits all slots fit in the nearest cache
  std::vector<Note> notes_;
};

}  // namespace

MaglevBackend maglevBackend(std::string_view identity, std::uint32_t weight, std::uint64_t seed,
                            std::uint32_t slots) noexcept {
  const std::uint64_t skipSeed = std::rotl(seed, 1) ^ kPi6;
  return {static_cast<std::uint32_t>(hashText(identity, seed) % slots),
          static_cast<std::uint32_t>(hashText(identity, skipSeed) % (slots - 1)) + 1, weight};
}

MaglevTable::MaglevTable(std::span<const MaglevBackend> backends, std::uint32_t slots) {
  if (backends.empty()) return;
  std::vector<Class> classes = classesOf(backends, quotasOf(backends, slots));
  // The classes are sorted by falling weight.
  Calendar calendar(classes.size(), classes.back().step + 1);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    calendar.add(static_cast<std::uint16_t>(i), 0);
  }
  Assignment assignment(slots);
  for (std::uint32_t round = 0; !assignment.full(); ++round) {
    round = calendar.nextUsed(round);
    for (std::uint16_t item = calendar.take(round); item != Calendar::kNone;) {
      const std::uint16_t following = calendar.next(item);
      Class& class_ = classes[item];
      assignment.turn(class_.walkers);
      if (!class_.walkers.empty()) calendar.add(item, class_.nextRound(round));
      item = following;
    }
  }
  table_ = assignment.table();
}

}  // namespace weir
