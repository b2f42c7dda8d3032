// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace weir::cli {

// Columns as wide as their widest cell, two spaces apart, numbers at the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  // As many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream&) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir::cli
