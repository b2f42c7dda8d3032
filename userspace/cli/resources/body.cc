// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/body.h"

namespace weir::cli {

void setField(Json& object, std::string_view path, Json value) {
  Json* at = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    at = &(*at)[std::string(path.substr(0, dot))];
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  *at = std::move(value);
}

Json patchOf(const Invocation& invocation) {
  Json patch = Json::object();
  for (const auto& [flag, text, value] : invocation.given()) {
    for (const auto& [path, constant] : flag->sets) setField(patch, path, constant);
    if (flag->type == Value::ports) {
      for (const auto& [path, field] : value.items()) setField(patch, path, field);
    } else if (!flag->path.empty()) {
      setField(patch, flag->path, value);
    }
  }
  return patch;
}

Json withoutNulls(const Json& value) {
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, member] : value.items())
    if (!member.is_null()) out[key] = withoutNulls(member);
  return out;
}

Json configured(Json resource) {
  if (resource.is_object())
    for (const char* key : {"kind", "fingerprint", "status", "diagnostics"}) resource.erase(key);
  return resource;
}

}  // namespace weir::cli
