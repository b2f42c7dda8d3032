// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/engine_metrics.h"

#include <nlohmann/json.hpp>

#include "manager/metrics/json_numbers.h"

namespace weir::manager {

namespace {

using nlohmann::json;

void addPackets(MetricsText& text, const json& stats) {
  text.family("weir_packets_total", "counter", "Packets that the engine took from its queues.")
      .sample({}, numberAt(stats, "/totals/packets"));
  text.family("weir_packet_bytes_total", "counter", "Bytes of these packets.")
      .sample({}, numberAt(stats, "/totals/bytes"));
  text.family("weir_packets_forwarded_total", "counter", "Packets sent to a backend.");
  addLabelled(text, stats, "/totals/forwarded", "connection");
  text.family("weir_packets_passed_total", "counter", "Packets that no rule is about.")
      .sample({}, numberAt(stats, "/totals/passed"));
  text.family("weir_packets_dropped_total", "counter", "Packets dropped, by reason.");
  addLabelled(text, stats, "/totals/dropped", "reason");
  text.family("weir_packets_malformed_total", "counter", "Malformed packets dropped, by reason.");
  addLabelled(text, stats, "/totals/malformed", "reason");
  text.family("weir_engine_errors_total", "counter", "System calls of the engine that failed.")
      .sample({{"kind", "receive"}}, numberAt(stats, "/totals/receiveErrors"))
      .sample({{"kind", "send"}}, numberAt(stats, "/totals/sendErrors"))
      .sample({{"kind", "verdict"}}, numberAt(stats, "/totals/verdictErrors"))
      .sample({{"kind", "unreadable"}}, numberAt(stats, "/totals/unreadable"));
}

void addQueues(MetricsText& text, const json& stats) {
  const auto threads = stats.find("threads");
  if (threads == stats.end() || !threads->is_array()) return;
  const auto queueOf = [](const json& thread) {
    return std::to_string(static_cast<unsigned>(numberAt(thread, "/queue")));
  };
  text.family("weir_queue_bound", "gauge", "1 when the engine is bound to the kernel's queue.");
  for (const json& thread : *threads)
    text.sample({{"queue", queueOf(thread)}},
                thread.value("/kernel/bound"_json_pointer, false) ? 1 : 0);
  text.family("weir_queue_waiting", "gauge", "Packets that wait in the kernel's queue.");
  for (const json& thread : *threads)
    text.sample({{"queue", queueOf(thread)}}, numberAt(thread, "/kernel/waiting"));
  text.family("weir_queue_dropped_total", "counter", "Packets that the kernel dropped at a queue.");
  for (const json& thread : *threads) {
    const std::string queue = queueOf(thread);
    text.sample({{"queue", queue}, {"reason", "queue_full"}}, numberAt(thread, "/kernel/dropped"));
    text.sample({{"queue", queue}, {"reason", "socket_full"}},
                numberAt(thread, "/kernel/userDropped"));
  }
}

void addTable(MetricsText& text, const json& stats) {
  text.family("weir_tracking_entries", "gauge", "Entries of the connection tracking table.")
      .sample({}, numberAt(stats, "/table/entries"));
  text.family("weir_tracking_capacity", "gauge", "Entries that the table has room for.")
      .sample({}, numberAt(stats, "/table/capacity"));
  text.family("weir_tracking_inserted_total", "counter", "Entries made.")
      .sample({}, numberAt(stats, "/table/inserted"));
  text.family("weir_tracking_expired_total", "counter", "Entries removed as idle.")
      .sample({}, numberAt(stats, "/table/expired"));
  text.family("weir_tracking_evicted_total", "counter", "Entries that gave way in a full table.")
      .sample({{"state", "new"}}, numberAt(stats, "/table/evictedOnlySyn"))
      .sample({{"state", "established"}}, numberAt(stats, "/table/evictedEstablished"));
}

void addServices(MetricsText& text, const json& services) {
  text.family("weir_service_packets_total", "counter", "Packets of a service.");
  for (const json& service : services)
    for (const char* kind : {"new", "known", "related", "dropped"})
      text.sample({{"service", service.value("service", "")}, {"connection", kind}},
                  service.value(kind, 0.0));
  text.family("weir_service_bytes_total", "counter", "Bytes of a service's forwarded packets.");
  for (const json& service : services)
    text.sample({{"service", service.value("service", "")}}, service.value("bytes", 0.0));
}

void addBackends(MetricsText& text, const json& services) {
  const auto family = [&](std::string_view name, const char* member, std::string_view help) {
    text.family(name, "counter", help);
    for (const json& service : services)
      for (const json& backend : service.value("backends", json::array()))
        text.sample({{"service", service.value("service", "")},
                     {"group", backend.value("group", "")},
                     {"backend", backend.value("backend", "")}},
                    backend.value(member, 0.0));
  };
  family("weir_backend_connections_total", "new", "Connections that were given to a backend.");
  family("weir_backend_packets_total", "packets", "Packets sent to a backend.");
  family("weir_backend_bytes_total", "bytes", "Bytes of these packets.");
}

}  // namespace

void addEngine(MetricsText& text, const std::optional<std::string>& stats) {
  const json parsed = stats ? json::parse(*stats, nullptr, false) : json();
  text.family("weir_engine_up", "gauge", "1 when weir-engine answers the manager.")
      .sample({}, parsed.is_object() ? 1 : 0);
  if (!parsed.is_object()) return;
  addPackets(text, parsed);
  addQueues(text, parsed);
  addTable(text, parsed);
  const json services = parsed.value("services", json::array());
  addServices(text, services);
  addBackends(text, services);
}

}  // namespace weir::manager
