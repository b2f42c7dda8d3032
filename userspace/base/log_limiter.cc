// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log_limiter.h"

#include <utility>

namespace weir::log {

LogLimiter::Answer LogLimiter::admit(std::string_view kind, Clock::time_point now) {
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    if (kinds_.size() >= kMaxKinds) forgetOld(now);
    if (kinds_.size() >= kMaxKinds) return {};
    found = kinds_.try_emplace(std::string(kind), Kind{now + kWindow}).first;
  }
  Kind& known = found->second;
  Answer answer;
  if (now >= known.windowEnd) {
    answer.suppressed = std::exchange(known.suppressed, 0);
    known.windowEnd = now + kWindow;
    known.written = 0;
  }
  if (known.written == kBurst) {
    ++known.suppressed;
    answer.write = false;
    return answer;
  }
  answer.last = ++known.written == kBurst;
  return answer;
}

// A kind that still owes its number of left-out lines is kept as long as there is room.
void LogLimiter::forgetOld(Clock::time_point now) {
  std::erase_if(kinds_, [&](const auto& entry) {
    return now >= entry.second.windowEnd && entry.second.suppressed == 0;
  });
}

}  // namespace weir::log
