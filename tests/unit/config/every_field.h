// SPDX-License-Identifier: GPL-2.0-or-later
//
// Configurations in which every declared field is written, as values that can be changed one by one
// and as YAML whose places are known.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/schema.h"

namespace weir::config::test {

using Json = nlohmann::ordered_json;

// Valid, and together they have every field that is read.
const std::vector<Json>& fullConfigurations();

// A declared field and where it is written.
struct Field {
  const FieldInfo* info;
  std::string pattern;  // "/backendServices/*/backends/*/group"
  const Json* document = nullptr;
  Json::json_pointer pointer;  // in the document; for fields that are not read, where one would be
};
// Every declared field. Fails the test when one that is read is nowhere in fullConfigurations().
std::vector<Field> allFields();

// A value that stands in YAML as it is, not as JSON would write it.
Json raw(const std::string& yaml);

struct Place {
  unsigned line = 0;
  unsigned column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// A document as YAML in block style.
struct Written {
  std::string text;
  std::map<std::string, Place> keys;    // by JSON pointer
  std::map<std::string, Place> values;  // a block begins at its first key or dash
};
// `repeated`, unless empty: the key at this pointer is written again at the end of its mapping, and
// its place in `keys` is that of the second.
Written write(const Json& document, const std::string& repeated = "");

}  // namespace weir::config::test
