// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/backend_health.h"

#include <nlohmann/json.hpp>

#include "cli/group_table.h"
#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

std::string noteOf(const Json& backend) {
  if (backend.contains("drainingSecLeft"))
    return "its connections end in " + duration(backend.value("drainingSecLeft", 0ull));
  if (backend.contains("drainedSec"))
    return "drained: its connections ended " + duration(numberAt(backend, "/drainedSec")) + " ago";
  return backend.value("reason", "");
}

// S6
void printGroups(const Json& groups, const Context& context) {
  Table table(groupHeader());
  for (const Json& group : groups) table.add(groupCells(group));
  context.out() << '\n';
  table.print(context.out(), context.terminal.color);
}

}  // namespace

void printHealth(const Json& health, const Context& context) {
  Table table({"BACKEND", "GROUP", "ZONE", "ROLE", "STATE", "ELIGIBLE", "WEIGHT", "NOTE"});
  for (const Json& backend : health.value("healthStatus", Json::array()))
    table.add({backend.value("endpoint", ""), backend.value("group", ""), backend.value("zone", ""),
               backend.value("failover", false) ? "failover" : "primary",
               backend.value("healthState", ""), backend.value("eligible", false) ? "yes" : "no",
               std::to_string(backend.value("weight", 0u)), noteOf(backend)});
  if (table.empty()) {
    context.out() << "The service has no backend.\n";
    return;
  }
  table.print(context.out(), context.terminal.color);
  if (const auto groups = health.find("groups"); groups != health.end() && groups->is_array())
    printGroups(*groups, context);
  if (const std::string error = health.value("loadError", ""); !error.empty())
    context.out() << "\nNo loads: " << error << '\n';
  if (const std::string rule = health.value("rule", ""); !rule.empty())
    context.out() << '\n' << rule << ": " << health.value("explanation", "") << '\n';
}

}  // namespace weir::cli
