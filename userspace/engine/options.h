// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "weir/result.h"

namespace weir::engine {

struct Options {
  std::filesystem::path configDir =
      "/etc/weir";  // not read: the engine learns all from the manager
  std::filesystem::path runDir = "/run/weir";
  std::filesystem::path stateDir = "/var/lib/weir";  // nothing of the engine's lies there
  log::Level logLevel = log::Level::info;
  log::Format logFormat = log::Format::text;
  enum class Ask : unsigned char { run, help, version } ask = Ask::run;
};

std::string_view usage() noexcept;
// The error is one line that says which argument is wrong.
Result<Options> parseOptions(int argc, char* const argv[]);

}  // namespace weir::engine
