// SPDX-License-Identifier: GPL-2.0-or-later
#include <csignal>
#include <variant>

#include "base/daemon_options.h"
#include "base/instance_lock.h"
#include "base/log.h"
#include "base/signals.h"
#include "engine/engine.h"

namespace {

constexpr weir::DaemonUsage kUsage{
    .program = "weir-engine",
    .purpose = "Forwards the packets of passthrough services as weir-manager tells it to.\n",
    .runDir = "sockets, locks, tracking table, last snapshot",
};

int refuse(const weir::Error& error) {
  weir::log::error(error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // What is asked for.
  const auto asked = weir::daemonOptions(kUsage, argc, argv);
  if (const int* status = std::get_if<int>(&asked)) return *status;
  const auto& options = std::get<weir::DaemonOptions>(asked);
  weir::log::setup("weir-engine", options.logLevel.value_or(weir::log::Level::info),
                   options.logFormat);

  // Signals become input of the control thread, before there is another thread.
  auto signals = weir::Signals::block({SIGTERM, SIGINT, SIGUSR1});
  if (!signals) return refuse(signals.error());

  // One engine per run directory.
  const auto lock = weir::InstanceLock::acquire(options.runDir, "weir-engine");
  if (!lock) return refuse(lock.error());

  // Hear the manager, forward packets, until told to stop.
  weir::engine::Engine engine(options, std::move(*signals));
  if (const auto status = engine.run(); !status) return refuse(status.error());
  return 0;
}
