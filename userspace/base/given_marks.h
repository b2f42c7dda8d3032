// SPDX-License-Identifier: GPL-2.0-or-later
//
// When the manager last gave a mark to a backend: until then a mark meant the same backend to
// everybody who had been told of it. A mark that has become free may be given to another one while
// the engine is away, and an engine that starts without the manager must not use it for the former.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "weir/result.h"
#include "weir/types.h"

namespace weir {

// In the run directory; readable for every program of weir.
inline constexpr std::string_view kGivenMarksName = "marks.given";

Status writeGivenMarks(const std::filesystem::path&, Time now);
// nullopt: none has been given since the last boot. An error: it cannot be known.
Result<std::optional<Time>> readGivenMarks(const std::filesystem::path&);

}  // namespace weir
