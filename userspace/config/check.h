// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <filesystem>
#include <iosfwd>

namespace weir::config {

// `weirctl check [PATH]`: loads a directory or one file without applying it. Diagnostics with the
// line and a caret go to `err`, a summary of one line to `out`. 0: can be applied (there may be
// warnings and hints); 1: it has errors.
int runCheck(const std::filesystem::path& path, std::ostream& out, std::ostream& err);

}  // namespace weir::config
