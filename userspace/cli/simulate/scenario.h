// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "cli/simulate/event.h"
#include "cli/simulate/expectation.h"
#include "config/load.h"
#include "config/text.h"

namespace weir::cli {

// A scenario (C3) as it was read: valid in itself; what its events mean for the resources shows
// when they happen.
struct Scenario {
  std::shared_ptr<const config::Text> text;  // places in events and expectations are of this text
  Configuration configuration;               // at the beginning
  std::deque<Event> events;                  // by time; millions, and never moved
  std::vector<Expectation> expectations;
};

struct ReadScenario {
  std::optional<Scenario> scenario;             // nullopt: there are errors
  std::vector<config::Diagnostic> diagnostics;  // sorted by place
};
ReadScenario readScenario(config::Source source);

}  // namespace weir::cli
