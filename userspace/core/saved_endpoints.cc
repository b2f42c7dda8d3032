// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>
#include <utility>

#include "saved_fields.h"

namespace weir::control::saved {
namespace {

constexpr std::array kHealths{Health::unknown, Health::healthy, Health::unhealthy, Health::timeout};
constexpr std::array<std::pair<ReportedWeight::Kind, std::string_view>, 4> kWeightKinds{
    {{ReportedWeight::Kind::value, "value"},
     {ReportedWeight::Kind::missing, "missing"},
     {ReportedWeight::Kind::invalid, "invalid"},
     {ReportedWeight::Kind::unavailable, "unavailable"}}};

json verdictToJson(const Verdict& verdict) {
  return {{"health", std::string(toString(verdict.health))},
          {"probed", verdict.probed},
          {"reportedWeight", std::string(nameOf(kWeightKinds, verdict.reported.kind))},
          {"reportedValue", verdict.reported.value},
          {"lastKnownWeight", verdict.lastKnownWeight}};
}

Verdict verdictFromJson(const json& object) {
  Verdict verdict;
  const std::string health = text(object, "health");
  const auto known = std::find_if(kHealths.begin(), kHealths.end(),
                                  [&](Health h) { return toString(h) == health; });
  if (known == kHealths.end()) refuse(fmt::format("'{}' is not a health state", health));
  verdict.health = *known;
  verdict.probed = object.at("probed").get<bool>();
  verdict.reported.kind = valueOf(kWeightKinds, object, "reportedWeight");
  verdict.reported.value = number<std::uint32_t>(object, "reportedValue");
  verdict.lastKnownWeight = number<std::uint32_t>(object, "lastKnownWeight");
  return verdict;
}

json endpointToJson(const EndpointRef& ref, const EndpointState& state) {
  json object = verdictToJson(state.common);
  object["group"] = ref.group;
  object["endpoint"] = ref.endpoint;
  for (const auto& [service, verdict] : state.verdicts)
    object["verdicts"][service] = verdictToJson(verdict);
  if (state.definition.ipAddress) object["ipv4"] = state.definition.ipAddress->toString();
  if (state.definition.ipv6Address) object["ipv6"] = state.definition.ipv6Address->toString();
  if (state.definition.port) object["port"] = *state.definition.port;
  if (!state.definition.fqdn.empty()) object["fqdn"] = state.definition.fqdn;
  if (state.leaves) object["leavesMs"] = milliseconds(*state.leaves);
  return object;
}

EndpointState endpointFromJson(const json& object) {
  EndpointState state;
  state.definition.ipAddress = address(object, "ipv4");
  state.definition.ipv6Address = address(object, "ipv6");
  if (object.contains("port")) state.definition.port = number<std::uint16_t>(object, "port");
  if (object.contains("fqdn")) state.definition.fqdn = text(object, "fqdn");
  state.common = verdictFromJson(object);
  if (object.contains("verdicts"))
    for (const auto& [service, verdict] : object.at("verdicts").items())
      state.verdicts.emplace(service, verdictFromJson(verdict));
  if (object.contains("leavesMs")) state.leaves = time(object, "leavesMs");
  return state;
}

}  // namespace

json drainsToJson(const Drains& drains) {
  json list = json::array();
  for (const auto& [endpoint, drain] : drains)
    list.push_back({{"endpoint", endpoint},
                    {"deadlineMs", milliseconds(drain.deadline)},
                    {"ended", drain.ended}});
  return list;
}

Drains drainsFromJson(const json& list) {
  Drains drains;
  for (const json& object : list)
    drains.emplace(text(object, "endpoint"),
                   OperatorDrain{time(object, "deadlineMs"), object.at("ended").get<bool>()});
  return drains;
}

json endpointsToJson(const EndpointStates& endpoints) {
  json list = json::array();
  for (const auto& [ref, state] : endpoints) list.push_back(endpointToJson(ref, state));
  return list;
}

EndpointStates endpointsFromJson(const json& list) {
  EndpointStates endpoints;
  for (const json& object : list)
    endpoints.emplace(EndpointRef{text(object, "group"), text(object, "endpoint")},
                      endpointFromJson(object));
  return endpoints;
}

}  // namespace weir::control::saved
