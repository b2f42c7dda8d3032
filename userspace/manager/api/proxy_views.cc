// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/proxy_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "manager/clock.h"
#include "weir/model_words.h"

namespace weir::manager {

namespace {

bool serves(const ProxyGroupView& group) { return group.allowed && group.usable > 0; }

std::int64_t secondsUntil(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time - now()).count();
}

struct Counts {
  std::size_t total = 0, healthy = 0, draining = 0, eligible = 0, serving = 0;
};

Counts count(const ProxyServiceView& view) {
  Counts counts;
  for (const ProxyGroupView& group : view.groups) {
    counts.serving += serves(group);
    for (const ProxyBackendView& backend : group.backends) {
      ++counts.total;
      counts.draining += backend.health == Health::draining;
      counts.healthy += backend.health == Health::healthy;
      counts.eligible += backend.health == Health::healthy && serves(group);
    }
  }
  return counts;
}

std::string explanation(const ProxyServiceView& view, const Counts& counts) {
  if (counts.eligible == 0)
    return fmt::format(
        "{} of {} backends are healthy, {} of {} groups can serve: clients are closed",
        counts.healthy, counts.total, counts.serving, view.groups.size());
  return fmt::format("{} of {} backends are healthy, {} of {} groups can serve: {}", counts.healthy,
                     counts.total, counts.serving, view.groups.size(),
                     toString(view.policy.algorithm));
}

Json backendJson(const Manager& manager, const ProxyGroupView& group,
                 const ProxyBackendView& backend) {
  Json json{{"endpoint", backend.endpoint},
            {"group", group.name},
            {"zone", group.zone},
            {"failover", false},
            {"healthState", toString(backend.health)},
            {"eligible", backend.health == Health::healthy && serves(group)},
            {"weight", backend.weight}};
  if (backend.health != Health::healthy && backend.health != Health::draining)
    if (auto reason = manager.health().reason({group.name, backend.endpoint}); !reason.empty())
      json["reason"] = std::move(reason);
  if (backend.drainDeadline)
    json["drainingSecLeft"] = std::max<std::int64_t>(secondsUntil(*backend.drainDeadline), 0);
  if (backend.utilization) json["utilization"] = *backend.utilization;
  return json;
}

Json groupJson(const ProxyGroupView& group) {
  Json json{{"group", group.name},
            {"zone", group.zone},
            {"region", group.region},
            {"balancingMode", toString(group.configured.mode)},
            {"members", group.members},
            {"healthy", group.healthy},
            {"usableFraction", group.usableFraction},
            {"serves", serves(group)}};
  // Without a limit there is no number to show.
  if (std::isfinite(group.capacity)) json["capacity"] = group.capacity;
  if (std::isfinite(group.usable)) json["usable"] = group.usable;
  if (std::isfinite(group.distance)) json["distanceMs"] = group.distance;
  if (group.drainedSince) json["drainedSec"] = -secondsUntil(*group.drainedSince);
  if (!group.note.empty()) json["note"] = group.note;
  return json;
}

}  // namespace

Json proxyServiceSummary(const ProxyServiceView& view) {
  const Counts counts = count(view);
  return {{"name", view.name},           {"healthy", counts.healthy},
          {"total", counts.total},       {"draining", counts.draining},
          {"eligible", counts.eligible}, {"rule", "S3"},
          {"lastResort", false},         {"explanation", explanation(view, counts)}};
}

Json proxyServiceHealth(const Manager& manager, const ProxyServiceView& view) {
  Json backends = Json::array(), groups = Json::array();
  for (const ProxyGroupView& group : view.groups) {
    groups.push_back(groupJson(group));
    for (const ProxyBackendView& backend : group.backends)
      backends.push_back(backendJson(manager, group, backend));
  }
  return {{"name", view.name},
          {"rule", "S3"},
          {"explanation", explanation(view, count(view))},
          {"healthStatus", std::move(backends)},
          {"groups", std::move(groups)}};
}

}  // namespace weir::manager
