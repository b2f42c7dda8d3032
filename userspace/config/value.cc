// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/value.h"

#include "config/words.h"

namespace weir::config {

const Value::Entry* Value::find(std::string_view key) const noexcept {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

std::string Value::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return quote(text);
    case Kind::sequence:
      return "a list";
    case Kind::mapping:
      return "a mapping";
  }
  return "nothing";
}

}  // namespace weir::config
