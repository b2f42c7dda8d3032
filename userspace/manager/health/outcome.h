// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one probe found.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/eligibility.h"

namespace weir::manager {

struct Outcome {
  // H10: a wrong answer makes a backend UNHEALTHY, no answer makes it TIMEOUT. notMade: this
  // machine could not send the probe (no file descriptor, no port, no privilege), which says
  // nothing of the backend and changes nothing about it.
  enum class Kind : std::uint8_t { success, wrongAnswer, noAnswer, notMade };
  Kind kind = Kind::noAnswer;
  std::string reason;                    // in words ("connection refused"); empty: success
  std::optional<ReportedWeight> weight;  // nullopt: this type of probe carries no weight
  // H13: what the backend says of its load: 0 is idle, 1 is its capacity, more is possible.
  std::optional<double> utilization;
  // From the first SYN to the established connection: the network's round trip. nullopt: there was
  // no connection.
  std::optional<std::chrono::microseconds> connectTime;
};

inline Outcome succeeded() { return {Outcome::Kind::success, {}, {}, {}, {}}; }
inline Outcome answeredWrongly(std::string reason) {
  return {Outcome::Kind::wrongAnswer, std::move(reason), {}, {}, {}};
}
inline Outcome notAnswered(std::string reason) {
  return {Outcome::Kind::noAnswer, std::move(reason), {}, {}, {}};
}

inline Outcome notMade(std::string reason) {
  return {Outcome::Kind::notMade, std::move(reason), {}, {}, {}};
}

}  // namespace weir::manager
