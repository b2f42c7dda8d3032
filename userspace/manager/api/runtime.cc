// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is true at this moment, and commands that are not configuration.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "config/words.h"
#include "manager/api/body.h"
#include "manager/api/handlers.h"
#include "manager/api/proxy_views.h"
#include "manager/api/stats.h"
#include "manager/api/views.h"
#include "manager/clock.h"
#include "manager/manager.h"

namespace weir::manager {

namespace {

constexpr std::string_view kEngine = "weir-engine";
constexpr std::string_view kProxy = "weir-proxy";

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

const BackendService* serviceNamed(const Manager& manager, const std::string& name) {
  const auto& services = manager.controlPlane().configuration().services;
  const auto found = std::ranges::find(services, name, &BackendService::name);
  return found == services.end() ? nullptr : &*found;
}

// How long connections go on, and until when by the clock on the wall.
Json drainAnswer(std::chrono::seconds timeout) {
  return {{"timeoutSec", timeout.count()},
          {"endsAt", log::timestamp(std::chrono::system_clock::now() + timeout)}};
}

// Also one that has left its group and drains.
bool hasBackend(const Manager& manager, const std::string& service, const std::string& endpoint) {
  const auto isIt = [&](const auto& backend) { return backend.endpoint == endpoint; };
  if (const auto proxied = manager.proxyPlane().view(service, now()))
    return std::ranges::any_of(proxied->groups, [&](const auto& group) {
      return std::ranges::any_of(group.backends, isIt);
    });
  const auto view = manager.controlPlane().view(service);
  return view && std::ranges::any_of(view->backends, isIt);
}

HttpResponse noSuchBackend(const std::string& service, const std::string& endpoint) {
  return errorResponse(
      404,
      fmt::format("backend service {0} has no backend {1}; weirctl backend-services get-health "
                  "{2} shows all",
                  config::quote(service), config::quote(endpoint), service));
}

HttpResponse noSuchService(const std::string& name) {
  return errorResponse(404, fmt::format("no backend service is named {}; weirctl backend-services "
                                        "list shows all",
                                        config::quote(name)));
}

}  // namespace

HttpResponse ok(const Json& body) { return {200, "application/json", dump(body), {}}; }

void status(Manager& manager, const HttpRequest&, HttpRespond respond) {
  // Both are asked at once; the later answer completes the overview.
  struct Gathered {
    Json overview;
    unsigned awaited = 0;
    HttpRespond respond;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->overview = statusOverview(manager);
  gathered->respond = std::move(respond);
  const auto heard = [gathered] {
    if (--gathered->awaited == 0) gathered->respond(ok(gathered->overview));
  };
  const Json& services = gathered->overview["services"];
  const bool proxies = std::any_of(services.begin(), services.end(),
                                   [](const Json& service) { return service.contains("groups"); });
  gathered->awaited = proxies ? 2 : 1;
  askForStats(manager, kEngine, [gathered, heard](Stats stats) {
    if (stats.json.is_object())
      gathered->overview["engine"] = std::move(stats.json);
    else
      gathered->overview["engineError"] = std::move(stats.error);
    heard();
  });
  if (!proxies) return;
  askForStats(manager, kProxy, [gathered, heard](Stats stats) {
    if (stats.json.is_object()) {
      for (Json& service : gathered->overview["services"])
        if (service.contains("groups"))
          addLoads(service["groups"], service.value("name", ""), stats.json);
      gathered->overview["proxy"] = std::move(stats.json);
    } else {
      gathered->overview["proxyError"] = std::move(stats.error);
    }
    heard();
  });
}

void showHealth(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const std::string name = request.path[2];
  if (const auto proxied = manager.proxyPlane().view(name, now()))
    return askForStats(manager, kProxy,
                       [health = proxyServiceHealth(manager, *proxied), name,
                        respond = std::move(respond)](const Stats& stats) mutable {
                         addLoads(health, name, stats);
                         respond(ok(health));
                       });
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
  const BackendService* const service = serviceNamed(manager, request.path[2]);
  if (service == nullptr) return respond(noSuchService(request.path[2]));
  if (!hasBackend(manager, request.path[2], *endpoint))
    return respond(noSuchBackend(request.path[2], *endpoint));
  const std::chrono::seconds lasting = timeout->value_or(service->drainingTimeout);
  const Status done = manager.drain(request.path[2], *endpoint, lasting);
  respond(done.ok() ? ok(drainAnswer(lasting)) : errorResponse(409, done.error().message));
}

void undrain(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  const auto body = objectIn(request, {"endpoint"});
  if (!body.ok()) return respond(errorResponse(400, body.error().message));
  const auto endpoint = textMember(*body, "endpoint");
  if (!endpoint.ok()) return respond(errorResponse(400, endpoint.error().message));
  if (serviceNamed(manager, request.path[2]) == nullptr)
    return respond(noSuchService(request.path[2]));
  if (!hasBackend(manager, request.path[2], *endpoint))
    return respond(noSuchBackend(request.path[2], *endpoint));
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
