// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <sstream>

#include "managed.h"
#include "manager/metrics/text.h"

namespace weir::manager {
namespace {

using testing::HasSubstr;

TEST(MetricsText, LabelValuesAreEscaped) {
  MetricsText text;
  text.family("weir_x", "gauge", "Help.").sample({{"a", "q\"b\\c\nd"}, {"b", ""}}, 1.5);
  EXPECT_EQ(std::move(text).take(),
            "# HELP weir_x Help.\n# TYPE weir_x gauge\nweir_x{a=\"q\\\"b\\\\c\\nd\",b=\"\"} 1.5\n");
}

TEST(MetricsText, HistogramSumsUpFromTheFirstBucket) {
  MetricsText text;
  const std::array<double, 2> bounds{0.001, 0.25};
  const std::array<std::uint64_t, 3> counts{2, 1, 4};
  text.family("weir_x", "histogram", "Help.").histogram({{"a", "b"}}, bounds, counts, 7.5);
  EXPECT_EQ(std::move(text).take(),
            "# HELP weir_x Help.\n# TYPE weir_x histogram\n"
            "weir_x_bucket{a=\"b\",le=\"0.001\"} 2\n"
            "weir_x_bucket{a=\"b\",le=\"0.25\"} 3\n"
            "weir_x_bucket{a=\"b\",le=\"+Inf\"} 7\n"
            "weir_x_sum{a=\"b\"} 7.5\nweir_x_count{a=\"b\"} 7\n");
}

// The family that a sample's line belongs to by its name.
std::string familyOf(const std::string& line, const std::string& type) {
  std::string name = line.substr(0, line.find_first_of("{ "));
  if (type != "histogram") return name;
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

// Every sample belongs to the family begun last, no family and no series stands twice, counters
// end in _total.
void checkFormat(const std::string& text) {
  std::istringstream lines(text);
  std::set<std::string> families, series;
  std::string family, type;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, third, fourth;
    words >> first >> second >> third >> fourth;
    if (first == "#" && second == "HELP") {
      EXPECT_TRUE(families.insert(third).second) << third;
      EXPECT_THAT(third, testing::StartsWith("weir_"));
      family = third;
    } else if (first == "#") {
      EXPECT_EQ(third, family);
      type = fourth;
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << family;
    } else {
      EXPECT_EQ(familyOf(line, type), family);
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 10u);
}

TEST(Metrics, ServicesAndBackends) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::string text = renderMetrics(managed.manager, std::nullopt);
  checkFormat(text);
  EXPECT_THAT(text, HasSubstr("weir_build_info{version=\"" WEIR_VERSION "\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_service_backends{service=\"web\",state=\"UNKNOWN\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_service_eligible_backends{service=\"web\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_service_last_resort{service=\"web\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_engine_up 0\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_snapshot_age_seconds 0"));
}

TEST(Metrics, TheEnginesCountersArePassedThrough) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::string text = renderMetrics(managed.manager, R"({
    "threads": [{"queue": 8100, "kernel": {"bound": true, "waiting": 2, "dropped": 3,
                 "userDropped": 4}}],
    "totals": {"packets": 10, "bytes": 900, "forwarded": {"new": 1, "known": 5, "related": 0},
               "passed": 1, "dropped": {"no_eligible_backend": 2}, "malformed": {"truncated": 1}},
    "table": {"entries": 5, "capacity": 100},
    "services": [{"service": "web", "new": 1, "known": 5, "related": 0, "dropped": 2,
                  "bytes": 700, "backends": [{"group": "web-a", "backend": "10.2.0.11", "new": 1,
                                              "packets": 6, "bytes": 700}]}]})");
  checkFormat(text);
  for (const char* line : {"weir_engine_up 1", "weir_packets_total 10",
                           "weir_packets_dropped_total{reason=\"no_eligible_backend\"} 2",
                           "weir_packets_malformed_total{reason=\"truncated\"} 1",
                           "weir_queue_bound{queue=\"8100\"} 1",
                           "weir_queue_dropped_total{queue=\"8100\",reason=\"socket_full\"} 4",
                           "weir_tracking_entries 5",
                           "weir_service_packets_total{service=\"web\",connection=\"known\"} 5",
                           "weir_service_bytes_total{service=\"web\"} 700",
                           "weir_backend_packets_total{service=\"web\",group=\"web-a\","
                           "backend=\"10.2.0.11\"} 6"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
}

TEST(Metrics, TheProxysCountersArePassedThrough) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::string text = renderMetrics(managed.manager, std::nullopt, R"({
    "totals": {"open": 3, "accepted": 9, "bytesUp": 70,
               "closed": {"": 5, "connection_timeout": 1}},
    "services": [{"service": "shop", "groups": [{"group": "a", "connections": 3, "usable": 100,
                                                 "fill": 0.03}]}]})");
  checkFormat(text);
  for (const char* line : {"weir_proxy_up 1", "weir_proxy_connections 3",
                           "weir_proxy_closed_total{reason=\"connection_timeout\"} 1",
                           "weir_proxy_bytes_total{direction=\"to_backend\"} 70",
                           "weir_proxy_group_fill{service=\"shop\",group=\"a\"} 0.03"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  EXPECT_THAT(renderMetrics(managed.manager, std::nullopt, "[]"), HasSubstr("weir_proxy_up 0\n"));
}

TEST(Metrics, AnAnswerThatIsNoneIsAnEngineThatIsDown) {
  Managed managed(webConfiguration(1));
  managed.start();
  for (const char* answer : {"", "[]", "{", "7"})
    EXPECT_THAT(renderMetrics(managed.manager, answer), HasSubstr("weir_engine_up 0\n"));
  checkFormat(renderMetrics(managed.manager, "{}"));
}

}  // namespace
}  // namespace weir::manager
