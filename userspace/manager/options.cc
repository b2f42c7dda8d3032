// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <array>

namespace weir::manager {

std::string_view usage() noexcept {
  return "usage: weir-manager [options]\n"
         "Decides where weir's connections go: reads the configuration, probes backends, tells "
         "the\n"
         "kernel and the data planes. SIGHUP reads the configuration again, SIGTERM stops.\n"
         "\n"
         "  --config-dir DIR     weir.yaml and conf.d/*.yaml (/etc/weir)\n"
         "  --run-dir DIR        sockets, lock, state of this boot (/run/weir)\n"
         "  --state-dir DIR      state that outlives a reboot (/var/lib/weir)\n"
         "  --log-level LEVEL    error, warning, info or debug (as weir.yaml says, else info)\n"
         "  --log-format FORMAT  text or json (text)\n"
         "  --help, --version\n";
}

Result<Options> parseOptions(int argc, char* const argv[]) {
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
  Options options;
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
        options.ask = Options::Ask::help;
        return options;
      case version:
        options.ask = Options::Ask::version;
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

}  // namespace weir::manager
