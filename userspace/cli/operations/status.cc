// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/status.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/answer.h"
#include "cli/operations/operations.h"
#include "cli/operations/top.h"
#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

// What a data plane counts, by service.
std::map<std::string, Json> countersOf(const Json& status, const char* list) {
  std::map<std::string, Json> counters;
  for (const Json& service : status.value(Json::json_pointer(list), Json::array()))
    counters[service.value("service", "")] = service;
  return counters;
}

// Where the proxy should listen and cannot.
Json failingFronts(const Json& status) {
  return status.value("/proxy/fronts/failing"_json_pointer, Json::array());
}

void printServices(const Json& status, const Context& context) {
  const auto counters = countersOf(status, "/engine/services");
  const auto proxied = countersOf(status, "/proxy/services");
  Table table(
      {"SERVICE", "HEALTHY", "DRAINING", "ELIGIBLE", "RULE", "NEW", "KNOWN", "DROPPED", "OPEN"});
  for (const Json& service : status.value("services", Json::array())) {
    const std::string name = service.value("name", "");
    const auto count = [&](const char* key, const std::map<std::string, Json>& from) {
      const auto found = from.find(name);
      return found == from.end() ? std::string() : number(found->second.value(key, 0ull));
    };
    const std::string lastResort = service.value("lastResort", false) ? " (last resort)" : "";
    table.add({name, fmt::format("{}/{}", service.value("healthy", 0u), service.value("total", 0u)),
               number(service.value("draining", 0u)), number(service.value("eligible", 0u)),
               service.value("rule", "") + lastResort, count("new", counters),
               count("known", counters), count("dropped", counters), count("open", proxied)});
  }
  if (table.empty())
    context.out() << "No backend service is configured.\n";
  else
    table.print(context.out(), context.terminal.color);
}

void printEngine(const Json& engine, std::ostream& out) {
  const std::uint64_t fresh = numberAt(engine, "/totals/forwarded/new");
  const std::uint64_t known = numberAt(engine, "/totals/forwarded/known");
  const std::uint64_t related = numberAt(engine, "/totals/forwarded/related");
  out << fmt::format("Connections  {} of {} entries\n", numberAt(engine, "/table/entries"),
                     numberAt(engine, "/table/capacity"))
      << fmt::format("Packets      {} forwarded ({} new, {} known, {} related), {} passed\n",
                     fresh + known + related, fresh, known, related,
                     numberAt(engine, "/totals/passed"))
      << "Drops        " << dropsOf(engine) << '\n';
}

void printProxy(const Json& status, std::ostream& out) {
  if (const std::string error = status.value("proxyError", ""); !error.empty())
    out << "No counters: " << error << '\n';
  if (!status.contains("proxy")) return;
  const Json& proxy = status.at("proxy");
  out << fmt::format("Proxy        {} connections open, {} accepted\n",
                     numberAt(proxy, "/totals/open"), numberAt(proxy, "/totals/accepted"));
  for (const Json& front : failingFronts(status))
    out << fmt::format("Warning      weir-proxy cannot listen at {}: {}\n",
                       withPort(front.value("address", ""), front.value("port", 0u)),
                       front.value("reason", ""));
}

// "refused: REASON" in two parts: a reason takes a line of its own.
std::pair<std::string, std::string> configurationOf(const Json& status) {
  const std::string whole = status.value("/manager/configuration"_json_pointer, std::string());
  const auto colon = whole.find(": ");
  if (colon == whole.npos) return {whole, {}};
  return {whole.substr(0, colon), whole.substr(colon + 2)};
}

void printWarnings(const Json& of, std::ostream& out) {
  for (const Json& warning : of.value("warnings", Json::array()))
    out << "Warning      " << warning.get<std::string>() << '\n';
}

void printManager(const Json& status, std::ostream& out) {
  if (const std::string reason = configurationOf(status).second; !reason.empty())
    out << "Reload       refused: " << reason << '\n';
  printWarnings(status.value("manager", Json::object()), out);
  for (const Json& plane : status.value("dataPlanes", Json::array())) {
    for (const Json& warning : plane.value("warnings", Json::array()))
      out << fmt::format("Warning      {}: {}\n", plane.value("program", ""),
                         warning.get<std::string>());
  }
}

