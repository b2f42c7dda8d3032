// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/backend_health.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

std::string noteOf(const Json& backend) {
  if (backend.contains("drainingSecLeft"))
    return "its connections end in " + duration(backend.value("drainingSecLeft", 0ull));
  return backend.value("reason", "");
}

// "400", "12.5"; "" where there is none.
std::string amount(const Json& group, const char* key) {
  if (!group.contains(key) || !group[key].is_number()) return "";
  std::string text = fmt::format("{:.1f}", group[key].get<double>());
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string percent(const Json& group, const char* key) {
  if (!group.contains(key) || !group[key].is_number()) return "";
  return fmt::format("{:.0f}%", group[key].get<double>() * 100);
}

// S6: capacity, load, fill, healthy share, drained or not and why, distance of each group.
void printGroups(const Json& groups, const Context& context) {
  Table table({"GROUP", "ZONE", "DISTANCE MS", "CAPACITY", "LOAD", "FILL", "HEALTHY", "DRAINED"});
  for (const Json& group : groups) {
    const std::string why = group.value("drainedReason", "");
    const bool drained = group.value("drained", false);
    table.add({group.value("group", ""), group.value("zone", ""), amount(group, "distanceMs"),
               amount(group, "capacity"), amount(group, "load"), percent(group, "fill"),
               percent(group, "healthyShare"),
               !drained      ? "no"
               : why.empty() ? "yes"
                             : "yes: " + why});
  }
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
  if (const std::string rule = health.value("rule", ""); !rule.empty())
    context.out() << '\n' << rule << ": " << health.value("explanation", "") << '\n';
}

}  // namespace weir::cli
