// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>

#include "weir/types.h"

namespace weir {

// The time since boot, suspension included (CLOCK_BOOTTIME): times written down by one process mean
// the same to its successor.
Time bootTime() noexcept;

// As long as they belong to the same boot: the kernel's name of it, zeros behind the text.
using BootId = std::array<char, 40>;
BootId bootId();

}  // namespace weir
