// SPDX-License-Identifier: GPL-2.0-or-later
//
// The small value types that every other header speaks. None of them converts silently into
// another: a port is not a mark, a mark is not a table number.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>

namespace weir {

// The data plane's clock. It has no now(): whoever owns a real clock passes the time in, so that a
// simulation and a running engine decide alike. Milliseconds since an arbitrary start that no
// value precedes (boot, for the engine).
struct Clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
};
using Time = Clock::time_point;

enum class Family : std::uint8_t { ipv4, ipv6 };

// IP protocol numbers; every value 0..255 is legal, the named ones are those that rules mention.
enum class Protocol : std::uint8_t {
  none = 0,  // "no protocol": keys of 1-tuple and 2-tuple affinity
  icmp = 1,
  tcp = 6,
  udp = 17,
  gre = 47,
  esp = 50,
  ah = 51,
  icmpv6 = 58,
  sctp = 132,
};

// A strong integer: comparable and hashable, no arithmetic, no implicit conversion.
template <class Tag, class Rep>
class Id {
 public:
  using rep = Rep;
  constexpr Id() noexcept = default;
  constexpr explicit Id(Rep value) noexcept : value_(value) {}
  constexpr Rep value() const noexcept { return value_; }
  friend constexpr auto operator<=>(Id, Id) noexcept = default;

 private:
  Rep value_ = 0;
};

// Firewall mark of a backend, already shifted into the configured mask; 0 is "no mark".
using Mark = Id<struct MarkTag, std::uint32_t>;
// A backend service as data planes know it. Given out by the manager, kept while the service lives.
using ServiceId = Id<struct ServiceIdTag, std::uint16_t>;
// Position of a backend in its service's snapshot. Stable while the backend belongs to the service
// (draining included); reused afterwards, which Generation makes safe.
using BackendSlot = Id<struct BackendSlotTag, std::uint16_t>;
// A manager-wide counter, raised with every snapshot. An entry carries the generation it was made
// in; a backend carries the generation from which on entries are valid. It never falls, also
// across restarts of the manager.
using Generation = Id<struct GenerationTag, std::uint32_t>;
// Position of a client zone in the rules snapshot; kNoZone: the client's zone is not known.
using ZoneIndex = Id<struct ZoneIndexTag, std::uint16_t>;
inline constexpr ZoneIndex kNoZone{0xffff};

}  // namespace weir

template <class Tag, class Rep>
struct std::hash<weir::Id<Tag, Rep>> {
  std::size_t operator()(weir::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
