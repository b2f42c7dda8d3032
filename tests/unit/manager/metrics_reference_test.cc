// SPDX-License-Identifier: GPL-2.0-or-later
//
// docs/metrics.md and the dashboard speak of the metrics that are served, and of no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "managed.h"
#include "manager/metrics/metrics.h"

namespace weir::manager {
namespace {

const std::filesystem::path kRoot = WEIR_SOURCE_DIR;

std::string readAll(const std::filesystem::path& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream) << path;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// The first group of every match of `pattern`.
std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.insert((*match)[1]);
  return found;
}

// Of a node with everything at work.
std::set<std::string> served() {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::string text = renderMetrics(managed.manager, R"({
    "threads": [{"queue": 8100, "kernel": {"bound": true}}], "totals": {"packets": 1},
    "table": {"entries": 5},
    "services": [{"service": "web", "backends": [{"backend": "10.2.0.11"}]}]})",
                                         R"({"totals": {"open": 1}, "names": {},
    "services": [{"service": "shop", "groups": [{"group": "a"}]}]})");
  return matches(text, "# HELP (\\S+)");
}

TEST(MetricsReference, DocumentsWhatIsServed) {
  EXPECT_EQ(matches(readAll(kRoot / "docs/metrics.md"), "\\n\\| `(weir_\\w+)` \\|"), served());
}

TEST(MetricsReference, DashboardAsksForWhatIsServed) {
  const auto families = served();
  const auto asked =
      matches(readAll(kRoot / "packaging/grafana/weir.json"), "\\b(weir_\\w+?)(?:_bucket)?\\b");
  EXPECT_GT(asked.size(), 10u);
  for (const auto& name : asked) EXPECT_TRUE(families.contains(name)) << name;
}

}  // namespace
}  // namespace weir::manager
