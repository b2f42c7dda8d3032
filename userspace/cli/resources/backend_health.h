// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli/context.h"

namespace weir::cli {

// `backend-services get-health`: the states of the backends, and why these are eligible.
void printHealth(const Json& health, const Context&);

}  // namespace weir::cli
