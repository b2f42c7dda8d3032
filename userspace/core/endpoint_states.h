// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is known of the members of groups, the same for the services of all schemes.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string_view>

#include "weir/control_plane.h"

namespace weir::control {

// A member of a group, configured or leaving. Its probe's health is kept while it drains, so that
// an endpoint that comes back has it again (P7.5).
struct EndpointState {
  Endpoint definition;  // as configured, or as it was when it left
  Health health = Health::unknown;
  bool probed = false;  // UNKNOWN is a verdict of its probes, not the lack of any
  ReportedWeight reported;
  std::uint32_t lastKnownWeight = 1;
  std::optional<Time> leaves;  // taken out of its group; its entries end at this time (P7.1)

  std::uint32_t weight() const noexcept { return definition.weight.value_or(lastKnownWeight); }
  // P9.2: a weight that is missing or invalid puts the whole service on equal weights.
  bool weightValid() const noexcept;
};
using EndpointStates = std::map<EndpointRef, EndpointState>;

// A drain by command stays until undrained; ended: its entries are gone (P7.1).
struct OperatorDrain {
  Time deadline;
  bool ended = false;
};

// Can the endpoint be put to drain in this service? Else why not, fit for an operator.
Status checkDrainable(const BackendService&, const EndpointStates&, std::string_view endpoint);
// When a drain that begins now ends: after the service's timeout, unless one is given (0..3600 s).
Result<Time> drainDeadline(const BackendService&, std::optional<std::chrono::seconds> timeout,
                           Time now);

// Endpoints of the configuration come and go: those that left begin to drain, for the largest
// timeout of the services that use their group (P7.3), or are forgotten; those that came back stop
// draining.
void updateEndpoints(const Configuration&, EndpointStates&, Health initialHealth, Time now);

}  // namespace weir::control
