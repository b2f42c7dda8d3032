// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "manager/api/http.h"

namespace weir::manager {

class Manager;

// The manager's HTTP interface (JSON in and out), on api.sock:
//
//   GET  /v1/status                               programs, services, the engine's counters
//   GET  /v1/backendServices                      {"items": [...]}
//   GET  /v1/backendServices/NAME                 policy, rules, backends
//   GET  /v1/backendServices/NAME/health          backends with states and reasons
//   POST /v1/backendServices/NAME/drain           {"endpoint", ["timeoutSec"]}
//   POST /v1/backendServices/NAME/undrain         {"endpoint"}
//   GET  /v1/connections?service=&client=&backend=&limit=
//   GET  /v1/connections/count?service=&client=&backend=
//   POST /v1/connections/flush                    {["service", "client", "backend"]}
//   POST /v1/explain                              the engine's packet, see engine/explain.h
//   POST /v1/reload                               422 with "diagnostics" when refused
//
// Errors are {"error": {"message": ...}}: 400 not understood or refused, 404 no such path or name,
// 405 wrong method, 409 refused in this state, 422 configuration refused, 503 a program that the
// answer needs is absent.
HttpHandler apiHandler(Manager&);  // the manager outlives it

}  // namespace weir::manager
