// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fields of saved state, read strictly: the text is trusted to be weir's own, but not to be whole.
// A field that is not as it must be raises an exception; whoever reads a document catches it and
// refuses the whole.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "endpoint_states.h"
#include "weir/address.h"
#include "weir/types.h"

namespace weir::control::saved {

using nlohmann::json;

template <class Names, class Value>
std::string_view nameOf(const Names& names, Value value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return names.front().second;
}

inline std::int64_t milliseconds(Time time) { return time.time_since_epoch().count(); }

// What is wrong with the text; caught where it is read.
[[noreturn]] inline void refuse(const std::string& what) { throw std::invalid_argument(what); }

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
inline std::int64_t number<std::int64_t>(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_integer()) refuse(fmt::format("'{}' is not an integer", key));
  return value.get<std::int64_t>();
}

inline std::string text(const json& object, const char* key) {
  return object.at(key).get<std::string>();
}

template <class Names>
auto valueOf(const Names& names, const json& object, const char* key) {
  const std::string wanted = text(object, key);
  for (const auto& [value, name] : names)
    if (name == wanted) return value;
  refuse(fmt::format("'{}' has no meaning as '{}'", wanted, key));
}

inline Time time(const json& object, const char* key) {
  return Time(std::chrono::milliseconds(number<std::int64_t>(object, key)));
}

inline std::optional<Address> address(const json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  const auto parsed = Address::parse(text(object, key));
  if (!parsed) refuse(fmt::format("'{}' is not an address", text(object, key)));
  return parsed;
}

// Endpoints with what is known of them, and drains by command, in saved_endpoints.cc.
using Drains = std::map<std::string, OperatorDrain>;  // by endpoint
json drainsToJson(const Drains&);
Drains drainsFromJson(const json& list);
json endpointsToJson(const EndpointStates&);
EndpointStates endpointsFromJson(const json& list);

}  // namespace weir::control::saved
