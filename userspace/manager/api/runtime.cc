// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is true at this moment, and commands that are not configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "config/words.h"
#include "manager/api/body.h"
#include "manager/api/handlers.h"
#include "manager/api/proxy_views.h"
#include "manager/api/views.h"
#include "manager/clock.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

constexpr std::chrono::milliseconds kEngineTimeout{5000};
constexpr std::chrono::milliseconds kStatusTimeout{1000};
constexpr std::string_view kEngine = "weir-engine";

Result<std::string> textMember(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return Error{fmt::format("the body must have \"{}\", a text", key)};
  return found->get<std::string>();
}

Result<std::optional<std::chrono::seconds>> timeoutMember(const Json& object) {
  const auto given = object.find("timeoutSec");
  if (given == object.end()) return std::optional<std::chrono::seconds>();
  if (!given->is_number_unsigned() || *given > 3600u)
    return Error{"\"timeoutSec\" must be a whole number from 0 to 3600"};
  return std::optional(std::chrono::seconds(given->get<unsigned>()));
}

bool isService(const Manager& manager, const std::string& name) {
  const auto& services = manager.controlPlane().configuration().services;
  return std::any_of(services.begin(), services.end(),
                     [&](const BackendService& s) { return s.name == name; });
}

HttpResponse noSuchService(const std::string& name) {
  return errorResponse(
      404, "no backend service is named \"" + name + "\"; weirctl backend-services list shows all");
}

// Passes the engine's answer on, after `present` where there is one.
void passOn(Manager& manager, const Json& question, HttpRespond respond,
            std::function<void(Json&)> present = nullptr) {
  askEngine(manager, question,
            [respond = std::move(respond),
             present = std::move(present)](std::variant<Json, HttpResponse> answer) {
              if (auto* refused = std::get_if<HttpResponse>(&answer))
                return respond(std::move(*refused));
              auto& json = std::get<Json>(answer);
              if (present) present(json);
              respond(ok(json));
            });
}

// An unset variable in a script must not become "all connections".
Error emptyFilter(const std::string& name) {
  return Error{"\"" + name + "\" must be text that is not empty; leave it out to mean all"};
}

// The engine's filter members from a query, or from a body.
Result<Json> filterOf(const HttpRequest& request, const char* operation, bool mayLimit) {
  const Status known = mayLimit ? checkQuery(request, {"service", "client", "backend", "limit"})
                                : checkQuery(request, {"service", "client", "backend"});
  if (!known.ok()) return known.error();
  Json filter{{"op", operation}};
  for (const auto& [key, value] : request.query) {
    if (value.empty()) return emptyFilter(key);
    if (key != "limit") {
      filter[key] = value;
      continue;
    }
    unsigned limit = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
    if (error != std::errc{} || end != value.data() + value.size())
      return Error{"\"limit\" must be a number"};
    filter[key] = limit;
  }
  const auto body = objectIn(request, {"service", "client", "backend"});
  if (!body.ok()) return body.error();
  for (const auto& [key, value] : body->items()) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) return emptyFilter(key);
    filter[key] = value;
  }
  return filter;
}

void connections(Manager& manager, const HttpRequest& request, const char* operation, bool mayLimit,
                 HttpRespond respond) {
  const auto filter = filterOf(request, operation, mayLimit);
  if (!filter.ok()) return respond(errorResponse(400, filter.error().message));
  passOn(manager, *filter, std::move(respond));
}

}  // namespace

HttpResponse ok(const Json& body) { return {200, "application/json", dump(body), {}}; }

void askEngine(Manager& manager, const Json& question,
               std::function<void(std::variant<Json, HttpResponse>)> done) {
  manager.dataPlanes().request(kEngine, dump(question), kEngineTimeout,
                               [done = std::move(done)](DataPlaneReply reply) {
                                 switch (reply.kind) {
                                   case DataPlaneReply::Kind::answered:
                                     return done(Json::parse(reply.text, nullptr, false));
                                   case DataPlaneReply::Kind::refused:
                                     return done(errorResponse(400, reply.text));
                                   case DataPlaneReply::Kind::absent:
                                     return done(errorResponse(503, reply.text));
                                 }
                               });
}

void listConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "list", true, std::move(respond));
}
void countConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "count", false, std::move(respond));
}
void flushConnections(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  connections(manager, request, "flush", false, std::move(respond));
}

void explain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  auto packet =
      objectIn(request, {"src", "dst", "proto", "sport", "dport", "flags", "fragment", "inner"});
  if (!packet.ok()) return respond(errorResponse(400, packet.error().message));
  passOn(manager, {{"op", "explain"}, {"packet", std::move(packet).value()}}, std::move(respond),
         [&manager](Json& answer) { completeExplanation(manager.controlPlane(), answer); });
}

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

void showHealth(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  if (const auto proxied = manager.proxyPlane().view(request.path[2], now()))
    return respond(ok(proxyServiceHealth(manager, *proxied)));
  const auto view = manager.controlPlane().view(request.path[2]);
  respond(view ? ok(serviceHealth(manager, *view)) : noSuchService(request.path[2]));
}

void drain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request, {"endpoint", "timeoutSec"});
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const auto endpoint = textMember(*body, "endpoint");
  if (!endpoint.ok()) return respond(errorResponse(400, endpoint.error().message));
  const auto timeout = timeoutMember(*body);
  if (!timeout.ok()) return respond(errorResponse(400, timeout.error().message));
  if (!isService(manager, request.path[2])) return respond(noSuchService(request.path[2]));
  const Status done = manager.drain(request.path[2], *endpoint, *timeout);
  respond(done.ok() ? ok(Json::object()) : errorResponse(409, done.error().message));
}

void undrain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request, {"endpoint"});
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const auto endpoint = textMember(*body, "endpoint");
  if (!endpoint.ok()) return respond(errorResponse(400, endpoint.error().message));
  if (!isService(manager, request.path[2])) return respond(noSuchService(request.path[2]));
  const Status done = manager.undrain(request.path[2], *endpoint);
  respond(done.ok() ? ok(Json::object()) : errorResponse(409, done.error().message));
}

void reload(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request, {});
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const Manager::Reload result = manager.reload();
  if (result.accepted)
    return respond(
        ok({{"changed", result.changed}, {"diagnostics", diagnosticsJson(result.diagnostics)}}));
  HttpResponse refused = errorResponse(422, result.refusal);
  refused.body = dump({{"error", {{"message", result.refusal}}},
                       {"diagnostics", diagnosticsJson(result.diagnostics)}});
  respond(std::move(refused));
}

}  // namespace weir::manager
