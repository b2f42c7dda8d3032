// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/proxy_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "manager/api/views.h"
#include "manager/clock.h"
#include "weir/model_words.h"

namespace weir::manager {

namespace {

std::int64_t secondsUntil(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time - now()).count();
}

struct Counts {
  std::size_t total = 0, healthy = 0, draining = 0, eligible = 0, serving = 0;
};

Counts count(const ProxyServiceView& view) {
  Counts counts;
  for (const ProxyGroupView& group : view.groups) {
    counts.serving += group.serves;
    for (const ProxyBackendView& backend : group.backends) {
      ++counts.total;
      counts.draining += backend.health == Health::draining;
      counts.healthy += backend.health == Health::healthy;
      counts.eligible += backend.health == Health::healthy && group.serves;
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

Json backendJson(const Manager& manager, const std::string& service, const ProxyGroupView& group,
                 const ProxyBackendView& backend) {
  Json json{{"endpoint", backend.endpoint},
            {"group", group.name},
            {"zone", group.zone},
            {"failover", false},
            {"healthState", toString(backend.health)},
            {"eligible", backend.health == Health::healthy && group.serves},
            {"weight", backend.weight}};
  if (backend.health != Health::healthy && backend.health != Health::draining)
    if (auto reason = manager.health().reason({group.name, backend.endpoint}, service);
        !reason.empty())
      json["reason"] = std::move(reason);
  addDrain(json, backend.drainDeadline);
  if (backend.utilization) json["utilization"] = *backend.utilization;
  return json;
}

Json groupJson(const ProxyGroupView& group) {
  Json json{{"group", group.name},
            {"zone", group.zone},
            {"region", group.region},
            {"balancingMode", toString(group.configured.mode)},
            {"preferred", group.configured.preference == Preference::preferred},
            {"members", group.members},
            {"healthy", group.healthy},
            {"healthyShare",
             group.members == 0 ? 0.0 : static_cast<double>(group.healthy) / group.members},
            {"usableFraction", group.usableFraction},
            {"serves", group.serves},
            {"drained", group.drainedSince.has_value()}};
  // Without a limit there is no number to show.
  if (std::isfinite(group.capacity)) json["capacity"] = group.capacity;
  if (std::isfinite(group.usable)) json["usable"] = group.usable;
  if (std::isfinite(group.distance)) {
    json["distanceMs"] = group.distance;
    json["distanceFrom"] = group.distanceConfigured ? "proximity" : "probes";
  }
  if (group.drainedSince) json["drainedSec"] = -secondsUntil(*group.drainedSince);
  if (group.undrains)
    json["undrainSecLeft"] = std::max<std::int64_t>(secondsUntil(*group.undrains), 0);
  if (!group.note.empty()) json["note"] = group.note;
  return json;
}

// The element of stats[list] whose member `key` is `name`.
const Json* namedIn(const Json& stats, const char* list, const char* key, const std::string& name) {
  const auto found = stats.is_object() ? stats.find(list) : stats.end();
  if (found == stats.end() || !found->is_array()) return nullptr;
  for (const Json& item : *found) {
    const auto named = item.is_object() ? item.find(key) : item.end();
    if (named != item.end() && named->is_string() && *named == name) return &item;
  }
  return nullptr;
}

}  // namespace

Json proxyServiceSummary(const ProxyServiceView& view) {
  const Counts counts = count(view);
  return {{"name", view.name},           {"healthy", counts.healthy},
          {"total", counts.total},       {"draining", counts.draining},
          {"eligible", counts.eligible}, {"rule", "S3"},
          {"lastResort", false},         {"explanation", explanation(view, counts)}};
}

Json proxyGroups(const ProxyServiceView& view) {
  Json groups = Json::array();
  for (const ProxyGroupView& group : view.groups) groups.push_back(groupJson(group));
  return groups;
}

Json proxyServiceHealth(const Manager& manager, const ProxyServiceView& view) {
  Json backends = Json::array();
  for (const ProxyGroupView& group : view.groups)
    for (const ProxyBackendView& backend : group.backends)
      backends.push_back(backendJson(manager, view.name, group, backend));
  return {{"name", view.name},
          {"rule", "S3"},
          {"explanation", explanation(view, count(view))},
          {"healthStatus", std::move(backends)},
          {"groups", proxyGroups(view)}};
}

void addLoads(Json& groups, const std::string& service, const Json& stats) {
  const Json* const known = namedIn(stats, "services", "service", service);
  if (known == nullptr) return;
  for (Json& group : groups) {
    const Json* const load = namedIn(*known, "groups", "group", group.value("group", ""));
    if (load == nullptr) continue;
    for (const char* key : {"connections", "load"})
      if (const auto value = load->find(key); value != load->end() && value->is_number())
        group[key] = *value;
    // Of nothing that can be used no share is full.
    if (group.value("usable", 0.0) > 0 && group.contains("load"))
      group["fill"] = group.value("load", 0.0) / group.value("usable", 1.0);
  }
}

}  // namespace weir::manager
