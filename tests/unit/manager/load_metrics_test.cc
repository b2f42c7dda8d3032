// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/load_metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::manager {
namespace {

struct Reading {
  const char* value;
  std::optional<double> utilization;
};

class LoadMetrics : public testing::TestWithParam<Reading> {};

TEST_P(LoadMetrics, H13_Utilization) {
  const auto read = parseUtilization(GetParam().value);
  EXPECT_EQ(read, GetParam().utilization) << GetParam().value;
}

INSTANTIATE_TEST_SUITE_P(
    Text, LoadMetrics,
    testing::Values(Reading{"TEXT cpu_utilization=0.3", 0.3},
                    Reading{"cpu_utilization=0.3", 0.3},  // without a prefix
                    Reading{"TEXT cpu_utilization=0.3,application_utilization=0.5", 0.5},
                    Reading{"TEXT application_utilization=0.5, cpu_utilization=0.3", 0.5},
                    Reading{"TEXT cpu_utilization=0.3,application_utilization=0", 0.3},
                    Reading{"TEXT application_utilization=0", 0.0},
                    Reading{" TEXT  cpu_utilization = 0.3 \r\n", 0.3},
                    Reading{"TEXT cpu_utilization=1.75", 1.75},  // overload
                    Reading{"TEXT cpu_utilization=2e-1", 0.2},
                    Reading{"TEXT mem_utilization=0.9,named_metrics.queue=17,cpu_utilization=0",
                            0.0},
                    Reading{"TEXT mem_utilization=0.9", std::nullopt}));

INSTANTIATE_TEST_SUITE_P(
    Json, LoadMetrics,
    testing::Values(Reading{R"(JSON {"cpu_utilization": 0.3})", 0.3},
                    Reading{R"(JSON {"cpu_utilization":0.3,"application_utilization":0.5})", 0.5},
                    Reading{R"(JSON {"cpuUtilization": 1, "namedMetrics": {"a": 1}})", 1.0},
                    Reading{R"(JSON {"cpu_utilization": 0.3, "request_cost": {"x": []}})", 0.3},
                    Reading{R"(JSON {})", std::nullopt}));

// A report is believed as a whole or not at all.
INSTANTIATE_TEST_SUITE_P(
    Garbage, LoadMetrics,
    testing::Values(Reading{"", std::nullopt}, Reading{"TEXT", std::nullopt},
                    Reading{"TEXT ", std::nullopt}, Reading{"TEXT =0.3", std::nullopt},
                    Reading{"TEXT cpu_utilization", std::nullopt},
                    Reading{"TEXT cpu_utilization=", std::nullopt},
                    Reading{"TEXT cpu_utilization=30%", std::nullopt},
                    Reading{"TEXT cpu_utilization=-0.1", std::nullopt},
                    Reading{"TEXT cpu_utilization=nan", std::nullopt},
                    Reading{"TEXT cpu_utilization=inf", std::nullopt},
                    Reading{"TEXT cpu_utilization=1e999", std::nullopt},
                    Reading{"TEXT cpu_utilization=+1", std::nullopt},
                    Reading{"TEXT cpu_utilization=0.3,", std::nullopt},
                    Reading{"TEXT cpu_utilization=0.3,cpu_utilization=0.4", std::nullopt},
                    Reading{"TEXT cpu_utilization=0.3;application_utilization=1", std::nullopt},
                    Reading{"TEXT cpu_utilization=0.3,broken", std::nullopt},
                    Reading{"BIN CQAAAAAAAPA/", std::nullopt}, Reading{"JSON", std::nullopt},
                    Reading{"JSON {", std::nullopt}, Reading{"JSON [0.3]", std::nullopt},
                    Reading{R"(JSON {"cpu_utilization": "0.3"})", std::nullopt},
                    Reading{R"(JSON {"cpu_utilization": -1})", std::nullopt},
                    Reading{R"(JSON {"cpu_utilization": 1e999})", std::nullopt},
                    Reading{R"(JSON {"cpu_utilization": 0.3} trailing)", std::nullopt},
                    Reading{R"(JSON {"cpu_utilization": 0.3, "cpuUtilization": 0.4})",
                            std::nullopt}));

TEST(LoadMetricsBounds, H13_LongValuesAreNotRead) {
  const std::string report = "TEXT cpu_utilization=0.3";
  EXPECT_TRUE(parseUtilization(report));
  EXPECT_FALSE(parseUtilization(report + std::string(kLongestLoadMetrics, '0')));
  EXPECT_FALSE(parseUtilization("JSON " + std::string(kLongestLoadMetrics - 5, '[')));
}

}  // namespace
}  // namespace weir::manager
