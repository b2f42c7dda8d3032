// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include "cli/context.h"
#include "weir/model.h"

namespace weir::cli {

// What `weirctl check --host` finds of this host, printed for a person. True: nothing is wrong.
bool checkHostForPeople(const Context&, const Configuration&);
// The same as objects; `fit` tells whether nothing is wrong.
Json checkHostForPrograms(const Configuration&, bool& fit);

}  // namespace weir::cli
