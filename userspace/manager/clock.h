// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "base/boot_time.h"

namespace weir::manager {

inline Time now() noexcept { return bootTime(); }

}  // namespace weir::manager
