// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/model.h"

namespace weir::config {

// Where one resource names another.
struct Reference {
  std::string_view collection;
  std::string name;
  std::string path;  // "backends[0].group"
};

// Every place of a configuration that names a resource; one that names itself is not counted.
std::vector<Reference> referencesTo(const Configuration& configuration, std::string_view collection,
                                    std::string_view name);

}  // namespace weir::config
