// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/timers.h"

#include <algorithm>

namespace weir::proxy {

void Timers::set(Timer& timer, Time due) {
  timer.unset();
  timer.due_ = due;
  // A tick is over when the next one begins: never early. What is due already, at the next tick.
  slotOf(std::max(tickOf(due), tick_) + 1).push_back(timer);
}

std::chrono::milliseconds Timers::untilNext(Time now, std::chrono::milliseconds most) noexcept {
  const Time end = now + most;
  for (Time::rep tick = tick_ + 1;; ++tick) {
    const Time begins(tick * kTick);
    if (begins >= end) return most;
    if (!slotOf(tick).empty()) return std::max(begins - now, std::chrono::milliseconds(0));
  }
}

void Timers::advance(Time now) {
  // After a long sleep one round of the wheel meets every timer.
  const Time::rep last = tickOf(now);
  const Time::rep first = std::max(tick_ + 1, last - static_cast<Time::rep>(kSlots) + 1);
  for (Time::rep tick = first; tick <= last; ++tick) {
    tick_ = tick;
    List due;
    due.swap(slotOf(tick));
    while (!due.empty()) {
      Timer& timer = due.front();
      due.pop_front();
      if (timer.due_ <= now)
        timer.onTime(now);
      else
        slotOf(tick).push_back(timer);  // another round
    }
  }
}

}  // namespace weir::proxy
