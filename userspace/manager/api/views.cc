// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/views.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "manager/clock.h"

namespace weir::manager {

namespace {

std::string hex(Mark mark) { return fmt::format("{:#010x}", mark.value()); }

std::string_view toString(ServiceProtocol protocol) noexcept {
  switch (protocol) {
    case ServiceProtocol::tcp:
      return "TCP";
    case ServiceProtocol::udp:
      return "UDP";
    case ServiceProtocol::unspecified:
      return "UNSPECIFIED";
  }
  return "?";
}

std::string_view toString(PersistOnUnhealthy persist) noexcept {
  switch (persist) {
    case PersistOnUnhealthy::defaultForProtocol:
      return "DEFAULT_FOR_PROTOCOL";
    case PersistOnUnhealthy::neverPersist:
      return "NEVER_PERSIST";
    case PersistOnUnhealthy::alwaysPersist:
      return "ALWAYS_PERSIST";
  }
  return "?";
}

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

Json ruleJson(const ForwardingRule& rule) {
  Json json{{"name", rule.name}, {"IPAddress", rule.address.toString()}};
  switch (rule.protocol) {
    case Protocol::none:
      json["IPProtocol"] = "L3_DEFAULT";
      break;
    case Protocol::udp:
      json["IPProtocol"] = "UDP";
      break;
    default:  // protocol numbers are open; rules know these three
      json["IPProtocol"] = "TCP";
      break;
  }
  if (rule.ports.empty()) {
    json["allPorts"] = true;
    return json;
  }
  json["ports"] = Json::array();
  for (const PortRange& range : rule.ports)
    json["ports"].push_back(range.first == range.last
                                ? std::to_string(range.first)
                                : fmt::format("{}-{}", range.first, range.last));
  return json;
}

Json backendJson(const Manager& manager, const BackendView& backend) {
  Json json{{"endpoint", backend.endpoint},
            {"group", backend.group},
            {"zone", backend.zone},
            {"failover", backend.failover},
            {"healthState", weir::toString(backend.health)},
            {"eligible", backend.eligible},
            {"weight", backend.weight},
            {"mark", hex(backend.mark)}};
  const std::string reason = backend.health == Health::healthy || backend.health == Health::draining
                                 ? std::string()
                                 : manager.health().reason({backend.group, backend.endpoint});
  if (!reason.empty()) json["reason"] = reason;
  if (backend.drainDeadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(*backend.drainDeadline - now());
    json["drainingSecLeft"] = std::max<std::chrono::seconds::rep>(left.count(), 0);
  }
  return json;
}

}  // namespace

Json serviceSummary(const Manager& manager, const BackendService& service) {
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

Json serviceDescription(const Manager& manager, const BackendService& service) {
  Json json = serviceSummary(manager, service);
  json["protocol"] = toString(service.protocol);
  json["sessionAffinity"] = weir::toString(service.affinity);
  json["connectionTrackingPolicy"] = {
      {"trackingMode", weir::toString(service.tracking)},
      {"connectionPersistenceOnUnhealthyBackends", toString(service.persist)},
      {"idleTimeoutSec", service.idleTimeout.count()}};
  json["connectionDraining"] = {{"drainingTimeoutSec", service.drainingTimeout.count()}};
  if (service.hasFailoverPolicy())
    json["failoverPolicy"] = {
        {"failoverRatio", service.failover.failoverRatio},
        {"dropTrafficIfUnhealthy", service.failover.dropTrafficIfUnhealthy},
        {"disableConnectionDrainOnFailover", service.failover.disableConnectionDrainOnFailover}};
  json["weighted"] = service.weighted;
  json["healthChecks"] = Json::array();
  if (!service.healthCheck.empty()) json["healthChecks"].push_back(service.healthCheck);
  json["forwardingRules"] = Json::array();
  for (const auto& rule : manager.controlPlane().configuration().rules)
    if (rule.backendService == service.name) json["forwardingRules"].push_back(ruleJson(rule));
  if (const auto view = manager.controlPlane().view(service.name))
    json["backends"] = serviceHealth(manager, *view)["healthStatus"];
  return json;
}

Json serviceHealth(const Manager& manager, const ServiceView& view) {
  Json backends = Json::array();
  for (const auto& backend : view.backends) backends.push_back(backendJson(manager, backend));
  return {{"name", view.name},
          {"rule", view.eligibility.set.rule},
          {"explanation", view.eligibility.explanation},
          {"healthStatus", std::move(backends)}};
}

// What others did to weir's kernel state, newest first, and what is wrong with it now.
static Json kernelOverview(const Publisher& publisher) {
  Json changes = Json::array();
  for (const auto& event : std::views::reverse(publisher.kernelEvents())) {
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

Json statusOverview(Manager& manager) {
  Json planes = Json::array();
  for (const auto& plane : manager.dataPlanes().dataPlanes())
    planes.push_back({{"program", plane.program},
                      {"pid", plane.pid},
                      {"version", plane.version},
                      {"appliedGeneration", plane.applied.value()},
                      {"connectedSec", plane.connectedFor.count()}});
  Json services = Json::array();
  for (const auto& service : manager.controlPlane().configuration().services)
    services.push_back(serviceSummary(manager, service));
  return {{"manager",
           {{"pid", ::getpid()},
            {"version", WEIR_VERSION},
            {"uptimeSec", manager.uptime().count()},
            {"configuration", manager.lastReload()},
            {"generation", manager.publisher().generation().value()},
            {"kernelErrors", manager.publisher().counters().kernelErrors}}},
          {"kernel", kernelOverview(manager.publisher())},
          {"dataPlanes", std::move(planes)},
          {"services", std::move(services)}};
}

Json diagnosticsJson(const std::vector<config::Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const auto& diagnostic : diagnostics)
    list.push_back({{"severity", severityName(diagnostic.severity)},
                    {"file", diagnostic.file},
                    {"line", diagnostic.line},
                    {"column", diagnostic.column},
                    {"message", diagnostic.message},
                    {"text", diagnostic.toString()}});
  return list;
}

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

}  // namespace weir::manager
