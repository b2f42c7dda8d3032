// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/load_metrics.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "manager/health/answer.h"

namespace weir::manager {

namespace {

constexpr std::string_view kCpu = "cpu_utilization";
constexpr std::string_view kApplication = "application_utilization";

struct Metrics {
  std::optional<double> cpu, application;

  // False: the metric is of interest and its value is not one.
  bool take(std::string_view name, double value) {
    if (!std::isfinite(value) || value < 0) return false;
    auto* const metric = name == kCpu ? &cpu : name == kApplication ? &application : nullptr;
    if (metric == nullptr) return true;
    if (*metric) return false;  // twice
    *metric = value;
    return true;
  }
  std::optional<double> utilization() const {
    return application && *application > 0 ? application : cpu ? cpu : application;
  }
};

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parseText(std::string_view text) {
  Metrics metrics;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    const auto value = decimal(trimmed(item.substr(equals + 1)));
    if (!value || !metrics.take(trimmed(item.substr(0, equals)), *value)) return std::nullopt;
    if (comma == std::string_view::npos) return metrics.utilization();
    text.remove_prefix(comma + 1);
  }
}

std::optional<double> parseJson(std::string_view text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  if (!report.is_object()) return std::nullopt;
  Metrics metrics;
  // JSON made from the protocol buffer may have either spelling.
  for (const auto& [key, name] : {std::pair{"cpu_utilization", kCpu},
                                  {"cpuUtilization", kCpu},
                                  {"application_utilization", kApplication},
                                  {"applicationUtilization", kApplication}}) {
    const auto found = report.find(key);
    if (found == report.end()) continue;
    if (!found->is_number() || !metrics.take(name, found->get<double>())) return std::nullopt;
  }
  return metrics.utilization();
}

}  // namespace

std::optional<double> parseUtilization(std::string_view value) {
  value = trimmed(value);
  if (value.size() > kLongestLoadMetrics) return std::nullopt;
  if (value.starts_with("JSON ")) return parseJson(value.substr(5));
  if (value.starts_with("TEXT ")) value.remove_prefix(5);
  return parseText(value);
}

}  // namespace weir::manager
