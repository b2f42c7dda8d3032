// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/edit.h"
#include "config/kept.h"
#include "config/load.h"
#include "manager/engine_watch.h"
#include "manager/health/monitor.h"
#include "manager/host_state.h"
#include "manager/kernel/kernel_state.h"
#include "manager/kernel_watch.h"
#include "manager/mark_record.h"
#include "manager/publisher.h"
#include "manager/snapshot_server.h"
#include "manager/state_file.h"
#include "weir/control_plane.h"
#include "weir/proxy_plane.h"
#include "weir/result.h"

namespace weir::manager {

// The manager without its command line, API and metrics. The control plane alone decides; here its
// decisions are fetched from what happens (probe results, timers, commands, reloads) and carried
// out (kernel, data planes, state file). One thread: every function is called from the event loop.
class Manager {
 public:
  using Load = std::function<config::Loaded()>;
  static constexpr std::chrono::seconds kReconcileInterval{2};

  // Sockets and state go below `runDir`. `kernel` outlives the manager. `configDir` is what `load`
  // reads, where edit() writes; empty: nothing can be edited. In `stateDir` the configuration in
  // force is kept for a start that finds it lost; empty: nowhere.
  Manager(boost::asio::io_context&, KernelState& kernel, std::filesystem::path runDir, Load load,
          std::filesystem::path configDir = {}, std::filesystem::path stateDir = {});
  ~Manager();

  // Takes over from its predecessor, applies the configuration, and serves data planes.
  Status start(Configuration, std::vector<config::Definition> definitions = {});
  // The same with what an earlier run kept, since the directories that it was read from are lost.
  Status startWithKept(Configuration, config::Kept);
  // Nothing of weir's remains in the kernel; the state is written.
  void stop();
  // What packets meet stays in the kernel, for a successor that is started next; the state is
  // written.
  void leave();

  // Reads the configuration again. Refused: the running one goes on.
  struct Reload {
    bool accepted = false;
    bool changed = false;
    std::string refusal;                          // one line, when it was not accepted
    std::vector<config::Diagnostic> diagnostics;  // errors, warnings and hints
  };
  Reload reload();
  // What the next reload would read.
  config::Loaded loadAgain() const { return load_(); }

  // Changes the configuration directory by command and applies it as a reload would. Refused:
  // neither the directory nor what runs is touched. `dryRun`: neither is in any case.
  using Edited = std::variant<config::EditPlan, config::EditRefusal>;
  Edited edit(const config::EditRequest&, bool dryRun);

  // What the control plane would be with another, valid configuration; the error says in one line
  // why that cannot be had now. Nothing changes.
  Result<std::unique_ptr<ControlPlane>> tryOut(const Configuration&) const;
  // Why a reload or an edit would be refused now, whatever it brings: the directory that the
  // configuration in force was read from is lost. Empty: it is not.
  std::string loss() const;
  // Why the configuration in force is not kept for a start that finds it lost, and what such a
  // start would do, in one line. Empty: it is kept.
  const std::string& notKept() const noexcept { return notKept_; }
  // Why a restart would lose health, drains and marks. Empty: it would not.
  const std::string& stateNotWritten() const noexcept { return state_.notWritten(); }
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
  const ProxyPlane& proxyPlane() const noexcept { return proxyPlane_; }
  // Where a resource of the running configuration is written; nullptr: not known.
  const config::Definition* definitionOf(std::string_view collection, std::string_view name) const;
  const HealthMonitor& health() const noexcept { return health_; }
  const Publisher& publisher() const noexcept { return publisher_; }
  SnapshotServer& dataPlanes() noexcept { return dataPlanes_; }
  const ReloadCounters& reloads() const noexcept { return reloads_; }
  const std::string& lastReload() const noexcept { return lastReload_; }  // in words
  std::chrono::seconds uptime() const;
  const EngineWatch& engineWatch() const noexcept { return engineWatch_; }

 private:
  // What an event changed, for passthrough and for the proxy.
  struct Decided {
    Changes passthrough;
    ProxyChanges proxy;
  };
  // No timer, no probe, no data plane any more.
  void fallSilent();
  static Result<Decided> decided(Result<Changes>);
  static Result<Decided> decided(Result<ProxyChanges>);
  Status drained(Result<Decided>, std::string_view message, std::string_view service,
                 std::string_view endpoint);
  bool isManaged(std::string_view service) const;
  std::string stateText() const;
  void armRoundTrips();
  void restore();
  Result<Decided> applyConfiguration(Configuration);
  void hear(HealthMonitor::Report);
  void carryOut(Decided, std::vector<SnapshotMessage> before = {});
  void logRules(const Changes&);
  void updateTargets();
  void updateUnreachable();
  void armDeadline();
  void armReconcile();
  void reconcileKernel();
  KernelWish wish() const;
  void fallbackChanged();
  EngineWatch::Engine engine() const;
  std::vector<SnapshotMessage> everything() const;
  Reload refuse(std::string why, std::vector<config::Diagnostic>);
  Reload take(config::Loaded);
  std::string fixedSettingsRefusal(const Node& wanted) const;
  Status begin(Configuration);
  // Of the configuration that is in force now.
  void define(std::vector<config::Definition>);
  void keep();
  void keepAgain();

  KernelState& kernel_;
  std::filesystem::path runDir_;
  MarkRecord marks_;
  Load load_;
  std::filesystem::path configDir_;
  std::filesystem::path stateDir_;
  std::vector<config::SourcePlace> origins_;
  std::size_t keptHash_ = 0;  // of the text last written
  std::string unkept_;        // the text that could not be written yet
  std::string notKept_;       // why, and what follows from it
  std::map<std::pair<std::string, std::string>, config::Definition, std::less<>> definitions_;
  ControlPlane controlPlane_;
  ProxyPlane proxyPlane_;
  SnapshotServer dataPlanes_;
  Publisher publisher_;
  HealthMonitor health_;
  HostState hostState_;
  StateFile state_;
  EngineWatch engineWatch_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer reconcile_;
  boost::asio::steady_timer roundTrips_;
  KernelWatch kernelWatch_;
  std::function<void(const Configuration&)> onConfiguration_;
  std::map<std::string, std::string, std::less<>> ruleOfService_;  // last logged
  HealthMonitor::Unreachable unreachable_;
  ReloadCounters reloads_;
  std::string lastReload_;
  Time startedAt_;
};

}  // namespace weir::manager
