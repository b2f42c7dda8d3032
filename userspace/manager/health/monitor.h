// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "manager/health/durations.h"
#include "manager/health/prober.h"
#include "weir/control_plane.h"

namespace weir::manager {

// Probes everything it is told to, and reports what changed about endpoints.
//
// One prober per endpoint, health check and address, each on its own timer: a hanging backend
// delays no other's probe; services that ask the same question share it. The state of an endpoint
// is one per service (H1) and combines those of the probers for that service (H9). Changes are
// reported together: the first after a quiet time at once, those of the next kReportInterval in one
// report, so that a thousand backends that turn at once cost few new lookup tables.
class HealthMonitor {
 public:
  static constexpr std::chrono::milliseconds kReportInterval{100};

  struct UtilizationUpdate {
    EndpointRef endpoint;
    Utilization utilization;
  };
  struct Report {
    std::vector<ControlPlane::HealthUpdate> health;
    std::vector<ControlPlane::WeightUpdate> weights;
    // H13: every reading, also one that says the same as the last, since readings age.
    std::vector<UtilizationUpdate> utilizations;
  };
  struct Counters {
    std::uint64_t succeeded = 0, failed = 0, timedOut = 0;
    std::uint64_t notMade = 0;  // for want of something on this machine
  };

  // `known`: the state that an endpoint had before for the service (of the manager's predecessor,
  // or before it was drained). `report` is called from the event loop.
  using Known = std::function<Health(const EndpointRef&, const std::string& service)>;
  HealthMonitor(boost::asio::io_context&, Known known, std::function<void(Report)> report);
  ~HealthMonitor();

  // From now on exactly these are probed; probers of targets that stay go on undisturbed, with
  // their counts, also when thresholds or texts of their check changed.
  void setTargets(const std::vector<ProbeTarget>&);

  // Next hops that the kernel cannot reach now: their backends count as unhealthy for this reason.
  using Unreachable = std::map<std::pair<Mark, Family>, std::string>;
  void setUnreachable(Unreachable);

  // Why the endpoint is not healthy for the service, in words; empty when it is, or when nothing is
  // known yet.
  std::string reason(const EndpointRef&, const std::string& service) const;
  Counters counters() const noexcept;
  // The round trip to the endpoint as the last connections to it measured it, the shortest of its
  // addresses; nullopt: none came up yet. For distances (S1).
  std::optional<std::chrono::microseconds> roundTrip(const EndpointRef&) const;
  // By service; a probe of a backend of several services counts in each. A service that is not
  // probed any more is gone from here.
  const std::map<std::string, ProbeDurations>& durations() const noexcept;
  std::size_t probers() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir::manager
