// SPDX-License-Identifier: GPL-2.0-or-later
#include <chrono>
#include <csignal>
#include <thread>
#include <variant>

#include "base/background_log.h"
#include "base/daemon_options.h"
#include "base/fd_store.h"
#include "base/file_limit.h"
#include "base/log.h"
#include "base/signals.h"
#include "proxy/proxy.h"

using namespace weir;

namespace {

constexpr DaemonUsage kUsage{
    .program = "weir-proxy",
    .purpose =
        "Carries the connections of proxy services as weir-manager tells it to. Started\n"
        "while another one runs, it takes its listening sockets over.\n",
    .runDir = "sockets, locks, last snapshot",
};

int refuse(const Error& error) {
  log::error("cannot start", {{"REASON", error.message}});
  return 1;
}

// A predecessor that has just handed over gives the lock up in a moment.
Result<InstanceLock> acquireLock(const DaemonOptions& options, bool tookOver) {
  for (int attempt = 0;; ++attempt) {
    auto lock = InstanceLock::acquire(options.runDir, "weir-proxy");
    if (lock.ok() || !tookOver || attempt == 50) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  // What is asked for.
  const auto asked = daemonOptions(kUsage, argc, argv);
  if (const int* status = std::get_if<int>(&asked)) return *status;
  const auto& options = std::get<DaemonOptions>(asked);
  log::setup("weir-proxy", options.logLevel.value_or(log::Level::info), options.logFormat);

  // Signals become input of the control thread, before there is another thread.
  auto signals = Signals::block({SIGTERM, SIGINT, SIGUSR1});
  if (!signals) return refuse(signals.error());
  raiseFileLimit();
  const log::BackgroundWriter writer;

  // In the place of the one that runs, if there is one, or of one that is gone.
  auto stored = proxy::fromStore(fd_store::takeStored());
  auto inherited = proxy::takeOver(options.runDir);
  if (!inherited) return refuse(inherited.error());
  auto lock = acquireLock(options, inherited->has_value());
  if (!lock) return refuse(lock.error());
  auto handover = proxy::HandoverServer::listen(options.runDir);
  if (!handover) return refuse(handover.error());

  // Hear the manager, carry connections, until told to stop.
  proxy::Proxy proxy(options, std::move(*signals), std::move(*lock), std::move(*handover),
                     std::move(*inherited).value_or(std::move(stored)));
  if (const Status status = proxy.run(); !status) return refuse(status.error());
  return 0;
}
