// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/table.h"

#include <algorithm>

namespace weir::cli {

namespace {

bool isNumber(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = header_[column].size();
    bool numbers = !rows_.empty();
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
      numbers = numbers && isNumber(row[column]);
    }
    widths.push_back(width);
    numeric.push_back(numbers);
  }
  const auto printRow = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - row[column].size(), ' ');
      line += numeric[column] ? padding + row[column] : row[column] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  printRow(header_);
  for (const auto& row : rows_) printRow(row);
}

}  // namespace weir::cli
