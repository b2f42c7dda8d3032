// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

#include "weir/types.h"

namespace weir::manager {

// When the probes of one target start (H2): every interval, at a phase that a stable hash of its
// name spreads over the interval, so that many targets are not probed in one burst and a restart
// does not change who is probed when. A target that is new is not left unknown for a long
// interval: its first probe comes within kFirstProbeWithin, spread likewise.
inline constexpr Clock::duration kFirstProbeWithin = std::chrono::seconds(5);

// Phases are multiples of this: what starts together shares wake-ups of the event loop, whose cost
// is as large as a probe's. With 1,000 targets at an interval of 1 s, 20 start at a time.
inline constexpr Clock::duration kTurnOfStarts = std::chrono::milliseconds(20);

// 0 <= phase < interval; interval is a multiple of kTurnOfStarts, as whole seconds are.
Clock::duration phaseOf(std::string_view target, Clock::duration interval) noexcept;
Time firstStart(Time now, std::string_view target, Clock::duration interval) noexcept;
// The start after the one at `previous`: at the target's phase. A start whose time has just passed,
// since the probe before it took all of the interval until its timeout, is made up for at once; one
// that is past by a quarter of the interval is left out.
Time nextStart(Time previous, Time now, std::string_view target, Clock::duration interval) noexcept;

}  // namespace weir::manager
