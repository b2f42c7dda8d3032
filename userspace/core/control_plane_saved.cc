// SPDX-License-Identifier: GPL-2.0-or-later
//
// The control plane's memory as JSON. The text is trusted to be weir's own, but not to be whole: a
// file cut short or edited by hand is refused, never half taken over.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control_plane_state.h"

namespace weir::control {
namespace {

using nlohmann::json;

// Raised when the meaning of the saved form changes.
constexpr int kSavedVersion = 1;

constexpr std::array kHealths{Health::unknown, Health::healthy, Health::unhealthy, Health::timeout};
constexpr std::array<std::pair<Pool, std::string_view>, 3> kPools{
    {{Pool::none, "none"}, {Pool::primary, "primary"}, {Pool::failover, "failover"}}};
constexpr std::array<std::pair<ReportedWeight::Kind, std::string_view>, 4> kWeightKinds{
    {{ReportedWeight::Kind::value, "value"},
     {ReportedWeight::Kind::missing, "missing"},
     {ReportedWeight::Kind::invalid, "invalid"},
     {ReportedWeight::Kind::unavailable, "unavailable"}}};

template <class Names, class Value>
std::string_view nameOf(const Names& names, Value value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return names.front().second;
}

std::int64_t milliseconds(Time time) { return time.time_since_epoch().count(); }

void putAddresses(json& object, const AddressPair& addresses) {
  if (addresses.ipv4) object["ipv4"] = addresses.ipv4->toString();
  if (addresses.ipv6) object["ipv6"] = addresses.ipv6->toString();
}

// What is wrong with the text; caught where it is read.
[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

template <class T>
T number(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_integer()) refuse(fmt::format("'{}' is not an integer", key));
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<T>::max()})
      refuse(fmt::format("'{}' is too large", key));
  } else if (std::numeric_limits<T>::min() == 0) {
    refuse(fmt::format("'{}' is negative", key));
  }
  return value.get<T>();
}

template <>
std::int64_t number<std::int64_t>(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_integer()) refuse(fmt::format("'{}' is not an integer", key));
  return value.get<std::int64_t>();
}

std::string text(const json& object, const char* key) { return object.at(key).get<std::string>(); }

template <class Names>
auto valueOf(const Names& names, const json& object, const char* key) {
  const std::string wanted = text(object, key);
  for (const auto& [value, name] : names)
    if (name == wanted) return value;
  refuse(fmt::format("'{}' has no meaning as '{}'", wanted, key));
}

Time time(const json& object, const char* key) {
  return Time(std::chrono::milliseconds(number<std::int64_t>(object, key)));
}

std::optional<Address> address(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  const auto parsed = Address::parse(text(object, key));
  if (!parsed) refuse(fmt::format("'{}' is not an address", text(object, key)));
  return parsed;
}

AddressPair addresses(const json& object) {
  return {address(object, "ipv4"), address(object, "ipv6")};
}

json endpointToJson(const EndpointRef& ref, const EndpointState& state) {
  json object{{"group", ref.group},
              {"endpoint", ref.endpoint},
              {"health", std::string(toString(state.health))},
              {"probed", state.probed},
              {"reportedWeight", std::string(nameOf(kWeightKinds, state.reported.kind))},
              {"reportedValue", state.reported.value},
              {"lastKnownWeight", state.lastKnownWeight}};
  putAddresses(object, addressesOf(state.definition));
  if (state.definition.port) object["port"] = *state.definition.port;
  if (!state.definition.fqdn.empty()) object["fqdn"] = state.definition.fqdn;
  if (state.leaves) object["leavesMs"] = milliseconds(*state.leaves);
  return object;
}

EndpointState endpointFromJson(const json& object) {
  EndpointState state;
  const AddressPair pair = addresses(object);
  state.definition.ipAddress = pair.ipv4;
  state.definition.ipv6Address = pair.ipv6;
  if (object.contains("port")) state.definition.port = number<std::uint16_t>(object, "port");
  if (object.contains("fqdn")) state.definition.fqdn = text(object, "fqdn");
  const std::string health = text(object, "health");
  const auto known = std::find_if(kHealths.begin(), kHealths.end(),
                                  [&](Health h) { return toString(h) == health; });
  if (known == kHealths.end()) refuse(fmt::format("'{}' is not a health state", health));
  state.health = *known;
  state.probed = object.at("probed").get<bool>();
  state.reported.kind = valueOf(kWeightKinds, object, "reportedWeight");
  state.reported.value = number<std::uint32_t>(object, "reportedValue");
  state.lastKnownWeight = number<std::uint32_t>(object, "lastKnownWeight");
  if (object.contains("leavesMs")) state.leaves = time(object, "leavesMs");
  return state;
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
              {"drains", json::array()}};
  for (const auto& [identity, backend] : state.backends)
    object["backends"].push_back(backendToJson(identity, backend));
  for (const auto& [identity, drain] : state.drains)
    object["drains"].push_back({{"endpoint", identity},
                                {"deadlineMs", milliseconds(drain.deadline)},
                                {"ended", drain.ended}});
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
  for (const json& drain : object.at("drains"))
    state.drains.emplace(text(drain, "endpoint"),
                         OperatorDrain{time(drain, "deadlineMs"), drain.at("ended").get<bool>()});
  return state;
}

State stateFromJson(const json& document) {
  if (number<std::uint32_t>(document, "version") != kSavedVersion)
    refuse("it was saved in a form of another version");
  State state;
  state.generation = Generation(number<Generation::rep>(document, "generation"));
  for (const json& object : document.at("endpoints"))
    state.endpoints.emplace(EndpointRef{text(object, "group"), text(object, "endpoint")},
                            endpointFromJson(object));
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
                {"endpoints", json::array()},
                {"services", json::array()},
                {"marks", json::array()}};
  for (const auto& [ref, endpoint] : state.endpoints)
    document["endpoints"].push_back(endpointToJson(ref, endpoint));
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
    return stateFromJson(json::parse(saved));
  } catch (const std::exception& problem) {
    return Error{fmt::format("saved state cannot be read: {}", problem.what())};
  }
}

}  // namespace weir::control
