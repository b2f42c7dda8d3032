// SPDX-License-Identifier: GPL-2.0-or-later
//
// Services of the proxy schemes as the API shows them: the same members as for passthrough
// (manager/api/views.h), and their groups as S6 asks for.
#pragma once

#include "manager/api/value_json.h"
#include "manager/manager.h"

namespace weir::manager {

Json proxyServiceSummary(const ProxyServiceView&);
// "healthStatus", one item per backend, and "groups": capacity, what of it can be used and why,
// distance, drained since when.
Json proxyServiceHealth(const Manager&, const ProxyServiceView&);
// The groups alone.
Json proxyGroups(const ProxyServiceView&);

// Adds to a service's groups what only the proxy knows: "connections", "load", "fill". `stats`: its
// answer (proxy/stats.h), which is not trusted to have anything.
void addLoads(Json& groups, const std::string& service, const Json& stats);

}  // namespace weir::manager
