// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is known of the members of groups, the same for the services of all schemes.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/control_plane.h"

namespace weir::control {

// What the probes of one health check say of an endpoint.
struct Verdict {
  Health health = Health::unknown;
  bool probed = false;  // UNKNOWN is a verdict of its probes, not the lack of any
  ReportedWeight reported;
  std::uint32_t lastKnownWeight = 1;
};

// A member of a group, configured or leaving. Its probes' verdicts are kept while it drains, so
// that an endpoint that comes back has them again (P7.5).
struct EndpointState {
  Endpoint definition;                                   // as configured, or as it was when it left
  Verdict common;                                        // for services without one of their own
  std::map<std::string, Verdict, std::less<>> verdicts;  // by service (H1)
  std::optional<Time> leaves;  // taken out of its group; its entries end at this time (P7.1)

  const Verdict& verdict(std::string_view service) const noexcept;
  std::uint32_t weight(std::string_view service) const noexcept {
    return definition.weight.value_or(verdict(service).lastKnownWeight);
  }
  // P9.2: a weight that is missing or invalid puts the whole service on equal weights.
  bool weightValid(std::string_view service) const noexcept;
};
using EndpointStates = std::map<EndpointRef, EndpointState>;

// Takes a probe's result over. True: it says something new.
bool note(EndpointState&, const ControlPlane::HealthUpdate&);
bool note(EndpointState&, const ControlPlane::WeightUpdate&);

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
// draining. Verdicts of services that do not use the group any more are forgotten.
void updateEndpoints(const Configuration&, EndpointStates&, Health initialHealth, Time now);

}  // namespace weir::control
