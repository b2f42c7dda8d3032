// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "manager/api/views.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

constexpr std::chrono::milliseconds kEngineTimeout{5000};
constexpr std::chrono::milliseconds kStatusTimeout{1000};
constexpr std::string_view kEngine = "weir-engine";

HttpResponse ok(const Json& body) {
  return {200, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

unsigned statusOf(DataPlaneReply::Kind kind) noexcept {
  switch (kind) {
    case DataPlaneReply::Kind::answered:
      return 200;
    case DataPlaneReply::Kind::refused:
      return 400;
    case DataPlaneReply::Kind::absent:
      return 503;
  }
  return 500;
}

// A request's body as a JSON object; an empty body is an empty object.
Result<Json> objectIn(const HttpRequest& request) {
  if (request.body.empty()) return Json::object();
  Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object()) return Error{"the body must be a JSON object"};
  return body;
}

Result<std::string> textMember(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return Error{std::string("the body must have \"") + key + "\", a text"};
  return found->get<std::string>();
}

const BackendService* findService(const Manager& manager, const std::string& name) {
  const auto& services = manager.controlPlane().configuration().services;
  const auto found = std::find_if(services.begin(), services.end(),
                                  [&](const BackendService& s) { return s.name == name; });
  return found == services.end() ? nullptr : &*found;
}

HttpResponse noSuchService(const std::string& name) {
  return errorResponse(
      404, "no backend service is named \"" + name + "\"; weirctl backend-services list shows all");
}

// --- engine ---

void askEngine(Manager& manager, const Json& request, HttpRespond respond,
               std::function<Json(Json)> present = nullptr) {
  manager.dataPlanes().request(
      kEngine, request.dump(-1, ' ', false, Json::error_handler_t::replace), kEngineTimeout,
      [respond = std::move(respond), present = std::move(present)](DataPlaneReply reply) {
        if (reply.kind != DataPlaneReply::Kind::answered)
          return respond(errorResponse(statusOf(reply.kind), reply.text));
        Json answer = Json::parse(reply.text, nullptr, false);
        respond(ok(present ? present(std::move(answer)) : answer));
      });
}

// An unset variable in a script must not become "all connections".
std::string emptyFilter(const std::string& name) {
  return "\"" + name + "\" must be text that is not empty; leave it out to mean all";
}

// The engine's filter members from a query, or from a body.
Result<Json> filterOf(const HttpRequest& request, const char* operation) {
  Json filter{{"op", operation}};
  constexpr std::array<std::string_view, 3> kNames{"service", "client", "backend"};
  for (const auto& [key, value] : request.query) {
    if (std::find(kNames.begin(), kNames.end(), key) != kNames.end()) {
      if (value.empty()) return Error{emptyFilter(key)};
      filter[key] = value;
    } else if (key == "limit") {
      unsigned limit = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
      if (error != std::errc{} || end != value.data() + value.size())
        return Error{"\"limit\" must be a number"};
      filter[key] = limit;
    } else {
      return Error{"unknown parameter \"" + key + "\"; service, client and backend are known"};
    }
  }
  const auto body = objectIn(request);
  if (!body.ok()) return body.error();
  for (const auto& [key, value] : body.value().items()) {
    if (std::find(kNames.begin(), kNames.end(), key) == kNames.end())
      return Error{"unknown member \"" + key + "\"; service, client and backend are known"};
    if (!value.is_string() || value.get_ref<const std::string&>().empty())
      return Error{emptyFilter(key)};
    filter[key] = value;
  }
  return filter;
}

void connections(Manager& manager, const HttpRequest& request, const char* operation,
                 HttpRespond respond) {
  const auto filter = filterOf(request, operation);
  if (!filter.ok()) return respond(errorResponse(400, filter.error().message));
  askEngine(manager, filter.value(), std::move(respond));
}

void listConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "list", std::move(respond));
}
void countConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "count", std::move(respond));
}
void flushConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "flush", std::move(respond));
}

// Adds what only the manager knows: the numbers behind the rule, and where the mark leads.
Json presentExplanation(const Manager& manager, Json answer) {
  if (const auto name = answer.find("service"); name != answer.end() && name->is_string())
    if (const auto view = manager.controlPlane().view(name->get<std::string>())) {
      answer["explanation"] = view->eligibility.explanation;
      for (const auto& backend : view->backends)
        if (answer.contains("backend") && answer["backend"].is_object() &&
            answer["backend"].value("endpoint", "") == backend.endpoint)
          answer["nextHop"] = nextHop(manager.controlPlane(), backend.mark);
    }
  return answer;
}

void explain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  auto packet = objectIn(request);
  if (!packet.ok()) return respond(errorResponse(400, packet.error().message));
  askEngine(manager, {{"op", "explain"}, {"packet", std::move(packet).value()}}, std::move(respond),
            [&manager](Json answer) { return presentExplanation(manager, std::move(answer)); });
}

