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

// Who picks when: pick k of backend i falls into round floor(k * largest quota / quota of i), and
// within a round backends pick in order. With equal quotas everybody picks once per round, which is
// the paper's loop. A counting sort by round, so that 1000:1 weights cost no idle rounds.
std::vector<std::uint16_t> turnsOf(std::span<const std::uint32_t> quotas, std::uint32_t slots) {
  const std::uint32_t rounds = *std::max_element(quotas.begin(), quotas.end());
  std::vector<std::uint32_t> place(rounds + 1);
  const auto forEachTurn = [&](auto&& turn) {
    for (std::size_t i = 0; i < quotas.size(); ++i) {
      const std::uint32_t quota = quotas[i];
      if (quota == 0) continue;
      const std::uint32_t step = rounds / quota;
      const std::uint32_t fraction = rounds % quota;
      for (std::uint32_t k = 0, round = 0, carry = 0; k < quota; ++k) {
        turn(round, static_cast<std::uint16_t>(i));
        round += step;
        carry += fraction;
        if (carry >= quota) {
          carry -= quota;
          ++round;
        }
      }
    }
  };
  forEachTurn([&](std::uint32_t round, std::uint16_t) { ++place[round + 1]; });
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::uint16_t> turns(slots);
  forEachTurn([&](std::uint32_t round, std::uint16_t backend) { turns[place[round]++] = backend; });
  return turns;
}

}  // namespace

MaglevBackend maglevBackend(std::string_view identity, std::uint32_t weight, std::uint64_t seed,
                            std::uint32_t slots) noexcept {
  const std::uint64_t skipSeed = std::rotl(seed, 1) ^ kPi6;
  return {static_cast<std::uint32_t>(hashText(identity, seed) % slots),
          static_cast<std::uint32_t>(hashText(identity, skipSeed) % (slots - 1)) + 1, weight};
}

MaglevTable::MaglevTable(std::span<const MaglevBackend> backends, std::uint32_t slots) {
  if (backends.empty()) return;
  const std::vector<std::uint16_t> turns = turnsOf(quotasOf(backends, slots), slots);

  std::vector<std::uint32_t> next(backends.size());
  for (std::size_t i = 0; i < backends.size(); ++i) next[i] = backends[i].offset;
  // Most of the work is probing slots that are taken: as bits they all fit in the nearest cache.
  std::vector<std::uint64_t> taken((slots + 63) / 64);
  table_.resize(slots);
  for (const std::uint16_t backend : turns) {
    std::uint32_t slot = next[backend];
    const std::uint32_t skip = backends[backend].skip;
    const auto advance = [&] {
      slot += skip;
      if (slot >= slots) slot -= slots;
    };
    while ((taken[slot / 64] >> (slot % 64) & 1) != 0) advance();
    taken[slot / 64] |= std::uint64_t{1} << (slot % 64);
    table_[slot] = backend;
    advance();
    next[backend] = slot;
  }
}

}  // namespace weir
