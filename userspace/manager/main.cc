// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>

#include <iostream>
#include <variant>

#include "base/daemon_options.h"
#include "base/file_limit.h"
#include "base/instance_lock.h"
#include "manager/daemon.h"
#include "manager/kernel/netlink_kernel_state.h"

using namespace weir;
using namespace weir::manager;

namespace {

constexpr DaemonUsage kUsage{
    .program = "weir-manager",
    .purpose =
        "Decides where weir's connections go: reads the configuration, probes backends, "
        "tells the\nkernel and the data planes. SIGHUP reads the configuration again, "
        "SIGTERM stops.\n",
    .configDir = "weir.yaml and conf.d/*.yaml",
    .runDir = "sockets, lock, state of this boot",
    .stateDir = "state that outlives a reboot",
    .logLevel = "as weir.yaml says, else info",
};

int fail(const std::string& reason) {
  log::error("cannot start", {{"REASON", reason}});
  return 1;
}

// All diagnostics, to be read by the person who starts it.
void show(const config::Loaded& loaded) {
  for (const auto& diagnostic : loaded.diagnostics) std::cerr << diagnostic.toString() << '\n';
}

KernelWish numbersOf(const Node& node) {
  KernelWish numbers;
  numbers.fwmarkMask = node.fwmarkMask;
  numbers.ruleBase = node.ruleBase;
  numbers.tableBase = node.tableBase;
  numbers.routeProtocol = node.routeProtocol;
  return numbers;
}

}  // namespace

int main(int argc, char* argv[]) {
  // What is asked for.
  const auto asked = daemonOptions(kUsage, argc, argv);
  if (const int* status = std::get_if<int>(&asked)) return *status;
  const auto& options = std::get<DaemonOptions>(asked);
  log::setup("weir-manager", options.logLevel.value_or(log::Level::info), options.logFormat);

  // Before any other thread exists.
  auto signals = Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return fail(signals.error().message);
  raiseFileLimit();  // every probe has a socket

  // Only one manager per run directory.
  const auto lock = InstanceLock::acquire(options.runDir, "weir-manager");
  if (!lock.ok()) return fail(lock.error().message);

  // And only one per network namespace.
  const auto namespaceLock = NamespaceLock::acquire("weir-manager");
  if (!namespaceLock.ok()) return fail(namespaceLock.error().message);

  // The configuration, valid as a whole or not at all.
  config::Loaded loaded = config::loadDirectory(options.configDir);
  show(loaded);
  if (!loaded.ok())
    return fail("the configuration in " + options.configDir.string() +
                " has errors, listed above; weirctl check shows them too");

  // The kernel.
  auto kernel = NetlinkKernelState::open(numbersOf(loaded.configuration.node));
  if (!kernel.ok()) return fail(kernel.error().message);

  // Everything at work, until a signal ends it.
  Daemon daemon(options, **kernel, *signals);
  if (const Status started = daemon.start(std::move(loaded)); !started.ok())
    return fail(started.error().message);
  daemon.run();
  return 0;
}
