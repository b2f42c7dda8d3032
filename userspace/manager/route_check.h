// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whether this host can take the routes of a configuration (N5), asked before anything is changed.
#pragma once

#include <vector>

#include "config/load.h"
#include "manager/kernel/kernel_state.h"
#include "weir/model.h"
#include "weir/result.h"

namespace weir::manager {

// The error says in one line which route does not fit and why, after its file and line where
// `definitions` know them.
Status checkRoutes(KernelState&, const Configuration&,
                   const std::vector<config::Definition>& definitions);

}  // namespace weir::manager
