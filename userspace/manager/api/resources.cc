// SPDX-License-Identifier: GPL-2.0-or-later
//
// Resources: looked at, and changed by command.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/words.h"
#include "manager/api/body.h"
#include "manager/api/handlers.h"
#include "manager/api/stats.h"
#include "manager/api/views.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

using config::EditPlan;
using config::EditRequest;

const Configuration& running(const Manager& manager) {
  return manager.controlPlane().configuration();
}

HttpResponse noSuchResource(const Manager& manager, const std::string& collection,
                            const std::string& name) {
  std::vector<std::string> names;
  for (const auto& r : config::writtenCollection(running(manager), collection))
    names.push_back(r.name);
  return errorResponse(404, fmt::format("{} has no {}{}; {}", collection, config::quote(name),
                                        config::didYouMean(name, names),
                                        names.empty() ? "there are none"
                                                      : "there are " + config::join(names, "and")));
}

// An edit from what the request says, carried out; the plan, or the answer to be given.
std::variant<EditPlan, HttpResponse> carryOut(Manager& manager, const HttpRequest& request,
                                              EditRequest edit) {
  const auto dryRun = flagOf(request, "dryRun");
  if (!dryRun.ok()) return errorResponse(400, dryRun.error().message);
  auto read = bodyOf(request);
  if (auto* response = std::get_if<HttpResponse>(&read)) return std::move(*response);
  auto& body = std::get<Body>(read);
  const bool needsBody = edit.kind != EditRequest::Kind::remove;
  if (needsBody && body.documents.empty())
    return errorResponse(
        400, request.body.empty() ? "the body is missing" : "the body holds no resource");
  if (!needsBody && !body.documents.empty()) return errorResponse(400, "DELETE takes no body");
  edit.documents = std::move(body.documents);
  edit.seen = body.seen.get();
  auto edited = manager.edit(edit, *dryRun);
  if (const auto* refused = std::get_if<config::EditRefusal>(&edited)) return refusal(*refused);
  return std::get<EditPlan>(std::move(edited));
}

void addRemarks(const EditPlan& plan, Json& json) {
  if (!plan.remarks.empty()) json["diagnostics"] = findingsJson(plan.remarks);
}

// The one resource of a plan, as it is now or, after a dry run, would be.
void editOne(Manager& manager, const HttpRequest& request, EditRequest::Kind kind,
             HttpRespond respond) {
  EditRequest edit;
  edit.kind = kind;
  edit.collection = request.path[1];
  if (request.path.size() > 2) edit.name = request.path[2];
  auto carried = carryOut(manager, request, edit);
  if (auto* response = std::get_if<HttpResponse>(&carried)) return respond(std::move(*response));
  const auto& plan = std::get<EditPlan>(carried);
  if (edit.kind == EditRequest::Kind::remove) return respond(ok(Json::object()));
  for (const auto* names : {&plan.created, &plan.replaced, &plan.unchanged}) {
    if (names->empty()) continue;
    const std::string name = names->front().substr(edit.collection.size() + 1);
    const auto written = config::writtenResource(plan.loaded.configuration, edit.collection, name);
    const bool isInEffect = plan.loaded.configuration == running(manager);
    Json json = isInEffect ? resourceJson(manager, *written, true) : resourceJson(*written);
    json["changed"] = plan.changes();
    addRemarks(plan, json);
    return respond(ok(json));
  }
}

}  // namespace

void listResources(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  Json items = Json::array();
  for (const auto& resource : config::writtenCollection(running(manager), request.path[1]))
    items.push_back(resourceJson(manager, resource, false));
  respond(ok({{"items", std::move(items)}}));
}

void describeResource(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const std::string name = request.path[2];
  const auto resource = config::writtenResource(running(manager), request.path[1], name);
  if (!resource) return respond(noSuchResource(manager, request.path[1], name));
  Json json = resourceJson(manager, *resource, true);
  if (!json["status"].contains("groups")) return respond(ok(json));
  askForStats(
      manager, "weir-proxy",
      [json = std::move(json), name, respond = std::move(respond)](const Stats& stats) mutable {
        addLoads(json["status"], name, stats);
        respond(ok(json));
      });
}

void createResource(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  editOne(manager, request, EditRequest::Kind::create, std::move(respond));
}

void replaceResource(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  editOne(manager, request, EditRequest::Kind::replace, std::move(respond));
}

void patchResource(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  editOne(manager, request, EditRequest::Kind::patch, std::move(respond));
}

void deleteResource(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  editOne(manager, request, EditRequest::Kind::remove, std::move(respond));
}

void applyResources(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  EditRequest edit;
  edit.kind = EditRequest::Kind::apply;
  auto carried = carryOut(manager, request, edit);
  if (auto* response = std::get_if<HttpResponse>(&carried)) return respond(std::move(*response));
  const auto& plan = std::get<EditPlan>(carried);
  respond(ok({{"changed", plan.changes()},
              {"created", plan.created},
              {"replaced", plan.replaced},
              {"unchanged", plan.unchanged},
              {"diagnostics", findingsJson(plan.remarks)}}));
}

void exportResources(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto withNode = flagOf(request, "node");
  if (!withNode.ok()) return respond(errorResponse(400, withNode.error().message));
  const Configuration& configuration = running(manager);
  respond(ok(jsonOf(*config::writtenConfiguration(config::writtenResources(configuration),
                                                  *withNode ? &configuration.node : nullptr))));
}

}  // namespace weir::manager
