// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/daemon_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <array>
#include <cstdio>

namespace weir {

std::string usageText(const DaemonUsage& usage) {
  return fmt::format(
      "usage: {} [options]\n"
      "{}\n"
      "  --config-dir DIR     {} (/etc/weir)\n"
      "  --run-dir DIR        {} (/run/weir)\n"
      "  --state-dir DIR      {} (/var/lib/weir)\n"
      "  --log-level LEVEL    error, warning, info or debug ({})\n"
      "  --log-format FORMAT  text or json (text)\n"
      "  --help, --version\n",
      usage.program, usage.purpose, usage.configDir, usage.runDir, usage.stateDir, usage.logLevel);
}

Result<DaemonOptions> parseDaemonOptions(int argc, char* const argv[]) {
  enum Key { configDir = 1, runDir, stateDir, logLevel, logFormat, help, version };
  static constexpr std::array<option, 8> kOptions{{
      {"config-dir", required_argument, nullptr, configDir},
      {"run-dir", required_argument, nullptr, runDir},
      {"state-dir", required_argument, nullptr, stateDir},
      {"log-level", required_argument, nullptr, logLevel},
      {"log-format", required_argument, nullptr, logFormat},
      {"help", no_argument, nullptr, help},
      {"version", no_argument, nullptr, version},
      {nullptr, 0, nullptr, 0},
  }};
  DaemonOptions options;
  ::optind = 0;  // parse from the start, also on a second call
  ::opterr = 0;
  for (int key; (key = ::getopt_long(argc, argv, ":", kOptions.data(), nullptr)) != -1;) {
    switch (key) {
      case configDir:
        options.configDir = ::optarg;
        break;
      case runDir:
        options.runDir = ::optarg;
        break;
      case stateDir:
        options.stateDir = ::optarg;
        break;
      case logLevel:
        options.logLevel = log::parseLevel(::optarg);
        if (!options.logLevel)
          return Error{
              fmt::format("--log-level is error, warning, info or debug, not '{}'", ::optarg)};
        break;
      case logFormat: {
        const auto format = log::parseFormat(::optarg);
        if (!format) return Error{fmt::format("--log-format is text or json, not '{}'", ::optarg)};
        options.logFormat = *format;
        break;
      }
      case help:
        options.ask = DaemonOptions::Ask::help;
        return options;
      case version:
        options.ask = DaemonOptions::Ask::version;
        return options;
      case ':':
        return Error{fmt::format("{} needs a value", argv[::optind - 1])};
      default:  // getopt's answer for what it does not know
        return Error{fmt::format("unknown option {}", argv[::optind - 1])};
    }
  }
  if (::optind < argc) return Error{fmt::format("unexpected argument '{}'", argv[::optind])};
  return options;
}

std::variant<DaemonOptions, int> daemonOptions(const DaemonUsage& usage, int argc,
                                               char* const argv[]) {
  auto options = parseDaemonOptions(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}: {}\n\n{}", usage.program, options.error().message, usageText(usage));
    return 2;
  }
  switch (options->ask) {
    case DaemonOptions::Ask::help:
      fmt::print("{}", usageText(usage));
      return 0;
    case DaemonOptions::Ask::version:
      fmt::print("{} {}\n", usage.program, WEIR_VERSION);
      return 0;
    case DaemonOptions::Ask::run:
      break;
  }
  return std::move(*options);
}

}  // namespace weir
