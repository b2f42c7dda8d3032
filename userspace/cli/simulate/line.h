// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

// What a simulation prints for a packet, a connection or a load (C3). Empty fields are left out.
struct Line {
  // How much of a load lies on a group.
  struct Group {
    std::string name;
    double connections = 0;
    double capacity = 0;
    double usable = 0;
    double fill = 0;
    bool drained = false;
  };
  struct Load {
    std::vector<Group> groups;  // in the order of the configuration
    double unserved = 0;
  };

  std::size_t event = 0;
  double at = 0;
  std::string action;
  std::string service;
  std::string forwardingRule;
  std::string route;
  std::string group;
  std::string endpoint;
  std::string connection;
  std::string rule;
  std::string reason;
  std::optional<Load> load;

  // The field of that name; nullptr: there is none, or it is not text.
  const std::string* field(std::string_view name) const noexcept;
};

// Appends the line as a JSON object and a line end; times as they are written by hand (1, 1.5),
// what is measured with a fraction (1.0).
// No field needs escaping: they are names, addresses and words of weir's own.
void appendJson(const Line&, std::string& out);

}  // namespace weir::cli
