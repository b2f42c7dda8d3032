// SPDX-License-Identifier: GPL-2.0-or-later
//
// When the manager last gave a mark to a backend: until then a mark meant the same backend to
// everybody who had been told of it. A mark that has become free may be given to another one while
// the engine is away, and an engine that starts without the manager must not use it for the former.
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/result.h"
#include "weir/types.h"

namespace weir {

// In the run directory; readable for every program of weir.
inline constexpr std::string_view kGivenMarksName = "marks.given";

// Every manager writes it at its start. After an error there is no such file.
Status writeGivenMarks(const std::filesystem::path&, Time now);
// An error: it cannot be known, because the file is not there, damaged, or from before the last
// boot.
Result<Time> readGivenMarks(const std::filesystem::path&);

}  // namespace weir
