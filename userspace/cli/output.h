// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace weir::cli {

using Json = nlohmann::ordered_json;

enum class Format : unsigned char { table, json, yaml };
std::optional<Format> formatOf(std::string_view word) noexcept;

// A value as a YAML document that reads back as the same value: texts that could be taken for
// something else are quoted.
std::string toYaml(const Json&);

// Prints a value for programs; `format` is json or yaml (table: yaml).
void printValue(const Json&, Format, std::ostream&);

}  // namespace weir::cli
