// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/daemon_options.h"
#include "base/signals.h"
#include "manager/api/http_server.h"
#include "manager/manager.h"
#include "weir/result.h"

namespace weir::manager {

// The manager with everything around it that makes it a system service: API and metrics sockets,
// signals, systemd.
class Daemon {
 public:
  // `kernel` and `signals` outlive the daemon.
  Daemon(const DaemonOptions&, KernelState& kernel, Signals& signals);
  ~Daemon();

  // With a configuration that is ok(); `kept` where it is the one that an earlier run kept.
  Status start(config::Loaded, std::optional<config::Kept> kept);
  // Until a signal ends it; then everything is stopped and removed. After SIGUSR1 what packets meet
  // stays in the kernel, for a successor.
  void run();

 private:
  void configured(const Configuration&);
  void bindMetrics(const std::string& address);
  void awaitSignal();
  void take(int signal);
  void feedWatchdog();
  std::string statusLine() const;

  const DaemonOptions options_;
  Signals& signals_;
  boost::asio::io_context io_;
  Manager manager_;
  HttpServer api_;
  std::optional<HttpServer> metrics_;
  std::string metricsAddress_;
  boost::asio::posix::stream_descriptor signalFd_;
  boost::asio::steady_timer watchdog_;
  bool forSuccessor_ = false;
};

}  // namespace weir::manager
