// SPDX-License-Identifier: GPL-2.0-or-later
//
// Host names as DNS and TLS server names (X6.2, X6.3) have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The name in lower case and without a trailing dot. nullopt when it is no host name: at most 253
// characters, labels of 1 to 63 of a-z, 0-9, '-' and '_' that neither begin nor end with '-', and
// not something that could be read as an IPv4 address (a last label of digits alone).
std::optional<std::string> normalizeDnsName(std::string_view name);

}  // namespace weir
