// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/json_numbers.h"

namespace weir::manager {

using nlohmann::json;

double numberAt(const json& object, const char* pointer) {
  const json::json_pointer path(pointer);
  return object.contains(path) && object.at(path).is_number() ? object.at(path).get<double>() : 0;
}

void addLabelled(MetricsText& text, const json& stats, const char* pointer,
                 std::string_view label) {
  const json::json_pointer path(pointer);
  if (!stats.contains(path) || !stats.at(path).is_object()) return;
  for (const auto& [key, value] : stats.at(path).items())
    if (value.is_number()) text.sample({{label, key}}, value.get<double>());
}

}  // namespace weir::manager
