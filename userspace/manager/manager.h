// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "manager/health/monitor.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel_watch.h"
#include "manager/publisher.h"
#include "manager/snapshot_server.h"
#include "manager/state_file.h"
#include "weir/control_plane.h"
#include "weir/result.h"

namespace weir::manager {

// The manager without its command line, API and metrics. The control plane alone decides; here its
// decisions are fetched from what happens (probe results, timers, commands, reloads) and carried
// out (kernel, data planes, state file). One thread: every function is called from the event loop.
class Manager {
 public:
  using Load = std::function<config::Loaded()>;
  static constexpr std::chrono::seconds kReconcileInterval{2};

  // Sockets and state go below `runDir`. `kernel` outlives the manager.
  Manager(boost::asio::io_context&, KernelState& kernel, std::filesystem::path runDir, Load load);
  ~Manager();

  // Takes over from its predecessor, applies the configuration, and serves data planes.
  Status start(Configuration);
  // Nothing of weir's remains in the kernel; the state is written.
  void stop();

  // Reads the configuration again. Refused: the running one goes on.
  struct Reload {
    bool accepted = false;
    bool changed = false;
    std::string refusal;                          // one line, when it was not accepted
    std::vector<config::Diagnostic> diagnostics;  // errors, warnings and hints
  };
  Reload reload();
  // After each accepted change of the configuration.
  void onConfiguration(std::function<void(const Configuration&)>);

  // P7 by command.
  Status drain(std::string_view service, std::string_view endpoint,
               std::optional<std::chrono::seconds> timeout);
  Status undrain(std::string_view service, std::string_view endpoint);

  // What the API and the metrics show.
  struct ReloadCounters {
    std::uint64_t accepted = 0, refused = 0;
  };
  const ControlPlane& controlPlane() const noexcept { return controlPlane_; }
  const HealthMonitor& health() const noexcept { return health_; }
  const Publisher& publisher() const noexcept { return publisher_; }
  SnapshotServer& dataPlanes() noexcept { return dataPlanes_; }
  const ReloadCounters& reloads() const noexcept { return reloads_; }
  const std::string& lastReload() const noexcept { return lastReload_; }  // in words
  std::chrono::seconds uptime() const;

 private:
  void restore();
  void saveState();
  Result<Changes> applyConfiguration(Configuration);
  void hear(HealthMonitor::Report);
  void carryOut(Changes, std::vector<SnapshotMessage> before = {});
  void logRules(const Changes&);
  void updateTargets();
  void updateUnreachable();
  void armDeadline();
  void armReconcile();
  void reconcileKernel();
  std::vector<SnapshotMessage> everything() const;
  Reload refuse(std::string why, std::vector<config::Diagnostic>);

  KernelState& kernel_;
  std::filesystem::path runDir_;
  Load load_;
  ControlPlane controlPlane_;
  SnapshotServer dataPlanes_;
  Publisher publisher_;
  HealthMonitor health_;
  StateFile state_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer reconcile_;
  KernelWatch kernelWatch_;
  std::function<void(const Configuration&)> onConfiguration_;
  std::map<std::string, std::string, std::less<>> ruleOfService_;  // last logged
  HealthMonitor::Unreachable unreachable_;
  ReloadCounters reloads_;
  std::string lastReload_;
  Time startedAt_;
};

}  // namespace weir::manager