// What weir had to do to its rules, routes and tables, and what is at odds there now.
void printKernel(const Json& kernel, std::ostream& out) {
  constexpr std::size_t kShownChanges = 3;
  const std::uint64_t errors = numberAt(kernel, "/errors");
  out << fmt::format("Kernel       {} repaired{}\n", numberAt(kernel, "/repairs"),
                     errors == 0 ? "" : fmt::format(", {} failed", errors));
  std::size_t shown = 0;
  for (const Json& change : kernel.value("changes", Json::array()))
    if (shown++ < kShownChanges)
      out << fmt::format("             {} {} ago: {}\n", change.value("kind", ""),
                         duration(change.value("agoSec", 0ull)), change.value("what", ""));
  printWarnings(kernel, out);
}

std::string absenceOfEngine(const Json& fallback) {
  if (fallback.value("open", false))
    return "fallback since " + duration(fallback.value("sinceSec", 0ull)) +
           ": the kernel spreads packets";
  std::string note = "no packet is forwarded by weir";
  if (fallback.contains("opensInSec"))
    note += ", but by the kernel in " + duration(fallback.value("opensInSec", 0ull));
  return note;
}

}  // namespace

void printPrograms(const Json& status, const Context& context) {
  const Json manager = status.value("manager", Json::object());
  const Json fallback = status.value("fallback", Json::object());
  Table table({"PROGRAM", "STATE", "PID", "VERSION", "UP", "GENERATION", "NOTE"});
  table.add({"weir-manager", "running", number(manager.value("pid", 0u)),
             manager.value("version", ""), duration(manager.value("uptimeSec", 0ull)),
             number(manager.value("generation", 0ull)),
             "configuration " + configurationOf(status).first});
  bool engine = false;
  for (const Json& plane : status.value("dataPlanes", Json::array())) {
    const std::string program = plane.value("program", "");
    engine = engine || program == "weir-engine";
    // Of two proxies the one that was asked.
    const bool asked = plane.value("pid", 0u) == numberAt(status, "/proxy/pid");
    const std::size_t failing = asked ? failingFronts(status).size() : 0;
    // A program of an earlier version does not say since when it runs.
    table.add({program.empty() ? "(no name yet)" : program, "connected",
               number(plane.value("pid", 0u)), plane.value("version", ""),
               plane.contains("uptimeSec") ? duration(plane.value("uptimeSec", 0ull)) : "",
               number(plane.value("appliedGeneration", 0ull)),
               failing == 0 ? "" : fmt::format("cannot listen at {} of its addresses", failing)});
  }
  if (!engine) table.add({"weir-engine", "absent", "", "", "", "", absenceOfEngine(fallback)});
  for (const Json& absent : status.value("absentPrograms", Json::array()))
    if (absent == "weir-proxy")
      table.add({"weir-proxy", "absent", "", "", "", "",
                 "while it does not run, proxy services take no connection"});
  table.print(context.out(), context.terminal.color);
}

std::string dropsOf(const Json& engine) {
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
  return drops.empty() ? "none" : drops;
}

void printStatus(const Json& status, const Context& context) {
  printPrograms(status, context);
  context.out() << '\n';
  printServices(status, context);
  context.out() << '\n';
  if (const auto engine = status.find("engine"); engine != status.end() && engine->is_object())
    printEngine(*engine, context.out());
  else
    context.out() << "No counters: " << status.value("engineError", "the engine did not answer")
                  << '\n';
  printProxy(status, context.out());
  if (const auto kernel = status.find("kernel"); kernel != status.end() && kernel->is_object())
    printKernel(*kernel, context.out());
  printManager(status, context.out());
}

void addStatusCommands(std::vector<Command>& commands) {
  commands.push_back(
      {.words = {"status"},
       .summary = "Show programs, services and connections on one screen",
       .arguments = {},
       .flags = {},
       .example = "weirctl status",
       .run = [](const Context& context, const Invocation&) {
         return present(context, ask(context, {.path = {"v1", "status"}}), printStatus);
       }});
  commands.push_back(topCommand());
}

}  // namespace weir::cli
