// SPDX-License-Identifier: GPL-2.0-or-later
//
// A YAML document as weir reads it: every scalar is text until somebody asks for a number, every
// value knows its place. Values that anchors share are shared here too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/problems.h"
#include "config/text.h"

namespace YAML {
class Node;
}

namespace weir::config {

struct Value;
using ValuePtr = std::shared_ptr<const Value>;

struct Value {
  enum class Kind : std::uint8_t { null, scalar, sequence, mapping };
  struct Entry {
    std::string key;
    Mark mark;  // of the key
    ValuePtr value;
  };

  Kind kind = Kind::null;
  bool quoted = false;  // a scalar that cannot be anything but text
  Mark mark;
  std::string text;             // of a scalar
  std::vector<ValuePtr> items;  // of a sequence
  std::vector<Entry> entries;   // of a mapping, keys unique

  // Bounds that the parser keeps: values below this one, itself and the expansion of aliases
  // included, and levels.
  std::size_t size = 1;
  unsigned height = 1;

  // nullptr: no such key.
  const Entry* find(std::string_view key) const noexcept;
  // "a list", "nothing", "'text'": for messages.
  std::string describe() const;
};

inline constexpr unsigned kMaxDepth = 100;
inline constexpr std::size_t kMaxValues = 1'000'000;

struct Documents {
  std::vector<ValuePtr> values;
  bool complete = true;  // false: there is an error in the text, what follows it was not read
};

// Every document of a text. Reports syntax errors, duplicate keys, and what weir does not accept
// of YAML: tags, merge keys, keys that are not text, nesting deeper than kMaxDepth, documents of
// more than kMaxValues values once their aliases are expanded.
Documents parse(const Text& text, Problems& problems);

// A node that yaml-cpp made of the same text, with the same checks; nullptr: it was refused.
ValuePtr fromYaml(const YAML::Node& node, const Text& text, Problems& problems);

}  // namespace weir::config
