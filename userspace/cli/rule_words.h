// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace weir::cli {

// A rule of P2, P3 or P9 in a sentence for somebody who has not read the rules, without a full
// stop; empty: not known.
std::string_view wordsOf(std::string_view rule) noexcept;

}  // namespace weir::cli
