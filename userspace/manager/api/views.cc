// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/views.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "manager/api/proxy_views.h"
#include "manager/clock.h"

namespace weir::manager {

namespace {

std::string hex(Mark mark) { return fmt::format("{:#010x}", mark.value()); }

std::string_view severityName(config::Diagnostic::Severity severity) noexcept {
  switch (severity) {
    case config::Diagnostic::Severity::error:
      return "error";
    case config::Diagnostic::Severity::warning:
      return "warning";
    case config::Diagnostic::Severity::hint:
      return "hint";
  }
  return "?";
}

Json backendJson(const Manager& manager, const std::string& service, const BackendView& backend) {
  Json json{{"endpoint", backend.endpoint},
            {"group", backend.group},
            {"zone", backend.zone},
            {"failover", backend.failover},
            {"healthState", weir::toString(backend.health)},
            {"eligible", backend.eligible},
            {"weight", backend.weight},
            {"mark", hex(backend.mark)}};
  const std::string reason =
      backend.health == Health::healthy || backend.health == Health::draining
          ? std::string()
          : manager.health().reason({backend.group, backend.endpoint}, service);
  if (!reason.empty()) json["reason"] = reason;
  addDrain(json, backend.drainDeadline);
  return json;
}

unsigned statusOf(config::EditRefusal::Why why) noexcept {
  using Why = config::EditRefusal::Why;
  switch (why) {
    case Why::invalid:
      return 400;
    case Why::missing:
      return 404;
    case Why::conflict:
    case Why::notNow:
      return 409;
    case Why::stale:
      return 412;
    case Why::onDisk:
      return 422;
    case Why::notWritten:
      return 500;
  }
  return 500;
}

Json diagnosticJson(const config::Diagnostic& diagnostic) {
  return {{"severity", severityName(diagnostic.severity)},
          {"file", diagnostic.file},
          {"line", diagnostic.line},
          {"column", diagnostic.column},
          {"message", diagnostic.message},
          {"text", diagnostic.toString()}};
}

void addServiceStatus(const Manager& manager, const std::string& name, bool details, Json& status) {
  const Configuration& configuration = manager.controlPlane().configuration();
  const auto service = std::find_if(configuration.services.begin(), configuration.services.end(),
                                    [&](const BackendService& s) { return s.name == name; });
  if (service == configuration.services.end()) return;
  Json summary = serviceSummary(manager, *service);
  summary.erase("name");
  status.update(summary);
  if (const auto proxied = manager.proxyPlane().view(name, now())) {
    if (details) {
      const Json health = proxyServiceHealth(manager, *proxied);
      status["groups"] = health["groups"];
      status["backends"] = health["healthStatus"];
    }
    return;
  }
  status["forwardingRules"] = Json::array();
  for (const auto& rule : configuration.rules)
    if (rule.backendService == name) status["forwardingRules"].push_back(rule.name);
  if (!details) return;
  if (const auto view = manager.controlPlane().view(name))
    status["backends"] = serviceHealth(manager, *view)["healthStatus"];
}

}  // namespace

Json serviceSummary(const Manager& manager, const BackendService& service) {
  if (const auto proxied = manager.proxyPlane().view(service.name, now()))
    return proxyServiceSummary(*proxied);
  const auto view = manager.controlPlane().view(service.name);
  if (!view) return {{"name", service.name}};
  const auto count = [&](auto predicate) {
    return std::count_if(view->backends.begin(), view->backends.end(), predicate);
  };
  return {{"name", service.name},
          {"healthy", count([](const BackendView& b) { return b.health == Health::healthy; })},
          {"total", view->backends.size()},
          {"draining", count([](const BackendView& b) { return b.health == Health::draining; })},
          {"eligible", view->eligibility.set.members.size()},
          {"rule", view->eligibility.set.rule},
          {"lastResort", view->eligibility.lastResort},
          {"explanation", view->eligibility.explanation}};
}

Json resourceJson(const config::WrittenResource& resource) {
  Json json = jsonOf(*resource.value);
  json["kind"] = resource.collection.kind;
  json["fingerprint"] = config::fingerprint(*resource.value);
  return json;
}

Json resourceJson(const Manager& manager, const config::WrittenResource& resource, bool details) {
  Json json = resourceJson(resource);
  Json status = Json::object();
  if (const auto* place = manager.definitionOf(resource.collection.name, resource.name)) {
    status["file"] = place->file;
    status["line"] = place->line;
  }
  if (resource.collection.name == "backendServices")
    addServiceStatus(manager, resource.name, details, status);
  json["status"] = std::move(status);
  return json;
}

void addDrain(Json& backend, std::optional<Time> deadline) {
  if (!deadline) return;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(*deadline - now());
  if (*deadline > now())
    backend["drainingSecLeft"] = std::max<std::chrono::seconds::rep>(left.count(), 0);
  else
    backend["drainedSec"] = -left.count();
}

Json serviceHealth(const Manager& manager, const ServiceView& view) {
  Json backends = Json::array();
  for (const auto& backend : view.backends)
    backends.push_back(backendJson(manager, view.name, backend));
  return {{"name", view.name},
          {"rule", view.eligibility.set.rule},
          {"explanation", view.eligibility.explanation},
          {"healthStatus", std::move(backends)}};
}

// What others did to weir's kernel state, newest first, and what is wrong with it now.
static Json kernelOverview(const Publisher& publisher) {
  Json changes = Json::array();
  const auto& events = publisher.kernelEvents();
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    const auto& event = *it;
    const auto ago = std::chrono::duration_cast<std::chrono::seconds>(now() - event.at);
    changes.push_back({{"agoSec", ago.count()},
                       {"kind", toString(event.change.kind)},
                       {"what", event.change.what}});
  }
  return {{"reconciliations", publisher.counters().reconciliations},
          {"repairs", publisher.counters().repairs},
          {"errors", publisher.counters().kernelErrors},
          {"warnings", publisher.kernelWarnings()},
          {"changes", std::move(changes)}};
}

