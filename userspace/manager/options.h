// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "weir/result.h"

namespace weir::manager {

struct Options {
  std::filesystem::path configDir = "/etc/weir";
  std::filesystem::path runDir = "/run/weir";
  std::filesystem::path stateDir = "/var/lib/weir";
  std::optional<log::Level> logLevel;  // else the configuration's
  log::Format logFormat = log::Format::text;
  enum class Ask : unsigned char { run, help, version } ask = Ask::run;
};

std::string_view usage() noexcept;
// The error is one line that says which argument is wrong.
Result<Options> parseOptions(int argc, char* const argv[]);

}  // namespace weir::manager
