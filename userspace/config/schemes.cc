// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/schemes.h"

#include <fmt/format.h>

#include "weir/model_words.h"

namespace weir::config {

std::string needsScheme(ServiceKind kind, LoadBalancingScheme scheme) {
  return fmt::format(
      "loadBalancingScheme {}, not {}",
      kind == ServiceKind::proxy ? "INTERNAL_MANAGED or EXTERNAL_MANAGED" : "INTERNAL or EXTERNAL",
      toString(scheme));
}

void refuseKeysOf(ServiceKind belongsTo, const Value& value,
                  std::initializer_list<std::string_view> keys, LoadBalancingScheme scheme,
                  Reader& reader) {
  for (const std::string_view key : keys)
    if (const auto* entry = value.find(key))
      reader.error(entry->mark,
                   fmt::format("{} belongs to {}: it needs {}", key,
                               belongsTo == ServiceKind::proxy ? "proxies" : "passthrough services",
                               needsScheme(belongsTo, scheme)));
}

}  // namespace weir::config
