// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/value_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::manager {
namespace {

TEST(ValueJson, ComesBackAsItWas) {
  for (const char* text :
       {"null", "true", "0", "-1", "18446744073709551615", "0.5", R"("0.5")", R"("true")", "[]",
        "{}", R"({"a":[1,{"b":null}],"c":"\u00e9\n"})", R"({"z":1,"a":2})"}) {
    const auto value = valueFromJson(text);
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_EQ(jsonOf(**value), Json::parse(text)) << text;
  }
}

TEST(ValueJson, NumbersStayAsTheyAreWritten) {
  EXPECT_EQ((*valueFromJson("1e3"))->text, "1e3");
  EXPECT_EQ((*valueFromJson("0.10"))->text, "0.10");
  EXPECT_TRUE((*valueFromJson(R"("80")"))->quoted);
  EXPECT_FALSE((*valueFromJson("80"))->quoted);
}

TEST(ValueJson, WhatIsNotJsonIsRefused) {
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("{]"), std::string("01"),
        std::string("{'a':1}"), std::string("[1,]"), std::string("// x\n1"), std::string("1 2"),
        std::string("\"\xff\""), std::string("\"\xc0\xaf\""), std::string("\"\xed\xa0\x80\""),
        std::string("\"a\nb\""), std::string("NaN"), std::string("1e999"),
        std::string("\"\\ud800\""), std::string("\0", 1)})
    EXPECT_FALSE(valueFromJson(text).ok()) << text;
}

TEST(ValueJson, DuplicatesDepthAndSizeAreBounded) {
  EXPECT_THAT(valueFromJson(R"({"a":1,"a":2})").error().message,
              testing::HasSubstr("'a' is there twice"));
  EXPECT_TRUE(valueFromJson(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_THAT(valueFromJson(std::string(101, '[') + std::string(101, ']')).error().message,
              testing::HasSubstr("nested deeper"));
  EXPECT_FALSE(valueFromJson(std::string(4'000'000, '[')).ok());
  std::string many = "[0";
  for (std::size_t i = 0; i < kMaxBodyValues; ++i) many += ",0";
  EXPECT_THAT(valueFromJson(many + "]").error().message, testing::HasSubstr("more than"));
}

}  // namespace
}  // namespace weir::manager
