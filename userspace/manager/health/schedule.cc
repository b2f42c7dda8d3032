// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/schedule.h"

#include <algorithm>
#include <cstdint>

namespace weir::manager {

namespace {

// FNV-1a, then the finalizer of splitmix64, since FNV's high bits differ little for short names.
std::uint64_t stableHash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ull;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}

}  // namespace

Clock::duration phaseOf(std::string_view target, Clock::duration interval) noexcept {
  const auto turns = static_cast<std::uint64_t>(interval / kTurnOfStarts);
  return kTurnOfStarts * static_cast<Clock::rep>(stableHash(target) % turns);
}

Time firstStart(Time now, std::string_view target, Clock::duration interval) noexcept {
  if (interval > kFirstProbeWithin) return now + phaseOf(target, kFirstProbeWithin);
  return nextStart(now, now, target, interval);
}

Time nextStart(Time previous, Time now, std::string_view target,
               Clock::duration interval) noexcept {
  const Clock::duration phase = phaseOf(target, interval);
  const auto lastNotAfter = [&](Time time) {
    Clock::duration since = (time.time_since_epoch() - phase) % interval;
    if (since < Clock::duration(0)) since += interval;
    return time - since;
  };
  const Time due = lastNotAfter(previous) + interval;
  if (due > now) return due;
  const Time missed = lastNotAfter(now);
  return now - missed < interval / 4 ? now : missed + interval;
}

}  // namespace weir::manager
