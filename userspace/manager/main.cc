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
        "SIGTERM stops, SIGUSR1\nends it for a successor: what packets meet stays in the kernel.\n",
    .configDir = "weir.yaml and conf.d/*.yaml",
    .runDir = "sockets, lock, state of this boot",
    .stateDir = "the configuration in force, for a start that finds it lost",
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

// Why nothing is started rather than everything withdrawn.
std::string withoutKept(const config::Kept& kept, const std::string& loss) {
  return kept.damage + ", and it is needed: " + loss +
         ". Nothing is withdrawn; bring the directory back and start again, or remove " +
         kept.file.string() + " to start with what is there now";
}

// When that is lost which the last run's configuration was read from: that configuration takes the
// place of `loaded`, since to go on with what is left would withdraw the rest. The error: it is
// lost, or may be, and the other cannot be used.
Result<std::optional<config::Kept>> lostButKept(const DaemonOptions& options,
                                                config::Loaded& loaded) {
  auto kept = config::readKept(options.stateDir, options.configDir);
  if (!kept) return std::optional<config::Kept>();
  const std::string loss = config::lossOf(kept->origins);
  const bool nothingRead = loaded.ok() && loaded.definitions.empty();
  if (!kept->damage.empty() && (nothingRead || !loss.empty()))
    return Error{withoutKept(
        *kept, loss.empty() ? "there are no resources in " + options.configDir.string() : loss)};
  if (!kept->damage.empty())
    log::error("what the last run kept is not usable and is written anew",
               {{"REASON", kept->damage}});
  if (loss.empty()) return std::optional<config::Kept>();
  log::error("the configuration is lost; the one of the last run goes on", {{"REASON", loss}});
  loaded = config::loadKept(*kept);
  return kept;
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
  auto signals = Signals::block({SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  if (!signals.ok()) return fail(signals.error().message);
  raiseFileLimit();  // every probe has a socket

  // Only one manager per run directory.
  const auto lock = InstanceLock::acquire(options.runDir, "weir-manager");
  if (!lock.ok()) return fail(lock.error().message);

  // And only one per network namespace.
  const auto namespaceLock = NamespaceLock::acquire("weir-manager");
  if (!namespaceLock.ok()) return fail(namespaceLock.error().message);

  // The configuration, valid as a whole or not at all; the last one when it is lost.
  config::Loaded loaded = config::loadDirectory(options.configDir);
  auto lost = lostButKept(options, loaded);
  if (!lost.ok()) return fail(lost.error().message);
  std::optional<config::Kept> kept = std::move(*lost);
  show(loaded);
  if (!loaded.ok() && kept)
    return fail("what the last run kept in " + kept->file.string() +
                " has errors for this version, listed above, and it is needed: " +
                config::lossOf(kept->origins));
  if (!loaded.ok())
    return fail("the configuration in " + options.configDir.string() +
                " has errors, listed above; weirctl check shows them too");

  // The kernel.
  auto kernel = NetlinkKernelState::open(numbersOf(loaded.configuration.node));
  if (!kernel.ok()) return fail(kernel.error().message);

  // Everything at work, until a signal ends it.
  Daemon daemon(options, **kernel, *signals);
  if (const Status started = daemon.start(std::move(loaded), std::move(kept)); !started.ok())
    return fail(started.error().message);
  daemon.run();
  return 0;
}
