// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::manager {

// Writes the Prometheus text format, version 0.0.4.
class MetricsText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;
  // Begins a metric family; `type` is "gauge", "counter" (then `name` ends in _total) or
  // "histogram".
  MetricsText& family(std::string_view name, std::string_view type, std::string_view help);
  // A sample of the family begun last.
  MetricsText& sample(std::initializer_list<Label> labels, double value);
  // One histogram of the family begun last. `counts`: of each bucket alone; one more than `bounds`.
  MetricsText& histogram(std::initializer_list<Label> labels, std::span<const double> bounds,
                         std::span<const std::uint64_t> counts, double sum);

  std::string take() && { return std::move(text_); }

 private:
  void appendSample(std::string_view suffix, std::span<const Label> labels, double value);

  std::string name_;
  std::string text_;
};

}  // namespace weir::manager