// --- status and services ---

void status(Manager& manager, const HttpRequest&, HttpRespond respond) {
  auto overview = std::make_shared<Json>(statusOverview(manager));
  manager.dataPlanes().request(kEngine, R"({"op":"stats"})", kStatusTimeout,
                               [overview, respond = std::move(respond)](DataPlaneReply reply) {
                                 if (reply.kind == DataPlaneReply::Kind::answered)
                                   (*overview)["engine"] = Json::parse(reply.text, nullptr, false);
                                 else
                                   (*overview)["engineError"] = reply.text;
                                 respond(ok(*overview));
                               });
}

void listServices(Manager& manager, const HttpRequest&, HttpRespond respond) {
  Json items = Json::array();
  for (const auto& service : manager.controlPlane().configuration().services)
    items.push_back(serviceDescription(manager, service));
  respond(ok({{"items", std::move(items)}}));
}

void describeService(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const BackendService* service = findService(manager, request.path[2]);
  respond(service ? ok(serviceDescription(manager, *service)) : noSuchService(request.path[2]));
}

void showHealth(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto view = manager.controlPlane().view(request.path[2]);
  respond(view ? ok(serviceHealth(manager, *view)) : noSuchService(request.path[2]));
}

void drain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request);
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const auto endpoint = textMember(body.value(), "endpoint");
  if (!endpoint.ok()) return respond(errorResponse(400, endpoint.error().message));
  std::optional<std::chrono::seconds> timeout;
  if (const auto given = body.value().find("timeoutSec"); given != body.value().end()) {
    if (!given->is_number_unsigned() || *given > 3600u)
      return respond(errorResponse(400, "\"timeoutSec\" must be a whole number from 0 to 3600"));
    timeout = std::chrono::seconds(given->get<unsigned>());
  }
  if (!findService(manager, request.path[2])) return respond(noSuchService(request.path[2]));
  const Status done = manager.drain(request.path[2], endpoint.value(), timeout);
  respond(done.ok() ? ok(Json::object()) : errorResponse(409, done.error().message));
}

void undrain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request);
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const auto endpoint = textMember(body.value(), "endpoint");
  if (!endpoint.ok()) return respond(errorResponse(400, endpoint.error().message));
  if (!findService(manager, request.path[2])) return respond(noSuchService(request.path[2]));
  const Status done = manager.undrain(request.path[2], endpoint.value());
  respond(done.ok() ? ok(Json::object()) : errorResponse(409, done.error().message));
}

void reload(Manager& manager, const HttpRequest&, HttpRespond respond) {
  const Manager::Reload result = manager.reload();
  if (result.accepted)
    return respond(
        ok({{"changed", result.changed}, {"diagnostics", diagnosticsJson(result.diagnostics)}}));
  Json body{{"error", {{"message", result.refusal}}},
            {"diagnostics", diagnosticsJson(result.diagnostics)}};
  respond({422, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

// --- routing ---

struct Entry {
  std::string_view method;
  std::vector<std::string_view> path;  // "*": any one segment
  void (*serve)(Manager&, const HttpRequest&, HttpRespond);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries{
      {"GET", {"v1", "status"}, status},
      {"GET", {"v1", "backendServices"}, listServices},
      {"GET", {"v1", "backendServices", "*"}, describeService},
      {"GET", {"v1", "backendServices", "*", "health"}, showHealth},
      {"POST", {"v1", "backendServices", "*", "drain"}, drain},
      {"POST", {"v1", "backendServices", "*", "undrain"}, undrain},
      {"GET", {"v1", "connections"}, listConnections},
      {"GET", {"v1", "connections", "count"}, countConnections},
      {"POST", {"v1", "connections", "flush"}, flushConnections},
      {"POST", {"v1", "explain"}, explain},
      {"POST", {"v1", "reload"}, reload},
  };
  return kEntries;
}

bool matches(const Entry& entry, const std::vector<std::string>& path) {
  return std::equal(entry.path.begin(), entry.path.end(), path.begin(), path.end(),
                    [](std::string_view pattern, const std::string& segment) {
                      return pattern == "*" || pattern == segment;
                    });
}

}  // namespace

HttpHandler apiHandler(Manager& manager) {
  return [&manager](const HttpRequest& request, HttpRespond respond) {
    const Entry* sameIfOtherMethod = nullptr;
    for (const Entry& entry : entries()) {
      if (!matches(entry, request.path)) continue;
      if (entry.method == request.method) return entry.serve(manager, request, std::move(respond));
      sameIfOtherMethod = &entry;
    }
    if (sameIfOtherMethod)
      return respond(errorResponse(
          405, "this path takes " + std::string(sameIfOtherMethod->method) + " only"));
    respond(errorResponse(404, "there is nothing at this path"));
  };
}

}  // namespace weir::manager
