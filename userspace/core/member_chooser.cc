// SPDX-License-Identifier: GPL-2.0-or-later
#include "member_chooser.h"

#include <algorithm>

#include "hash.h"

namespace weir {

namespace {

MaglevTable tableOf(const std::vector<std::string>& identities, std::uint64_t seed) {
  if (identities.size() < 2) return {};
  std::vector<MaglevBackend> backends;
  backends.reserve(identities.size());
  for (const std::string& identity : identities)
    backends.push_back(maglevBackend(identity, 1, seed));
  return MaglevTable(backends);
}

// Where the identity is, or would be.
std::size_t placeOf(const std::vector<std::string>& identities, const std::string& identity) {
  return static_cast<std::size_t>(std::lower_bound(identities.begin(), identities.end(), identity) -
                                  identities.begin());
}

}  // namespace

MemberChooser::MemberChooser(LocalityPolicy policy, Members members, std::uint64_t seed)
    : policy_(policy), members_(std::move(members)) {
  switch (policy_) {
    case LocalityPolicy::roundRobin:
    case LocalityPolicy::originalDestination:
    case LocalityPolicy::leastRequest:
    case LocalityPolicy::random:
      break;
    case LocalityPolicy::ringHash:
      ring_ = HashRing(members_.identities, seed);
      break;
    case LocalityPolicy::maglev:
      maglev_ = tableOf(members_.identities, seed);
      break;
    case LocalityPolicy::weightedRoundRobin:
      turns_ = WeightedTurns(members_.weights, std::vector<std::optional<double>>(size()));
      break;
  }
}

void MemberChooser::takeTurns(const MemberChooser& before) {
  if (before.turn_ < before.size())
    turn_ = placeOf(members_.identities, before.members_.identities[before.turn_]);
  if (policy_ != LocalityPolicy::weightedRoundRobin || before.policy_ != policy_) return;
  std::vector<std::optional<double>> dues(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t then = placeOf(before.members_.identities, members_.identities[i]);
    if (then < before.size() && before.members_.identities[then] == members_.identities[i] &&
        before.members_.weights[then] == members_.weights[i])
      dues[i] = before.turns_.dueIn(then);
  }
  turns_ = WeightedTurns(members_.weights, dues);
}

std::optional<std::size_t> MemberChooser::choose(std::uint64_t hash, RandomNumbers& random,
                                                 const Questions& ask) {
  if (size() == 0) return std::nullopt;
  switch (policy_) {
    case LocalityPolicy::roundRobin:
    case LocalityPolicy::originalDestination:
      return nextInTurn(ask);
    case LocalityPolicy::leastRequest:
      return lessLoaded(random, ask);
    case LocalityPolicy::random:
      return atRandom(random, ask);
    case LocalityPolicy::ringHash:
      return ring_.pick(hash, ask.accepts);
    case LocalityPolicy::maglev:
      return byMaglev(hash, ask);
    case LocalityPolicy::weightedRoundRobin:
      // Members without a turn serve before nobody does.
      if (const auto member = turns_.pick(ask.accepts)) return member;
      return scanFrom(0, ask);
  }
  return std::nullopt;
}

std::optional<std::size_t> MemberChooser::scanFrom(std::size_t first, const Questions& ask) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (const std::size_t member = (first + i) % size(); ask.accepts(member)) return member;
  return std::nullopt;
}

std::optional<std::size_t> MemberChooser::nextInTurn(const Questions& ask) {
  const auto member = scanFrom(turn_ % size(), ask);
  if (member) turn_ = (*member + 1) % size();
  return member;
}

std::optional<std::size_t> MemberChooser::lessLoaded(RandomNumbers& random,
                                                     const Questions& ask) const {
  const std::size_t first = random.below(size());
  std::size_t second = first;
  if (size() > 1) {
    second = random.below(size() - 1);
    if (second >= first) ++second;
  }
  const bool firstGood = ask.accepts(first);
  const bool secondGood = ask.accepts(second);
  if (firstGood && secondGood) return ask.open(second) < ask.open(first) ? second : first;
  if (firstGood) return first;
  if (secondGood) return second;
  return atRandom(random, ask);
}

std::optional<std::size_t> MemberChooser::atRandom(RandomNumbers& random,
                                                   const Questions& ask) const {
  if (const std::size_t member = random.below(size()); ask.accepts(member)) return member;
  std::vector<std::size_t> accepted;
  for (std::size_t i = 0; i < size(); ++i)
    if (ask.accepts(i)) accepted.push_back(i);
  if (accepted.empty()) return std::nullopt;
  return accepted[random.below(accepted.size())];
}

std::optional<std::size_t> MemberChooser::byMaglev(std::uint64_t hash, const Questions& ask) const {
  if (maglev_.empty()) return scanFrom(0, ask);
  // Where a member gives a client up, other members take its clients in equal shares.
  constexpr int kTries = 16;
  const std::size_t first = maglev_.pick(hash);
  std::size_t member = first;
  for (int i = 0; i < kTries; ++i) {
    if (ask.accepts(member)) return member;
    hash = foldMultiply(hash ^ kPi3, kPi2 | 1) ^ (hash << 1);
    member = maglev_.pick(hash);
  }
  return scanFrom(first, ask);
}

}  // namespace weir
