// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/text.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

namespace weir::manager {

namespace {

void appendEscaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, std::string_view type,
                                 std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  return *this;
}

MetricsText& MetricsText::sample(std::initializer_list<Label> labels, double value) {
  appendSample("", std::span(labels.begin(), labels.size()), value);
  return *this;
}

MetricsText& MetricsText::histogram(std::initializer_list<Label> labels,
                                    std::span<const double> bounds,
                                    std::span<const std::uint64_t> counts, double sum) {
  std::vector<Label> bucketLabels(labels);
  bucketLabels.emplace_back("le", "");
  std::uint64_t upToHere = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    upToHere += counts[i];
    const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
    bucketLabels.back().second = bound;
    appendSample("_bucket", bucketLabels, static_cast<double>(upToHere));
  }
  appendSample("_sum", std::span(labels.begin(), labels.size()), sum);
  appendSample("_count", std::span(labels.begin(), labels.size()), static_cast<double>(upToHere));
  return *this;
}

void MetricsText::appendSample(std::string_view suffix, std::span<const Label> labels,
                               double value) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) {
    text_ += '{';
    bool first = true;
    for (const auto& [key, labelValue] : labels) {
      if (!std::exchange(first, false)) text_ += ',';
      text_ += key;
      text_ += "=\"";
      appendEscaped(text_, labelValue);
      text_ += '"';
    }
    text_ += '}';
  }
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

}  // namespace weir::manager
