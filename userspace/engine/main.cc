// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>

#include <csignal>

#include "base/instance_lock.h"
#include "base/log.h"
#include "base/signals.h"
#include "engine/engine.h"
#include "engine/options.h"

namespace {

using weir::engine::Options;

int refuse(const weir::Error& error) {
  weir::log::error(error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // What is asked for.
  const auto options = weir::engine::parseOptions(argc, argv);
  if (!options) {
    fmt::print(stderr, "weir-engine: {}\n{}", options.error().message, weir::engine::usage());
    return 2;
  }
  switch (options->ask) {
    case Options::Ask::help:
      fmt::print("{}", weir::engine::usage());
      return 0;
    case Options::Ask::version:
      fmt::print("weir-engine {}\n", WEIR_VERSION);
      return 0;
    case Options::Ask::run:
      break;
  }
  weir::log::setup("weir-engine", options->logLevel, options->logFormat);

  // Signals become input of the control thread, before there is another thread.
  auto signals = weir::Signals::block({SIGTERM, SIGINT});
  if (!signals) return refuse(signals.error());

  // One engine per run directory.
  const auto lock = weir::InstanceLock::acquire(options->runDir, "weir-engine");
  if (!lock) return refuse(lock.error());

  // Hear the manager, forward packets, until told to stop.
  weir::engine::Engine engine(*options, std::move(*signals));
  if (const auto status = engine.run(); !status) return refuse(status.error());
  return 0;
}
