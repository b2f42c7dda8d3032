// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/status.h"

#include <fmt/format.h>

#include <map>

#include "cli/answer.h"
#include "cli/operations/operations.h"
#include "cli/operations/top.h"
#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

void printServices(const Json& status, const Context& context) {
  std::map<std::string, Json> counters;
  for (const Json& service : status.value("/engine/services"_json_pointer, Json::array()))
    counters[service.value("service", "")] = service;
  Table table({"SERVICE", "HEALTHY", "DRAINING", "ELIGIBLE", "RULE", "NEW", "KNOWN", "DROPPED"});
  for (const Json& service : status.value("services", Json::array())) {
    const auto found = counters.find(service.value("name", ""));
    const auto count = [&](const char* key) {
      return found == counters.end() ? std::string() : number(found->second.value(key, 0ull));
    };
    const std::string lastResort = service.value("lastResort", false) ? " (last resort)" : "";
    table.add({service.value("name", ""),
               fmt::format("{}/{}", service.value("healthy", 0u), service.value("total", 0u)),
               number(service.value("draining", 0u)), number(service.value("eligible", 0u)),
               service.value("rule", "") + lastResort, count("new"), count("known"),
               count("dropped")});
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
  for (const Json& warning : kernel.value("warnings", Json::array()))
    out << "Warning      " << warning.get<std::string>() << '\n';
}

}  // namespace

void printPrograms(const Json& status, const Context& context) {
  const Json manager = status.value("manager", Json::object());
  const Json fallback = status.value("fallback", Json::object());
  Table table({"PROGRAM", "STATE", "PID", "VERSION", "UP", "GENERATION", "NOTE"});
  table.add({"weir-manager", "running", number(manager.value("pid", 0u)),
             manager.value("version", ""), duration(manager.value("uptimeSec", 0ull)),
             number(manager.value("generation", 0ull)),
             "configuration " + manager.value("configuration", "")});
  bool engine = false;
  for (const Json& plane : status.value("dataPlanes", Json::array())) {
    const std::string program = plane.value("program", "");
    engine = engine || program == "weir-engine";
    table.add({program.empty() ? "(no name yet)" : program, "connected",
               number(plane.value("pid", 0u)), plane.value("version", ""),
               duration(plane.value("connectedSec", 0ull)),
               number(plane.value("appliedGeneration", 0ull)), ""});
  }
  if (!engine)
    table.add({"weir-engine", "absent", "", "", "", "",
               fallback.value("open", false)
                   ? "fallback since " + duration(fallback.value("sinceSec", 0ull)) +
                         ": the kernel spreads packets"
                   : "no packet is forwarded by weir"});
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
  if (const auto kernel = status.find("kernel"); kernel != status.end() && kernel->is_object())
    printKernel(*kernel, context.out());
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
