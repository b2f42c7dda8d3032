// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

// Columns as wide as their widest cell, two spaces apart; columns of nothing but numbers (and "-"
// for none) at the right. Cells are ASCII.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  // As many cells as the header has. An empty cell is shown as "-".
  void add(std::vector<std::string> row);
  bool empty() const noexcept { return rows_.empty(); }
  // `color`: words of states are coloured.
  void print(std::ostream&, bool color = false) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// A word in its colour: green for HEALTHY and the like, yellow for DRAINING and the like, red for
// UNHEALTHY and the like; other words as they are.
std::string colored(std::string_view word);

}  // namespace weir::cli
