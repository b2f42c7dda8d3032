// SPDX-License-Identifier: GPL-2.0-or-later
//
// The memory of the plane of proxy services as JSON; read as strictly as the control plane's.
#include "proxy_plane_state.h"
#include "saved_fields.h"

namespace weir::proxy_plane {
namespace {

using namespace control::saved;

// Raised when the meaning of the saved form changes.
constexpr std::uint32_t kSavedVersion = 1;

double realNumber(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number() || value.get<double>() < 0)
    refuse(fmt::format("'{}' is not a number from 0", key));
  return value.get<double>();
}

json serviceToJson(const std::string& name, const ServiceState& state) {
  json object{
      {"name", name}, {"drains", drainsToJson(state.drains)}, {"drainedGroups", json::array()}};
  const CapacityDrain::Memory& memory = state.capacityDrain.memory();
  for (const std::string& group : memory.drained) {
    json drained{{"group", group}, {"sinceMs", milliseconds(state.drainedSince.at(group))}};
    if (const auto since = memory.healthySince.find(group); since != memory.healthySince.end())
      drained["healthySinceS"] = since->second;
    object["drainedGroups"].push_back(std::move(drained));
  }
  return object;
}

ServiceState serviceFromJson(const json& object) {
  ServiceState state;
  state.drains = drainsFromJson(object.at("drains"));
  CapacityDrain::Memory memory;
  for (const json& drained : object.at("drainedGroups")) {
    const std::string group = text(drained, "group");
    if (!memory.drained.insert(group).second) refuse("a drained group stands twice");
    state.drainedSince.emplace(group, time(drained, "sinceMs"));
    if (drained.contains("healthySinceS"))
      memory.healthySince.emplace(group, realNumber(drained, "healthySinceS"));
  }
  state.capacityDrain = CapacityDrain(std::move(memory));
  return state;
}

State stateFromJson(const json& document) {
  if (number<std::uint32_t>(document, "version") != kSavedVersion)
    refuse("it was saved in a form of another version");
  State state;
  state.generation = Generation(number<Generation::rep>(document, "generation"));
  state.endpoints = endpointsFromJson(document.at("endpoints"));
  for (const json& object : document.at("services"))
    if (!state.services.emplace(text(object, "name"), serviceFromJson(object)).second)
      refuse("a service stands twice");
  std::map<std::string, ZoneDistances::Distance> distances;
  for (const json& object : document.at("distances"))
    distances[text(object, "zone")] = {realNumber(object, "smoothedMs"),
                                       realNumber(object, "publishedMs")};
  state.distances.restore(std::move(distances));
  return state;
}

}  // namespace

std::string toJson(const State& state) {
  json document{{"version", kSavedVersion},
                {"generation", state.generation.value()},
                {"endpoints", endpointsToJson(state.endpoints)},
                {"services", json::array()},
                {"distances", json::array()}};
  for (const auto& [name, service] : state.services)
    document["services"].push_back(serviceToJson(name, service));
  for (const auto& [zone, distance] : state.distances.memory())
    document["distances"].push_back({{"zone", zone},
                                     {"smoothedMs", distance.smoothedMs},
                                     {"publishedMs", distance.publishedMs}});
  return document.dump();
}

Result<State> fromJson(std::string_view saved) {
  try {
    const json document = json::parse(saved, nullptr, false);
    if (document.is_discarded()) return Error{"saved state cannot be read: it is not whole JSON"};
    return stateFromJson(document);
  } catch (const json::exception&) {
    return Error{"saved state cannot be read: a member is missing or of another type"};
  } catch (const std::exception& problem) {
    return Error{fmt::format("saved state cannot be read: {}", problem.what())};
  }
}

}  // namespace weir::proxy_plane
