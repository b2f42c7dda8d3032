// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "manager/clock.h"
#include "manager/manager.h"
#include "manager/metrics/engine_metrics.h"
#include "manager/metrics/proxy_metrics.h"
#include "manager/metrics/text.h"

namespace weir::manager {

namespace {

constexpr std::chrono::milliseconds kStatsTimeout{1000};

void addServices(MetricsText& text, const Manager& manager) {
  const ControlPlane& controlPlane = manager.controlPlane();
  std::vector<ServiceView> views;
  for (const auto& service : controlPlane.configuration().services)
    if (auto view = controlPlane.view(service.name)) views.push_back(std::move(*view));

  text.family("weir_service_backends", "gauge", "Backends of a service by health state.");
  for (const auto& view : views) {
    std::map<Health, double> counts{{Health::unknown, 0},
                                    {Health::healthy, 0},
                                    {Health::unhealthy, 0},
                                    {Health::timeout, 0},
                                    {Health::draining, 0}};
    for (const auto& backend : view.backends) ++counts[backend.health];
    for (const auto& [health, count] : counts)
      text.sample({{"service", view.name}, {"state", toString(health)}}, count);
  }
  text.family("weir_service_eligible_backends", "gauge",
              "Backends that new connections of a service may go to.");
  for (const auto& view : views)
    text.sample({{"service", view.name}}, static_cast<double>(view.eligibility.set.members.size()));
  text.family("weir_service_last_resort", "gauge",
              "1 when a service has no healthy backend and uses unhealthy ones.");
  for (const auto& view : views)
    text.sample({{"service", view.name}}, view.eligibility.lastResort ? 1 : 0);
  text.family("weir_service_rule_info", "gauge",
              "The rule that made a service's set of eligible backends.");
  for (const auto& view : views)
    text.sample({{"service", view.name}, {"rule", view.eligibility.set.rule}}, 1);
  text.family("weir_backend_healthy", "gauge", "1 when a backend is healthy for its service.");
  for (const auto& view : views)
    for (const auto& backend : view.backends)
      text.sample({{"service", view.name}, {"group", backend.group}, {"backend", backend.endpoint}},
                  backend.health == Health::healthy ? 1 : 0);
}

void addManager(MetricsText& text, Manager& manager) {
  text.family("weir_build_info", "gauge", "The running version.")
      .sample({{"version", WEIR_VERSION}}, 1);
  text.family("weir_manager_uptime_seconds", "gauge", "Time since the manager started.")
      .sample({}, static_cast<double>(manager.uptime().count()));
  text.family("weir_snapshot_generation", "gauge", "The newest generation sent to data planes.")
      .sample({}, manager.publisher().generation().value());
  text.family("weir_snapshot_age_seconds", "gauge",
              "Time since decisions last changed and were sent to data planes.");
  if (const auto published = manager.publisher().publishedAt())
    text.sample({}, std::chrono::duration<double>(now() - *published).count());
  text.family("weir_data_plane_applied_generation", "gauge",
              "The newest generation in effect in a connected data plane.");
  for (const auto& plane : manager.dataPlanes().dataPlanes())
    text.sample({{"program", plane.program}}, plane.applied.value());
  text.family("weir_config_reloads_total", "counter", "Reloads of the configuration.")
      .sample({{"result", "accepted"}}, static_cast<double>(manager.reloads().accepted))
      .sample({{"result", "refused"}}, static_cast<double>(manager.reloads().refused));
  const auto& kernel = manager.publisher().counters();
  text.family("weir_kernel_reconciliations_total", "counter",
              "Comparisons of the kernel's state with the wanted one.")
      .sample({}, static_cast<double>(kernel.reconciliations));
  text.family("weir_kernel_repairs_total", "counter",
              "Reconciliations that had to restore something.")
      .sample({}, static_cast<double>(kernel.repairs));
  text.family("weir_kernel_errors_total", "counter", "Kernel state that the kernel refused.")
      .sample({}, static_cast<double>(kernel.kernelErrors));
  text.family("weir_fallback_open", "gauge",
              "1 while the kernel spreads packets by itself because weir-engine is away.")
      .sample({}, manager.engineWatch().openedAt() ? 1 : 0);
  text.family("weir_fallback_openings_total", "counter",
              "How often weir-engine was away longer than engineGraceSec.")
      .sample({}, static_cast<double>(manager.engineWatch().openings()));
  const auto probes = manager.health().counters();
  text.family("weir_probers", "gauge", "Targets that are being probed.")
      .sample({}, static_cast<double>(manager.health().probers()));
  text.family("weir_probes_total", "counter", "Health probes by result.")
      .sample({{"result", "success"}}, static_cast<double>(probes.succeeded))
      .sample({{"result", "failure"}}, static_cast<double>(probes.failed))
      .sample({{"result", "timeout"}}, static_cast<double>(probes.timedOut))
      .sample({{"result", "not_made"}}, static_cast<double>(probes.notMade));
}

void addProbeDurations(MetricsText& text, const HealthMonitor& health) {
  std::array<double, DurationHistogram::kBounds.size()> bounds{};
  std::transform(
      DurationHistogram::kBounds.begin(), DurationHistogram::kBounds.end(), bounds.begin(),
      [](std::chrono::microseconds bound) { return std::chrono::duration<double>(bound).count(); });
  text.family("weir_probe_duration_seconds", "histogram",
              "How long health probes took, by service and result.");
  for (const auto& [service, durations] : health.durations())
    for (const auto& [result, histogram] :
         {std::pair("success", &durations.succeeded), std::pair("failure", &durations.failed),
          std::pair("timeout", &durations.timedOut)})
      text.histogram({{"service", service}, {"result", result}}, bounds, histogram->counts(),
                     std::chrono::duration<double>(histogram->sum()).count());
}

using Stats = std::optional<std::string>;  // nullopt: no answer

void askForStats(Manager& manager, std::string_view program, std::function<void(Stats)> then) {
  manager.dataPlanes().request(
      program, R"({"op":"stats"})", kStatsTimeout, [then = std::move(then)](DataPlaneReply reply) {
        then(reply.kind == DataPlaneReply::Kind::answered ? Stats(std::move(reply.text))
                                                          : std::nullopt);
      });
}

}  // namespace

std::string renderMetrics(Manager& manager, const std::optional<std::string>& engineStats,
                          const std::optional<std::string>& proxyStats) {
  MetricsText text;
  addManager(text, manager);
  addServices(text, manager);
  addProbeDurations(text, manager.health());
  addEngine(text, engineStats);
  addProxy(text, proxyStats);
  return std::move(text).take();
}

HttpHandler metricsHandler(Manager& manager) {
  return [&manager](const HttpRequest& request, HttpRespond respond) {
    if (request.path != std::vector<std::string>{"metrics"})
      return respond(errorResponse(404, "there is nothing here but /metrics"));
    if (request.method != "GET" && request.method != "HEAD") {
      HttpResponse refused = errorResponse(405, "this path takes GET only");
      refused.allow = "GET, HEAD";
      return respond(std::move(refused));
    }
    askForStats(manager, "weir-engine", [&manager, respond = std::move(respond)](Stats engine) {
      askForStats(manager, "weir-proxy",
                  [&manager, respond, engine = std::move(engine)](const Stats& proxy) {
                    respond({200, "text/plain; version=0.0.4; charset=utf-8",
                             renderMetrics(manager, engine, proxy)});
                  });
    });
  };
}

}  // namespace weir::manager
