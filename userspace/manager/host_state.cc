// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/host_state.h"

#include <nlohmann/json.hpp>

namespace weir::manager {

namespace {

using nlohmann::json;
constexpr char kKey[] = "host", kProxy[] = "proxy", kSysctls[] = "sysctls",
               kFallback[] = "fallback";

}  // namespace

std::string withHostState(std::string_view controlPlane, std::string_view proxyPlane,
                          const HostState& host) {
  json document = json::parse(controlPlane);
  document[kProxy] = json::parse(proxyPlane);
  document[kKey] = {{kSysctls, host.sysctls}, {kFallback, host.fallback}};
  return document.dump();
}

std::optional<std::string> proxyStateIn(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains(kProxy)) return std::nullopt;
  return document[kProxy].dump();
}

HostState hostStateIn(std::string_view text) {
  HostState host;
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains(kKey) || !document[kKey].is_object()) return host;
  const json& saved = document[kKey];
  if (const auto sysctls = saved.find(kSysctls); sysctls != saved.end() && sysctls->is_object())
    for (const auto& [path, value] : sysctls->items())
      if (value.is_string()) host.sysctls.emplace(path, value.get<std::string>());
  if (const auto fallback = saved.find(kFallback); fallback != saved.end())
    host.fallback = fallback->is_boolean() && fallback->get<bool>();
  return host;
}

}  // namespace weir::manager
