// SPDX-License-Identifier: GPL-2.0-or-later
//
// JSON and the values that the configuration is read from and written as.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "config/value.h"
#include "weir/result.h"

namespace weir::manager {

using Json = nlohmann::ordered_json;

// What a body may hold: about 100,000 endpoints. Far less than a file may, since whoever may only
// look can send one too, and the manager does nothing else while it reads.
inline constexpr std::size_t kMaxBodyValues = 400'000;

// A JSON text (RFC 8259) as a value: numbers as they are written. Refused are duplicate members,
// nesting deeper than config::kMaxDepth and more than kMaxBodyValues values; texts are UTF-8.
Result<config::ValuePtr> valueFromJson(std::string_view text);

// Scalars without quotes are numbers and booleans.
Json jsonOf(const config::Value& value);

// Any JSON text of the API: what is not UTF-8 in it is replaced.
std::string dump(const Json& json);

}  // namespace weir::manager
