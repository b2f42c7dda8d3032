// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/api/http.h"

namespace weir::manager {

class Manager;

// The manager's HTTP interface (JSON in and out), on api.sock. docs/api.md is its description;
// api.cc has the table of paths and methods. Errors are {"error": {"message": ...}}, for refused
// configurations with "diagnostics".
HttpHandler apiHandler(Manager&);  // the manager outlives it

}  // namespace weir::manager
