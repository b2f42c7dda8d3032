// SPDX-License-Identifier: GPL-2.0-or-later
//
// Keeps a fault that repeats from filling the journal: of lines of one kind, only the first few of
// each window are written. A kind is the message with the fields that say whom it is about, so
// that a thousand backends that fail at once are a thousand kinds of one line each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weir::log {

class LogLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr unsigned kBurst = 20;          // lines of a kind in a window
  static constexpr std::size_t kMaxKinds = 8192;  // remembered; beyond it nothing is left out

  struct Answer {
    bool write = true;
    bool last = false;             // further lines of the kind are left out until the window ends
    std::uint64_t suppressed = 0;  // lines of the kind left out in earlier windows, not yet told
  };
  Answer admit(std::string_view kind, Clock::time_point now);

 private:
  struct Kind {
    Clock::time_point windowEnd;
    unsigned written = 0;
    std::uint64_t suppressed = 0;
  };
  void forgetOld(Clock::time_point now);

  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace weir::log
