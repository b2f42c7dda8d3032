// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which backends get new connections: the ladders of P2 and P9, refined by zonal affinity (P3).
// Pure: members with their state in, set and rule number out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/model.h"
#include "weir/snapshot.h"

namespace weir {

// Backend state as an operator sees it (H10). Truth table for P2:
//   healthy: healthy | unhealthy, timeout, unknown: unhealthy | draining: not configured at all
enum class Health : std::uint8_t { unknown, healthy, unhealthy, timeout, draining };
std::string_view toString(Health) noexcept;  // "HEALTHY", ...

// A weight as the probe reported it (P9.2).
struct ReportedWeight {
  enum class Kind : std::uint8_t { value, missing, invalid, unavailable };
  Kind kind = Kind::value;
  std::uint32_t value = 1;  // 0..1000
  friend bool operator==(const ReportedWeight&, const ReportedWeight&) = default;
};

// One backend of a service, listed once (P2), never draining.
struct Member {
  BackendSlot slot;
  bool failover = false;
  bool healthy = false;
  std::uint32_t weight = 1;  // last known (P9.2); 1 in services that are not weighted
  bool weightValid = true;   // false: missing or invalid, which puts the service on equal weights
  std::string zone;
  std::string identity;  // Endpoint::identity()
};

// Which pool a set is made of; a change between primary and failover is P6.5's switch. Without a
// failover policy every backend is a primary. none: the set is empty.
enum class Pool : std::uint8_t { none, primary, failover };

struct Eligibility {
  EligibleSet set;
  Pool pool = Pool::none;
  bool lastResort = false;  // it has members, and none of them is healthy
  std::string explanation;  // the numbers of the rule in words a person understands
};

// The set before zonal affinity. Members of the result are sorted by identity; their weights are
// those to hash with: 1 in services that are not weighted, where a weight is missing or invalid
// (P9.2), and in sets of which every weight is 0 (P9.5).
//
// The rule of a weighted service: P2.3 to P2.7 where those decide with "healthy" read as "healthy
// and nonzero" (P9.4), P2.8 when the set is empty by the failover policy's wish, else P9.3 or P9.4.
Eligibility eligible(const BackendService&, std::span<const Member>);
// P3 for clients of `zone`; nullopt: skipped or without effect by a rule of P3, `base` (what
// eligible() made of the same members) holds. The result's pool is base's.
//
// Under STAY_WITHIN_ZONE a weighted service may have a zone with nothing but healthy backends of
// weight 0, of which none is eligible nor unhealthy; they then serve their zone in equal shares,
// since an empty set would drop what healthy backends could serve.
std::optional<Eligibility> refineForZone(const BackendService&, std::span<const Member>,
                                         const Eligibility& base, const std::string& zone);

}  // namespace weir
