// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/answer.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::manager {

std::ostream& operator<<(std::ostream& out, const ReportedWeight& weight) {
  return out << "kind " << static_cast<int>(weight.kind) << ", " << weight.value;
}

namespace {

using WeightKind = ReportedWeight::Kind;

TEST(Answer, H5_BeginsWithExactlyTheResponse) {
  EXPECT_EQ(matchBeginning("", "PONG"), Match::needMore);
  EXPECT_EQ(matchBeginning("PO", "PONG"), Match::needMore);
  EXPECT_EQ(matchBeginning("PONG", "PONG"), Match::yes);
  EXPECT_EQ(matchBeginning("PONG and more", "PONG"), Match::yes);
  EXPECT_EQ(matchBeginning("PX", "PONG"), Match::no);
  EXPECT_EQ(matchBeginning(" PONG", "PONG"), Match::no);
}

TEST(Answer, H4_OnlyTheFirst1024BytesAreSearched) {
  const std::string inside = std::string(1020, '.') + "good" + std::string(100, '.');
  const std::string beyond = std::string(1021, '.') + "good" + std::string(100, '.');
  EXPECT_TRUE(bodyContains(inside, "good"));
  EXPECT_FALSE(bodyContains(beyond, "good"));
  EXPECT_TRUE(bodyContains("", ""));
}

TEST(Answer, P9_1_Weight0To1000) {
  EXPECT_EQ(parseWeight("0"), (ReportedWeight{WeightKind::value, 0}));
  EXPECT_EQ(parseWeight(" 1000\r\n"), (ReportedWeight{WeightKind::value, 1000}));
}

TEST(Answer, P9_2_MissingAndInvalidWeights) {
  EXPECT_EQ(parseWeight(std::nullopt).kind, WeightKind::missing);
  for (const char* text :
       {"", " ", "1001", "-1", "+5", "1.5", "0x10", "ten", "5 6", "99999999999999999999"})
    EXPECT_EQ(parseWeight(text).kind, WeightKind::invalid) << text;
}

TEST(Answer, HeaderNamesIgnoreCase) {
  EXPECT_TRUE(sameName("x-load-balancing-endpoint-weight", kWeightHeader));
  EXPECT_FALSE(sameName("X-Load-Balancing-Endpoint-Weights", kWeightHeader));
  EXPECT_FALSE(sameName("", kWeightHeader));
}

TEST(Answer, WhatAPeerSaidIsQuotedShortAndPrintable) {
  EXPECT_EQ(quotable("a\r\nb\x1b[0m\xff"), "a??b?[0m?");
  EXPECT_EQ(quotable(std::string(200, 'x')), std::string(100, 'x') + "...");
}

TEST(Answer, H9_UnhealthyIfAnyAddressFails) {
  const auto combine = [](std::initializer_list<Health> states) {
    return combineHealth(std::vector<Health>(states));
  };
  EXPECT_EQ(combine({Health::healthy, Health::healthy}), Health::healthy);
  EXPECT_EQ(combine({Health::healthy, Health::unhealthy}), Health::unhealthy);
  EXPECT_EQ(combine({Health::timeout, Health::healthy}), Health::timeout);
  EXPECT_EQ(combine({Health::timeout, Health::unhealthy}), Health::unhealthy);
  EXPECT_EQ(combine({Health::healthy, Health::unknown}), Health::unknown);
  EXPECT_EQ(combine({Health::unknown, Health::timeout}), Health::timeout);
}

TEST(Answer, P9_2_OneInvalidWeightIsNotHiddenByAnotherAddress) {
  const ReportedWeight five{WeightKind::value, 5}, seven{WeightKind::value, 7};
  const ReportedWeight invalid{WeightKind::invalid, 0}, missing{WeightKind::missing, 0};
  const ReportedWeight unavailable{WeightKind::unavailable, 0};
  EXPECT_EQ(combineWeights(std::array{five, invalid, missing}), invalid);
  EXPECT_EQ(combineWeights(std::array{five, missing}), missing);
  EXPECT_EQ(combineWeights(std::array{seven, five, unavailable}), five);
  EXPECT_EQ(combineWeights(std::array{unavailable}), unavailable);
}

}  // namespace
}  // namespace weir::manager
