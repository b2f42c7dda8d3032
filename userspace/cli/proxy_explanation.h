// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <ostream>

#include "cli/output.h"

namespace weir::cli {

// Is this what the TCP proxy said of a connection, and not the engine of a packet?
bool isOfProxy(const Json& answer);
void printProxyExplanation(const Json& answer, std::ostream&);

}  // namespace weir::cli
