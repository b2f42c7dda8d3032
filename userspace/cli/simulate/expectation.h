// SPDX-License-Identifier: GPL-2.0-or-later
//
// `expect` of a scenario (C3): what lines are to look like.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/simulate/line.h"
#include "config/schema.h"

namespace weir::cli {

struct Expectation {
  config::Mark place;
  std::size_t event = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // name -> wanted value
  std::optional<double> at;
  std::vector<std::string> in;  // endpoints, one of them; empty: not asked
  std::optional<std::size_t> sameAs;
  std::optional<std::size_t> differsFrom;
  // Of a load; numbers within 2%.
  struct Group {
    std::optional<double> connections, capacity, usable, fill;
    std::optional<bool> drained;
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::map<std::string, Group> groups;  // `approx` gives the connections alone
  std::optional<double> unserved;
};

// Reads an item of `expect`; reports what is wrong with it and returns nullopt then.
std::optional<Expectation> readExpectation(const config::Value&, config::Reader&);

// Lines by event; those of every event that an expectation mentions.
using Lines = std::map<std::size_t, Line>;
// What differs, each in words; empty: all is as expected.
std::vector<std::string> differences(const Expectation&, const Lines&);

}  // namespace weir::cli
