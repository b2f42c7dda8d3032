// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "weir/types.h"

namespace weir::manager {

// The time since boot, suspension included (CLOCK_BOOTTIME): deadlines written down by one manager
// mean the same to its successor.
Time now() noexcept;

}  // namespace weir::manager
