// SPDX-License-Identifier: GPL-2.0-or-later
//
// The manager's decisions and a data plane's, joined without a network and run by a virtual clock.
#pragma once

#include <memory>
#include <optional>

#include "cli/simulate/line.h"
#include "cli/simulate/proxy_side.h"
#include "cli/simulate/scenario.h"
#include "cli/simulate/timeline.h"
#include "weir/control_plane.h"
#include "weir/data_plane.h"

namespace weir::cli {

class Simulation {
 public:
  // The scenario must outlive the simulation. Every endpoint starts healthy with weight 1; the
  // tracking table has room for every flow that the events can make.
  explicit Simulation(const Scenario&);

  // Brings the control plane to the scenario's beginning.
  Status begin();
  // Lets the event of that index happen; its line, where it prints one. Fails when the control
  // plane refuses a change. Events in order, each once.
  Result<std::optional<Line>> step(std::size_t index);

 private:
  struct Happening;
  void tell(const Changes&);
  void advanceTo(Time now);
  Line decideOn(const Packet&, const Event&, std::size_t index, Time now);

  const Scenario& scenario_;
  Timeline timeline_;
  ProxySide proxies_;
  ControlPlane plane_{Health::healthy};
  std::shared_ptr<const World> world_ = std::make_shared<World>();
  TrackingTable table_;
  Time now_{};
};

}  // namespace weir::cli
