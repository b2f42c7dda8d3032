// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/proxy_metrics.h"

#include <nlohmann/json.hpp>

#include "manager/metrics/json_numbers.h"

namespace weir::manager {

namespace {

using nlohmann::json;

void addConnections(MetricsText& text, const json& stats) {
  text.family("weir_proxy_connections", "gauge", "Connections of clients that are open.")
      .sample({}, numberAt(stats, "/totals/open"));
  text.family("weir_proxy_connections_total", "counter", "Connections of clients accepted.")
      .sample({}, numberAt(stats, "/totals/accepted"));
  text.family("weir_proxy_closed_total", "counter",
              "Connections that ended, by reason; without a reason: served.");
  addLabelled(text, stats, "/totals/closed", "reason");
  text.family("weir_proxy_bytes_total", "counter", "Bytes carried.")
      .sample({{"direction", "to_backend"}}, numberAt(stats, "/totals/bytesUp"))
      .sample({{"direction", "to_client"}}, numberAt(stats, "/totals/bytesDown"));
  text.family("weir_proxy_backend_connects_total", "counter",
              "Connections to backends that were begun.")
      .sample({}, numberAt(stats, "/totals/connects"));
  text.family("weir_proxy_backend_connect_failures_total", "counter",
              "Connections to backends that did not come up.")
      .sample({}, numberAt(stats, "/totals/connectFailures"));
  text.family("weir_proxy_retries_total", "counter", "Tries of another backend.")
      .sample({}, numberAt(stats, "/totals/retries"));
  text.family("weir_proxy_accept_paused_total", "counter",
              "Times that accepting paused without descriptors or memory.")
      .sample({}, numberAt(stats, "/totals/acceptPaused"));
  text.family("weir_proxy_accept_errors_total", "counter",
              "Clients that were gone before they were accepted.")
      .sample({}, numberAt(stats, "/totals/acceptErrors"));
  text.family("weir_proxy_max_connections", "gauge",
              "Connections that there are descriptors for; at this many accepting pauses.")
      .sample({}, numberAt(stats, "/mostConnections"));
}

void addFronts(MetricsText& text, const json& stats) {
  const json fronts = stats.value("fronts", json::object());
  text.family("weir_proxy_fronts", "gauge",
              "Addresses and ports that clients are accepted at, and those where not every thread "
              "could listen.")
      .sample({{"state", "open"}}, numberAt(stats, "/fronts/open"))
      .sample({{"state", "failing"}},
              static_cast<double>(fronts.value("failing", json::array()).size()));
  text.family("weir_proxy_log_lines_lost_total", "counter",
              "Lines of the log that were lost because they were not taken as fast as they came.")
      .sample({}, numberAt(stats, "/logLinesLost"));
}

// X3.1; absent while no backend is a name.
void addNames(MetricsText& text, const json& stats) {
  if (!stats.contains("names")) return;
  text.family(
          "weir_proxy_dns_names", "gauge",
          "Backends' names: all of them, those without an address, and those whose last question "
          "failed.")
      .sample({{"state", "all"}}, numberAt(stats, "/names/names"))
      .sample({{"state", "unresolved"}}, numberAt(stats, "/names/unresolved"))
      .sample({{"state", "failing"}}, numberAt(stats, "/names/failing"));
  text.family("weir_proxy_dns_queries_total", "counter", "Questions for addresses of names.")
      .sample({}, numberAt(stats, "/names/queries"));
  text.family("weir_proxy_dns_failures_total", "counter", "Of these, those that failed.")
      .sample({}, numberAt(stats, "/names/failures"));
}

void addGroups(MetricsText& text, const json& stats) {
  const json services = stats.value("services", json::array());
  const auto family = [&](std::string_view name, const char* member, std::string_view help) {
    text.family(name, "gauge", help);
    for (const json& service : services)
      for (const json& group : service.value("groups", json::array()))
        text.sample(
            {{"service", service.value("service", "")}, {"group", group.value("group", "")}},
            group.value(member, 0.0));
  };
  family("weir_proxy_group_connections", "connections", "Open connections to a group's backends.");
  family("weir_proxy_group_usable_capacity", "usable",
         "Capacity of a group that can be used (S2).");
  family("weir_proxy_group_fill", "fill", "Load of a group by its usable capacity; 1: full.");
}

}  // namespace

void addProxy(MetricsText& text, const std::optional<std::string>& stats) {
  const json parsed = stats ? json::parse(*stats, nullptr, false) : json();
  text.family("weir_proxy_up", "gauge", "1 when weir-proxy answers the manager.")
      .sample({}, parsed.is_object() ? 1 : 0);
  if (!parsed.is_object()) return;
  addConnections(text, parsed);
  addFronts(text, parsed);
  addNames(text, parsed);
  addGroups(text, parsed);
}

}  // namespace weir::manager
