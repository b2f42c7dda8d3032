// SPDX-License-Identifier: GPL-2.0-or-later
//
// Many coarse timers in constant time each: a wheel of lists, one list a tick. A timer far away
// goes around the wheel until its time comes.
#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <vector>

#include "weir/types.h"

namespace weir::proxy {

using TimerHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct TimerTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Unset when destroyed.
class Timer : public TimerHook {
 public:
  void unset() noexcept {
    if (TimerHook::is_linked()) TimerHook::unlink();
  }

 protected:
  virtual ~Timer() = default;
  // At its time or up to a tick later. The timer is not set any more and may be set again.
  virtual void onTime(Time now) = 0;

 private:
  friend class Timers;
  Time due_;
};

class Timers {
 public:
  static constexpr std::chrono::milliseconds kTick{100};

  explicit Timers(Time now) : wheel_(kSlots), tick_(tickOf(now)) {}

  // Anew when it is set already.
  void set(Timer& timer, Time due);
  // Calls what is due.
  void advance(Time now);
  // How long advance() may wait for its next call; at most `most`. O(most / kTick).
  std::chrono::milliseconds untilNext(Time now, std::chrono::milliseconds most) noexcept;

 private:
  static constexpr std::size_t kSlots = 1024;
  using List = boost::intrusive::list<Timer, boost::intrusive::base_hook<TimerHook>,
                                      boost::intrusive::constant_time_size<false>>;
  static Time::rep tickOf(Time time) noexcept {
    return time.time_since_epoch().count() / kTick.count();
  }
  List& slotOf(Time::rep tick) noexcept { return wheel_[static_cast<std::size_t>(tick) % kSlots]; }

  std::vector<List> wheel_;
  Time::rep tick_;  // the last one that was advanced to
};

}  // namespace weir::proxy
