// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "weir/types.h"

namespace weir {

// The time since boot, suspension included (CLOCK_BOOTTIME): times written down by one process mean
// the same to its successor.
Time bootTime() noexcept;

}  // namespace weir
