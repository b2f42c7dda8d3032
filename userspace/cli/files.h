// SPDX-License-Identifier: GPL-2.0-or-later
//
// Files that commands read and write.
#pragma once

#include <string>

#include "cli/context.h"
#include "config/load.h"
#include "weir/result.h"

namespace weir::cli {

// A file, or the input for "-"; at most config::kMaxFileBytes.
Result<config::Source> readSource(const Context&, const std::string& file);

// As YAML, or as JSON where --format says so. `file` empty or "-": to the output; else the file is
// replaced as a whole or left as it is.
Exit writeDocument(const Context&, const Json&, const std::string& file);

}  // namespace weir::cli
