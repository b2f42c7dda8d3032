// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/table.h"

#include <algorithm>
#include <array>

namespace weir::cli {

namespace {

struct StateColor {
  std::string_view word;
  std::string_view color;  // SGR parameter
};
constexpr std::string_view kGreen = "32", kYellow = "33", kRed = "31";
constexpr std::array<StateColor, 10> kColors{{{"HEALTHY", kGreen},
                                              {"running", kGreen},
                                              {"connected", kGreen},
                                              {"DRAINING", kYellow},
                                              {"UNKNOWN", kYellow},
                                              {"stopped", kYellow},
                                              {"UNHEALTHY", kRed},
                                              {"TIMEOUT", kRed},
                                              {"absent", kRed},
                                              {"error", kRed}}};

bool isNumber(const std::string& cell) {
  return cell == "-" || (cell.find_first_not_of("0123456789.%") == std::string::npos &&
                         cell.find_first_of("0123456789") != std::string::npos &&
                         std::count(cell.begin(), cell.end(), '.') <= 1);
}

}  // namespace

std::string colored(std::string_view word) {
  for (const auto& [state, color] : kColors)
    if (state == word) return "\x1b[" + std::string(color) + "m" + std::string(word) + "\x1b[0m";
  return std::string(word);
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row)
    if (cell.empty()) cell = "-";
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out, bool color) const {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t width = header_[column].size();
    bool numbers = false;
    bool others = false;
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
      numbers = numbers || (isNumber(row[column]) && row[column] != "-");
      others = others || !isNumber(row[column]);
    }
    widths.push_back(width);
    numeric.push_back(numbers && !others);
  }
  const auto printRow = [&](const std::vector<std::string>& row, bool withColor) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - row[column].size(), ' ');
      const std::string cell = withColor ? colored(row[column]) : row[column];
      line += numeric[column] ? padding + cell : cell + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  printRow(header_, false);
  for (const auto& row : rows_) printRow(row, color);
}

}  // namespace weir::cli
