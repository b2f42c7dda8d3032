// SPDX-License-Identifier: GPL-2.0-or-later
//
// Values that are made, not read: without a place in any text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "config/value.h"

namespace weir::config {

// A scalar that is text whatever it looks like.
inline ValuePtr textValue(std::string text) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.quoted = true;
  value.text = std::move(text);
  return std::make_shared<const Value>(std::move(value));
}

// A number or a boolean, as it is written.
inline ValuePtr plainValue(std::string text) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.text = std::move(text);
  return std::make_shared<const Value>(std::move(value));
}

inline void addEntry(Value& mapping, std::string_view key, ValuePtr value) {
  mapping.kind = Value::Kind::mapping;
  mapping.entries.push_back({std::string(key), {}, std::move(value)});
}

}  // namespace weir::config
