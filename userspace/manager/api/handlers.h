// SPDX-License-Identifier: GPL-2.0-or-later
//
// The API's answers, one function for each path and method; api.cc routes to them.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <variant>

#include "manager/api/http.h"
#include "manager/api/value_json.h"

namespace weir::manager {

class Manager;

using Serve = void (*)(Manager&, const HttpRequest&, HttpRespond);

// resources.cc: /v1/COLLECTION, /v1/COLLECTION/NAME, /v1/apply, /v1/export
void listResources(Manager&, const HttpRequest&, HttpRespond);
void describeResource(Manager&, const HttpRequest&, HttpRespond);
void createResource(Manager&, const HttpRequest&, HttpRespond);
void replaceResource(Manager&, const HttpRequest&, HttpRespond);
void patchResource(Manager&, const HttpRequest&, HttpRespond);
void deleteResource(Manager&, const HttpRequest&, HttpRespond);
void applyResources(Manager&, const HttpRequest&, HttpRespond);
void exportResources(Manager&, const HttpRequest&, HttpRespond);

// diff.cc
void diff(Manager&, const HttpRequest&, HttpRespond);

// runtime.cc: what is true at this moment, and commands
void status(Manager&, const HttpRequest&, HttpRespond);
void showHealth(Manager&, const HttpRequest&, HttpRespond);
void drain(Manager&, const HttpRequest&, HttpRespond);
void undrain(Manager&, const HttpRequest&, HttpRespond);
void reload(Manager&, const HttpRequest&, HttpRespond);

// connections.cc
void listConnections(Manager&, const HttpRequest&, HttpRespond);
void countConnections(Manager&, const HttpRequest&, HttpRespond);
void flushConnections(Manager&, const HttpRequest&, HttpRespond);
void explain(Manager&, const HttpRequest&, HttpRespond);

// A question to the engine; `done` gets its answer, or what is to be answered instead.
void askEngine(Manager&, const Json& question,
               std::function<void(std::variant<Json, HttpResponse>)> done);

HttpResponse ok(const Json& body);

}  // namespace weir::manager
