// SPDX-License-Identifier: GPL-2.0-or-later
//
// What differs between two configurations, resource by resource and field by field.
#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "weir/model.h"

namespace weir::config {

struct FieldDifference {
  // Items of lists that have an identity are named by it: "endpoints[10.2.0.12]",
  // "backends[web-a]".
  std::string path;
  ValuePtr before, after;  // nullptr: at its default, or not there
};

struct ResourceDifference {
  std::string collection;  // "node" for the node's settings, as is the name then
  std::string name;
  ValuePtr before, after;               // in normal form; nullptr: there is none
  std::vector<FieldDifference> fields;  // when it is there before and after
};

// Both are valid as a whole. The order of resources does not matter.
std::vector<ResourceDifference> differences(const Configuration& before,
                                            const Configuration& after);

}  // namespace weir::config
