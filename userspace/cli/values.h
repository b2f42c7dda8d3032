// SPDX-License-Identifier: GPL-2.0-or-later
//
// The values of flags, as gcloud writes them.
#pragma once

#include "cli/command.h"
#include "weir/result.h"

namespace weir::cli {

// Reads what was written behind a flag that is not a switch. The error says what is allowed:
// "--idle-timeout-sec must be ..., not 'x'".
Result<Json> readValue(const Flag& flag, const std::string& text);

// The value of a switch; `negated`: it was written with --no-.
Json switchValue(Value type, bool negated);

// "30s, 5m, 1h or a number of seconds": what a type allows, in words; empty: any text.
std::string_view allowedText(Value type) noexcept;

// 90 for "1m30s"; nullopt: not a duration.
std::optional<std::uint64_t> parseSeconds(std::string_view text);

}  // namespace weir::cli
