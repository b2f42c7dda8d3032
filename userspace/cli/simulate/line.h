// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

// What a simulation prints for a packet (C3). Empty fields are left out.
struct Line {
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

  // The field of that name; nullptr: there is none, or it is not text.
  const std::string* field(std::string_view name) const noexcept;
};

// Appends the line as a JSON object and a line end; numbers as they are written by hand (1, 1.5).
// No field needs escaping: they are names, addresses and words of weir's own.
void appendJson(const Line&, std::string& out);

}  // namespace weir::cli
