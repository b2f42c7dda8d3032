// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <variant>

#include "base/daemon_options.h"
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
    .runDir = "sockets, locks",
};

int refuse(const Error& error) {
  log::error("cannot start", {{"REASON", error.message}});
  return 1;
}

// Every connection costs two descriptors; the limit that counts is the hard one.
void raiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
  auto signals = Signals::block({SIGTERM, SIGINT});
  if (!signals) return refuse(signals.error());
  raiseDescriptorLimit();

  // In the place of the one that runs, if there is one.
  auto inherited = proxy::takeOver(options.runDir);
  if (!inherited) return refuse(inherited.error());
  auto lock = acquireLock(options, inherited->has_value());
  if (!lock) return refuse(lock.error());
  auto handover = proxy::HandoverServer::listen(options.runDir);
  if (!handover) return refuse(handover.error());

  // Hear the manager, carry connections, until told to stop.
  proxy::Proxy proxy(options, std::move(*signals), std::move(*lock), std::move(*handover),
                     std::move(*inherited).value_or(proxy::ListeningSockets{}));
  if (const Status status = proxy.run(); !status) return refuse(status.error());
  return 0;
}
