// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/group_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/words.h"

namespace weir::cli {

namespace {

bool isNumber(const Json& group, const char* key) {
  const auto found = group.find(key);
  return found != group.end() && found->is_number();
}

// "400", "12.5", "0.04"; "" where there is none.
std::string amount(const Json& group, const char* key) {
  if (!isNumber(group, key)) return "";
  const double value = group[key].get<double>();
  std::string text = fmt::format("{:.{}f}", value, value < 1 ? 2 : 1);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string percent(const Json& group, const char* key) {
  return isNumber(group, key) ? fmt::format("{:.0f}%", group[key].get<double>() * 100) : "";
}

std::string healthyOf(const Json& group) {
  return fmt::format("{}/{}", numberAt(group, "/healthy"), numberAt(group, "/members"));
}

std::string drainedOf(const Json& group) {
  if (!group.value("drained", false)) return "no";
  return isNumber(group, "drainedSec") ? "for " + duration(numberAt(group, "/drainedSec")) : "yes";
}

std::string whyOf(const Json& group) {
  std::string why = group.value("note", "");
  if (isNumber(group, "undrainSecLeft"))
    why += fmt::format("; {} to go", duration(numberAt(group, "/undrainSecLeft")));
  if (why.empty() && group.value("preferred", false)) why = "preferred";
  return why;
}

}  // namespace

std::vector<std::string> groupHeader() {
  return {"GROUP",  "ZONE", "DISTANCE MS", "HEALTHY", "CAPACITY",
          "USABLE", "LOAD", "FILL",        "DRAINED", "WHY"};
}

std::vector<std::string> groupCells(const Json& group) {
  return {group.value("group", ""),
          group.value("zone", ""),
          amount(group, "distanceMs"),
          healthyOf(group),
          amount(group, "capacity"),
          percent(group, "usableFraction"),
          amount(group, "load"),
          percent(group, "fill"),
          drainedOf(group),
          whyOf(group)};
}

}  // namespace weir::cli
