// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/screens.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

std::uint64_t numberAt(const Json& object, const char* pointer) {
  return object.value(Json::json_pointer(pointer), std::uint64_t{0});
}

std::string number(std::uint64_t value) { return std::to_string(value); }

void printPrograms(const Json& status, std::ostream& out) {
  const Json& manager = status.at("manager");
  Table table({"PROGRAM", "STATE", "PID", "VERSION", "UP", "GENERATION", "NOTE"});
  table.add({"weir-manager", "running", number(manager.value("pid", 0u)),
             manager.value("version", ""), duration(manager.value("uptimeSec", 0ull)),
             number(manager.value("generation", 0ull)),
             "configuration " + manager.value("configuration", "")});
  bool engine = false;
  for (const Json& plane : status.at("dataPlanes")) {
    const std::string program = plane.value("program", "");
    engine = engine || program == "weir-engine";
    table.add({program.empty() ? "(no name yet)" : program, "connected",
               number(plane.value("pid", 0u)), plane.value("version", ""),
               duration(plane.value("connectedSec", 0ull)),
               number(plane.value("appliedGeneration", 0ull)), ""});
  }
  if (!engine)
    table.add({"weir-engine", "absent", "-", "-", "-", "-", "no packet is forwarded by weir"});
  table.print(out);
}

void printServiceCounts(const Json& status, std::ostream& out) {
  std::map<std::string, Json> counters;
  if (const auto engine = status.find("engine"); engine != status.end() && engine->is_object())
    for (const Json& service : engine->value("services", Json::array()))
      counters[service.value("service", "")] = service;
  Table table({"SERVICE", "HEALTHY", "DRAINING", "ELIGIBLE", "RULE", "NEW", "KNOWN", "DROPPED"});
  for (const Json& service : status.at("services")) {
    const auto found = counters.find(service.value("name", ""));
    const auto count = [&](const char* key) {
      return found == counters.end() ? std::string("-") : number(found->second.value(key, 0ull));
    };
    const std::string lastResort = service.value("lastResort", false) ? " (last resort)" : "";
    table.add({service.value("name", ""),
               fmt::format("{}/{}", service.value("healthy", 0u), service.value("total", 0u)),
               number(service.value("draining", 0u)), number(service.value("eligible", 0u)),
               service.value("rule", "") + lastResort, count("new"), count("known"),
               count("dropped")});
  }
  table.print(out);
}

void printEngine(const Json& engine, std::ostream& out) {
  out << fmt::format("Connections  {} of {} entries\n", numberAt(engine, "/table/entries"),
                     numberAt(engine, "/table/capacity"));
  out << fmt::format(
      "Packets      {} forwarded ({} new, {} known, {} related), {} passed\n",
      numberAt(engine, "/totals/forwarded/new") + numberAt(engine, "/totals/forwarded/known") +
          numberAt(engine, "/totals/forwarded/related"),
      numberAt(engine, "/totals/forwarded/new"), numberAt(engine, "/totals/forwarded/known"),
      numberAt(engine, "/totals/forwarded/related"), numberAt(engine, "/totals/passed"));
  std::string drops;
  const auto add = [&](const std::string& reason, std::uint64_t count) {
    if (count != 0) drops += fmt::format("{}{} {}", drops.empty() ? "" : ", ", count, reason);
  };
  for (const char* kind : {"/totals/dropped", "/totals/malformed"})
    if (const auto path = Json::json_pointer(kind); engine.contains(path))
      for (const auto& [reason, count] : engine.at(path).items())
        add(reason, count.get<std::uint64_t>());
  std::uint64_t kernel = 0;
  for (const Json& thread : engine.value("threads", Json::array()))
    kernel += numberAt(thread, "/kernel/dropped") + numberAt(thread, "/kernel/userDropped");
  add("by the kernel's queue", kernel);
  out << "Drops        " << (drops.empty() ? "none" : drops) << '\n';
}

}  // namespace

void printStatus(const Json& status, std::ostream& out) {
  printPrograms(status, out);
  out << '\n';
  if (status.at("services").empty())
    out << "No backend service is configured.\n";
  else
    printServiceCounts(status, out);
  out << '\n';
  const auto engine = status.find("engine");
  if (engine != status.end() && engine->is_object())
    printEngine(*engine, out);
  else
    out << "No counters: " << status.value("engineError", "the engine did not answer") << '\n';
}

void printReload(const Json& result, std::ostream& out) {
  for (const Json& diagnostic : result.value("diagnostics", Json::array()))
    out << diagnostic.value("text", "") << '\n';
  out << (result.value("changed", false) ? "applied\n" : "unchanged, nothing was done\n");
}

void printServices(const Json& list, std::ostream& out) {
  Table table({"NAME", "PROTOCOL", "AFFINITY", "TRACKING", "HEALTHY", "ELIGIBLE", "RULE",
               "FORWARDING RULES"});
  for (const Json& service : list.at("items")) {
    std::string rules;
    for (const Json& rule : service.value("forwardingRules", Json::array()))
      rules += (rules.empty() ? "" : ",") + rule.value("name", "");
    table.add({service.value("name", ""), service.value("protocol", ""),
               service.value("sessionAffinity", ""),
               service.value("/connectionTrackingPolicy/trackingMode"_json_pointer, ""),
               fmt::format("{}/{}", service.value("healthy", 0u), service.value("total", 0u)),
               number(service.value("eligible", 0u)), service.value("rule", ""),
               rules.empty() ? "-" : rules});
  }
  table.print(out);
}

void printHealth(const Json& health, std::ostream& out) {
  Table table({"BACKEND", "GROUP", "ZONE", "ROLE", "STATE", "ELIGIBLE", "WEIGHT", "NOTE"});
  for (const Json& backend : health.at("healthStatus")) {
    std::string note = backend.value("reason", "");
    if (backend.contains("drainingSecLeft"))
      note = "entries go in " + duration(backend.value("drainingSecLeft", 0ull));
    const std::string zone = backend.value("zone", "");
    table.add({backend.value("endpoint", ""), backend.value("group", ""), zone.empty() ? "-" : zone,
               backend.value("failover", false) ? "failover" : "primary",
               backend.value("healthState", ""), backend.value("eligible", false) ? "yes" : "no",
               number(backend.value("weight", 0u)), note});
  }
  table.print(out);
  out << '\n' << health.value("rule", "") << ": " << health.value("explanation", "") << '\n';
}

void printConnections(const Json& list, std::ostream& out) {
  Table table({"SERVICE", "PROTOCOL", "SOURCE", "DESTINATION", "BACKEND", "STATE", "IDLE"});
  for (const Json& entry : list.at("connections"))
    table.add({entry.value("service", ""), protocolOf(entry), sideOf(entry, "source", "sourcePort"),
               sideOf(entry, "destination", "destinationPort"), entry.value("backend", ""),
               entry.value("state", ""), duration(entry.value("idleSec", 0ull))});
  table.print(out);
  if (list.value("truncated", false)) out << "... and more; --limit shows them\n";
}

}  // namespace weir::cli
