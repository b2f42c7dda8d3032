// SPDX-License-Identifier: GPL-2.0-or-later
//
// The control plane's memory as JSON. The text is trusted to be weir's own, but not to be whole: a
// file cut short or edited by hand is refused, never half taken over.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "control_plane_state.h"
#include "saved_fields.h"

namespace weir::control {
namespace {

using nlohmann::json;
using saved::address;
using saved::milliseconds;
using saved::nameOf;
using saved::number;
using saved::refuse;
using saved::text;
using saved::time;
using saved::valueOf;

// Raised when the meaning of the saved form changes.
constexpr int kSavedVersion = 1;

constexpr std::array<std::pair<Pool, std::string_view>, 3> kPools{
    {{Pool::none, "none"}, {Pool::primary, "primary"}, {Pool::failover, "failover"}}};
void putAddresses(json& object, const AddressPair& addresses) {
  if (addresses.ipv4) object["ipv4"] = addresses.ipv4->toString();
  if (addresses.ipv6) object["ipv6"] = addresses.ipv6->toString();
}

AddressPair addresses(const json& object) {
  return {address(object, "ipv4"), address(object, "ipv6")};
}

json backendToJson(const std::string& identity, const BackendState& state) {
  json object{{"endpoint", identity},
              {"slot", state.slot.value()},
              {"validFrom", json::array()},
              {"mayTurnUnhealthy", state.mayTurnUnhealthy}};
  putAddresses(object, state.addresses);
  for (const Generation generation : state.validFrom)
    object["validFrom"].push_back(generation.value());
  return object;
}

BackendState backendFromJson(const json& object) {
  BackendState state;
  state.slot = BackendSlot(number<BackendSlot::rep>(object, "slot"));
  state.addresses = addresses(object);
  const json& validFrom = object.at("validFrom");
  if (!validFrom.is_array() || validFrom.size() != state.validFrom.size())
    refuse("'validFrom' has another length");
  for (std::size_t i = 0; i < state.validFrom.size(); ++i)
    state.validFrom[i] =
        Generation(number<Generation::rep>(json{{"value", validFrom[i]}}, "value"));
  state.mayTurnUnhealthy = object.at("mayTurnUnhealthy").get<bool>();
  return state;
}

template <class Snapshot>
std::uint64_t digestOf(Snapshot snapshot) {
  snapshot.generation = Generation{};
  return digest(SnapshotMessage(std::move(snapshot)));
}

json serviceToJson(const std::string& name, const ServiceState& state) {
  json object{{"name", name},
              {"id", state.id.value()},
              {"pool", std::string(nameOf(kPools, state.pool))},
              {"generation", state.snapshot.generation.value()},
              {"digest", state.restoredDigest.value_or(digestOf(state.snapshot))},
              {"backends", json::array()},
              {"drains", saved::drainsToJson(state.drains)}};
  for (const auto& [identity, backend] : state.backends)
    object["backends"].push_back(backendToJson(identity, backend));
  return object;
}

ServiceState serviceFromJson(const json& object) {
  ServiceState state;
  state.id = ServiceId(number<ServiceId::rep>(object, "id"));
  state.pool = valueOf(kPools, object, "pool");
  state.snapshot.generation = Generation(number<Generation::rep>(object, "generation"));
  state.restoredDigest = number<std::uint64_t>(object, "digest");
  std::set<BackendSlot> slots;
  for (const json& backend : object.at("backends")) {
    const BackendState read = backendFromJson(backend);
    if (!slots.insert(read.slot).second) refuse("a backend slot stands twice");
    if (!state.backends.emplace(text(backend, "endpoint"), read).second)
      refuse("a backend stands twice");
  }
  state.drains = saved::drainsFromJson(object.at("drains"));
  return state;
}

State stateFromJson(const json& document) {
  if (number<std::uint32_t>(document, "version") != kSavedVersion)
    refuse("it was saved in a form of another version");
  State state;
  state.generation = Generation(number<Generation::rep>(document, "generation"));
  state.endpoints = saved::endpointsFromJson(document.at("endpoints"));
  std::set<ServiceId> ids;
  for (const json& object : document.at("services")) {
    ServiceState service = serviceFromJson(object);
    if (!ids.insert(service.id).second) refuse("a service id stands twice");
    if (!state.services.emplace(text(object, "name"), std::move(service)).second)
      refuse("a service stands twice");
  }
  std::set<std::uint32_t> positions;
  for (const json& object : document.at("marks")) {
    const auto position = number<std::uint32_t>(object, "position");
    if (position == 0 || !positions.insert(position).second) refuse("a mark is 0 or stands twice");
    state.marks.emplace(addresses(object), position);
  }
  if (document.contains("rules")) {
    const json& rules = document.at("rules");
    state.rules.generation = Generation(number<Generation::rep>(rules, "generation"));
    state.restoredRulesDigest = number<std::uint64_t>(rules, "digest");
  }
  return state;
}

}  // namespace

std::string toJson(const State& state) {
  json document{{"version", kSavedVersion},
                {"generation", state.generation.value()},
                {"endpoints", saved::endpointsToJson(state.endpoints)},
                {"services", json::array()},
                {"marks", json::array()}};
  for (const auto& [name, service] : state.services)
    document["services"].push_back(serviceToJson(name, service));
  for (const auto& [pair, position] : state.marks) {
    json mark{{"position", position}};
    putAddresses(mark, pair);
    document["marks"].push_back(std::move(mark));
  }
  if (state.applied || state.restoredRulesDigest)
    document["rules"] = {{"generation", state.rules.generation.value()},
                         {"digest", state.restoredRulesDigest.value_or(digestOf(state.rules))}};
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

}  // namespace weir::control
