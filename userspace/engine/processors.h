// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <pthread.h>

#include <vector>

#include "weir/result.h"

namespace weir::engine {

// The processors that this process may use, in ascending order; empty: it cannot be told.
std::vector<unsigned> allowedProcessors();

// From now on the thread runs on this processor alone.
Status pinTo(pthread_t, unsigned processor);

}  // namespace weir::engine
