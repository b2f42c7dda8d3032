// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/daemon.h"

#include <fmt/format.h>
#include <signal.h>

#include "base/notify.h"
#include "manager/api/api.h"
#include "manager/metrics/metrics.h"

namespace weir::manager {

namespace {

log::Level levelOf(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::error:
      return log::Level::error;
    case LogLevel::warning:
      return log::Level::warning;
    case LogLevel::info:
      return log::Level::info;
    case LogLevel::debug:
      return log::Level::debug;
  }
  return log::Level::info;
}

}  // namespace

Daemon::Daemon(const DaemonOptions& options, KernelState& kernel, Signals& signals)
    : options_(options),
      signals_(signals),
      manager_(
          io_, kernel, options.runDir,
          [directory = options.configDir] { return config::loadDirectory(directory); },
          options.configDir, options.stateDir),
      api_(io_, apiHandler(manager_)),
      signalFd_(io_, signals.fd()),
      watchdog_(io_) {}

Daemon::~Daemon() { signalFd_.release(); }

Status Daemon::start(config::Loaded loaded, std::optional<config::Kept> kept) {
  if (Status status = api_.listenLocal(options_.runDir / "api.sock", "weir", "weir-view");
      !status.ok())
    return status;
  const Status started =
      kept ? manager_.startWithKept(std::move(loaded.configuration), *std::move(kept))
           : manager_.start(std::move(loaded.configuration), std::move(loaded.definitions));
  if (!started) return started;
  manager_.onConfiguration([this](const Configuration& c) { configured(c); });
  configured(manager_.controlPlane().configuration());
  awaitSignal();
  feedWatchdog();
  return success();
}

void Daemon::run() {
  log::info("started", {{"VERSION", WEIR_VERSION}, {"CONFIG_DIR", options_.configDir.string()}});
  notify::ready(statusLine());
  io_.run();
  log::info(forSuccessor_ ? "ending for a successor; what packets meet stays in the kernel"
                          : "stopping");
  notify::stopping();
  api_.stop();
  metrics_.reset();
  if (forSuccessor_)
    manager_.leave();
  else
    manager_.stop();
}

void Daemon::configured(const Configuration& configuration) {
  if (!options_.logLevel)
    log::setup("weir-manager", levelOf(configuration.node.logLevel), options_.logFormat);
  bindMetrics(configuration.node.metricsAddress);
  notify::status(statusLine());
}

void Daemon::bindMetrics(const std::string& address) {
  if (metrics_ && address == metricsAddress_) return;
  metrics_.reset();
  if (address.empty()) return;
  metrics_.emplace(io_, metricsHandler(manager_));
  metricsAddress_ = address;
  if (const Status status = metrics_->listenTcp(address); !status.ok()) {
    log::warning("no metrics are served until the next reload",
                 {{"REASON", status.error().message}});
    metrics_.reset();
  }
}

void Daemon::awaitSignal() {
  signalFd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         if (error) return;
                         while (const auto signal = signals_.next()) take(*signal);
                         awaitSignal();
                       });
}

void Daemon::take(int signal) {
  if (signal != SIGHUP) {
    forSuccessor_ = signal == SIGUSR1;
    return io_.stop();
  }
  notify::reloading();
  manager_.reload();
  notify::ready(statusLine());
}

// Fed from the event loop: a manager that hangs is restarted.
void Daemon::feedWatchdog() {
  const auto interval = notify::watchdogInterval();
  if (!interval) return;
  notify::watchdog();
  notify::status(statusLine());
  watchdog_.expires_after(*interval / 3);
  watchdog_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) feedWatchdog();
  });
}

std::string Daemon::statusLine() const {
  const Configuration& configuration = manager_.controlPlane().configuration();
  return fmt::format("{} backend services, {} forwarding rules; configuration {}",
                     configuration.services.size(), configuration.rules.size(),
                     manager_.lastReload());
}

}  // namespace weir::manager