static Json fallbackOverview(const EngineWatch& watch) {
  Json json{{"open", watch.openedAt().has_value()}, {"openings", watch.openings()}};
  if (watch.openedAt())
    json["sinceSec"] =
        std::chrono::duration_cast<std::chrono::seconds>(now() - *watch.openedAt()).count();
  if (const auto opens = watch.opensAt())
    json["opensInSec"] =
        std::max(std::chrono::ceil<std::chrono::seconds>(*opens - now()).count(), Time::rep{0});
  return json;
}

Json statusOverview(Manager& manager) {
  Json planes = Json::array();
  std::set<std::string> absent{"weir-engine"};
  for (const auto& service : manager.controlPlane().configuration().services)
    if (service.isManaged()) absent.insert("weir-proxy");
  for (const auto& plane : manager.dataPlanes().dataPlanes()) {
    planes.push_back({{"program", plane.program},
                      {"pid", plane.pid},
                      {"version", plane.version},
                      {"appliedGeneration", plane.applied.value()},
                      {"connectedSec", plane.connectedFor.count()}});
    if (plane.upFor) planes.back()["uptimeSec"] = plane.upFor->count();
    Json& notes = planes.back()["warnings"] = Json::array();
    if (!plane.notKept.empty())
      notes.push_back(
          "a start without the manager would wait for it, because what it says cannot "
          "be kept: " +
          plane.notKept);
    absent.erase(plane.program);
  }
  Json services = Json::array();
  for (const auto& service : manager.controlPlane().configuration().services) {
    services.push_back(serviceSummary(manager, service));
    if (const auto proxied = manager.proxyPlane().view(service.name, now()))
      services.back()["groups"] = proxyGroups(*proxied);
  }
  Json warnings = Json::array();
  if (std::string loss = manager.loss(); !loss.empty()) warnings.push_back(std::move(loss));
  if (!manager.notKept().empty()) warnings.push_back(manager.notKept());
  if (!manager.stateNotWritten().empty())
    warnings.push_back("a restart of the manager would lose health, drains and marks: " +
                       manager.stateNotWritten());
  return {{"manager",
           {{"pid", ::getpid()},
            {"version", WEIR_VERSION},
            {"uptimeSec", manager.uptime().count()},
            {"configuration", manager.lastReload()},
            {"generation", manager.publisher().generation().value()},
            {"warnings", std::move(warnings)},
            {"kernelErrors", manager.publisher().counters().kernelErrors}}},
          {"kernel", kernelOverview(manager.publisher())},
          {"fallback", fallbackOverview(manager.engineWatch())},
          {"dataPlanes", std::move(planes)},
          {"absentPrograms", absent},
          {"services", std::move(services)}};
}

Json diagnosticsJson(const std::vector<config::Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const auto& diagnostic : diagnostics) list.push_back(diagnosticJson(diagnostic));
  return list;
}

Json findingsJson(const std::vector<config::Finding>& findings) {
  Json list = Json::array();
  for (const auto& finding : findings) {
    Json json = diagnosticJson(finding.diagnostic);
    json["text"] = finding.toString();
    if (!finding.collection.empty()) {
      json["collection"] = finding.collection;
      json["name"] = finding.name;
      json["path"] = finding.path;
    }
    list.push_back(std::move(json));
  }
  return list;
}

HttpResponse refusal(unsigned status, std::string_view message,
                     const std::vector<config::Finding>& findings) {
  HttpResponse response = errorResponse(status, message);
  if (findings.empty()) return response;
  Json body{{"error", {{"message", message}}}, {"diagnostics", findingsJson(findings)}};
  response.body = dump(body);
  return response;
}

HttpResponse refusal(const config::EditRefusal& refused) {
  return refusal(statusOf(refused.why), refused.message, refused.findings);
}

namespace {

// Where a mark leads; null: nowhere.
Json nextHop(const ControlPlane& controlPlane, Mark mark) {
  const auto routes = controlPlane.routes();
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const BackendRoute& route) { return route.mark == mark; });
  if (found == routes.end()) return nullptr;
  Json json{{"mark", hex(mark)}};
  if (found->ipv4) json["ipv4"] = found->ipv4->toString();
  if (found->ipv6) json["ipv6"] = found->ipv6->toString();
  return json;
}

}  // namespace

void completeExplanation(const ControlPlane& controlPlane, Json& answer) {
  const auto name = answer.find("service");
  if (name == answer.end() || !name->is_string()) return;
  const auto view = controlPlane.view(name->get<std::string>());
  if (!view) return;
  answer["explanation"] = view->eligibility.explanation;
  const auto backend = answer.find("backend");
  if (backend == answer.end() || !backend->is_object()) return;
  for (const auto& known : view->backends) {
    if (backend->value("endpoint", "") != known.endpoint ||
        backend->value("group", "") != known.group)
      continue;
    (*backend)["healthState"] = weir::toString(known.health);
    answer["nextHop"] = nextHop(controlPlane, known.mark);
  }
}

}  // namespace weir::manager
