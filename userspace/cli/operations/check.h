// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli/command.h"

namespace weir::cli {

// `weirctl check [PATH]`
Command checkCommand();

}  // namespace weir::cli
