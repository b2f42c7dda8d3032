// SPDX-License-Identifier: GPL-2.0-or-later
//
// The command line that weir's daemons share (C4).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/log.h"
#include "weir/result.h"

namespace weir {

struct DaemonOptions {
  std::filesystem::path configDir = "/etc/weir";
  std::filesystem::path runDir = "/run/weir";
  std::filesystem::path stateDir = "/var/lib/weir";
  std::optional<log::Level> logLevel;  // else the configuration's
  log::Format logFormat = log::Format::text;
  enum class Ask : unsigned char { run, help, version } ask = Ask::run;
};

// What a program says about itself in --help. Each line of `purpose` ends with '\n'.
struct DaemonUsage {
  std::string_view program;
  std::string_view purpose;
  std::string_view configDir = "accepted like by the other programs; not read";
  std::string_view runDir;
  std::string_view stateDir = "accepted like by the other programs; not used";
  std::string_view logLevel = "info";  // what applies when it is not given
};
std::string usageText(const DaemonUsage&);

// The error is one line that says which argument is wrong.
Result<DaemonOptions> parseDaemonOptions(int argc, char* const argv[]);

// The start of every main(): the options to run with, or the exit status when help, the version or
// what is wrong with the arguments has been printed.
std::variant<DaemonOptions, int> daemonOptions(const DaemonUsage&, int argc, char* const argv[]);

}  // namespace weir
