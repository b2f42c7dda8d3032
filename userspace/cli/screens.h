// SPDX-License-Identifier: GPL-2.0-or-later
//
// The manager's answers as a person likes to read them. Input: the JSON of manager/api/api.h.
#pragma once

#include "cli/output.h"

namespace weir::cli {

void printStatus(const Json& status, std::ostream&);
void printReload(const Json& result, std::ostream&);
void printServices(const Json& list, std::ostream&);
void printHealth(const Json& health, std::ostream&);
void printConnections(const Json& list, std::ostream&);

}  // namespace weir::cli
