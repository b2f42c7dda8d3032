// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the API shows, as JSON. Field names follow C1 where the configuration has them.
#pragma once

#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/write.h"
#include "manager/api/http.h"
#include "manager/api/value_json.h"
#include "manager/manager.h"

namespace weir::manager {

// One service in a list: counts, and the rule that made its eligible set.
Json serviceSummary(const Manager&, const BackendService&);
// A resource in normal form with its kind and fingerprint.
Json resourceJson(const config::WrittenResource&);
// The same with its status; `details`: as a description, not an item of a list.
Json resourceJson(const Manager&, const config::WrittenResource&, bool details);
// Its backends with their states, after Google's backendServices.getHealth.
Json serviceHealth(const Manager&, const ServiceView&);
// How long the connections of a backend that drains may go on ("drainingSecLeft"), or since when
// they have ended ("drainedSec"); nothing without a deadline.
void addDrain(Json& backend, std::optional<Time> deadline);
// Everything of `weirctl status` but what the data planes tell. Services of the proxy have their
// "groups".
Json statusOverview(Manager&);
Json diagnosticsJson(const std::vector<config::Diagnostic>&);
Json findingsJson(const std::vector<config::Finding>&);
// An error with what was found, where anything was.
HttpResponse refusal(unsigned status, std::string_view message,
                     const std::vector<config::Finding>& findings);
// What an edit was refused for.
HttpResponse refusal(const config::EditRefusal&);
// Adds to the engine's explanation (engine/explain.h) what only the manager knows: "explanation",
// the numbers behind the rule; "backend.healthState"; "nextHop", where the mark leads.
void completeExplanation(const ControlPlane&, Json& answer);

}  // namespace weir::manager
