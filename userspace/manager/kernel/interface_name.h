// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace weir::manager {

// In this network namespace; "interface 7" when there is none (any more) with the index.
std::string interfaceName(unsigned index);

}  // namespace weir::manager
