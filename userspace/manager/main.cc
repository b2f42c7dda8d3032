// SPDX-License-Identifier: GPL-2.0-or-later
#include <curl/curl.h>
#include <signal.h>

#include <cstdio>
#include <iostream>

#include "base/instance_lock.h"
#include "manager/daemon.h"
#include "manager/kernel/netlink_kernel_state.h"

using namespace weir;
using namespace weir::manager;

namespace {

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
  const auto options = parseOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << "weir-manager: " << options.error().message << "\n\n" << usage();
    return 2;
  }
  if (options->ask == Options::Ask::help) {
    std::cout << usage();
    return 0;
  }
  if (options->ask == Options::Ask::version) {
    std::cout << "weir-manager " << WEIR_VERSION << '\n';
    return 0;
  }
  log::setup("weir-manager", options->logLevel.value_or(log::Level::info), options->logFormat);

  // Before any other thread exists.
  auto signals = Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return fail(signals.error().message);
  curl_global_init(CURL_GLOBAL_DEFAULT);

  // Only one manager per run directory.
  const auto lock = InstanceLock::acquire(options->runDir, "weir-manager");
  if (!lock.ok()) return fail(lock.error().message);

  // The configuration, valid as a whole or not at all.
  config::Loaded loaded = config::loadDirectory(options->configDir);
  show(loaded);
  if (!loaded.ok())
    return fail("the configuration in " + options->configDir.string() +
                " has errors, listed above; weirctl check shows them too");

  // The kernel.
  auto kernel = NetlinkKernelState::open(numbersOf(loaded.configuration.node));
  if (!kernel.ok()) return fail(kernel.error().message);

  // Everything at work, until a signal ends it.
  Daemon daemon(*options, **kernel, *signals);
  if (const Status started = daemon.start(std::move(loaded.configuration)); !started.ok())
    return fail(started.error().message);
  daemon.run();
  return 0;
}
