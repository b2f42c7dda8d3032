// SPDX-License-Identifier: GPL-2.0-or-later
//
// What an answer says, without the socket it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/eligibility.h"

namespace weir::manager {

enum class Match : std::uint8_t { yes, no, needMore };

// H5: does what came back so far begin with `expected`? Bytes after it do not matter.
Match matchBeginning(std::string_view received, std::string_view expected) noexcept;

// H4: only this much of a body is searched.
inline constexpr std::size_t kSearchedBody = 1024;
bool bodyContains(std::string_view body, std::string_view expected) noexcept;

// P9.1: the value of X-Load-Balancing-Endpoint-Weight, or nullopt when the answer lacks it.
inline constexpr std::string_view kWeightHeader = "X-Load-Balancing-Endpoint-Weight";
ReportedWeight parseWeight(std::optional<std::string_view> headerValue) noexcept;

// Without blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view) noexcept;
// Are two names of headers the same? Case does not matter.
bool sameName(std::string_view, std::string_view) noexcept;
// Text of a peer as it may stand in a reason: at most 100 printable ASCII characters, others as
// '?'.
std::string quotable(std::string_view);

// H9: one endpoint, probed at several addresses or for several services: unhealthy if any fails.
// Never empty. unhealthy goes before timeout, and both before unknown.
Health combineHealth(std::span<const Health>) noexcept;
// Likewise for weights: invalid, then missing, then the smallest value, then unavailable.
ReportedWeight combineWeights(std::span<const ReportedWeight>) noexcept;

}  // namespace weir::manager
