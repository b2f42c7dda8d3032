// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the API shows, as JSON. Field names follow C1 where the configuration has them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "config/load.h"
#include "manager/manager.h"

namespace weir::manager {

using Json = nlohmann::ordered_json;

// One service in a list: counts, and the rule that made its eligible set.
Json serviceSummary(const Manager&, const BackendService&);
// The same, with its policy and forwarding rules.
Json serviceDescription(const Manager&, const BackendService&);
// Its backends with their states, after Google's backendServices.getHealth.
Json serviceHealth(const Manager&, const ServiceView&);
// Everything of `weirctl status` but what the engine tells.
Json statusOverview(Manager&);
Json diagnosticsJson(const std::vector<config::Diagnostic>&);
// Where a mark leads, for `weirctl explain`; null: nowhere.
Json nextHop(const ControlPlane&, Mark);

}  // namespace weir::manager
