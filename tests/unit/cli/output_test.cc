// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/table.h"

namespace weir::cli {
namespace {

TEST(Yaml, TextsThatLookLikeSomethingElseAreQuoted) {
  const Json value = Json::parse(
      R"({"a":"no","b":"010","c":"10.2.0.11","d":"web-a","e":[1,"x: y",[],{}],"f":{"g":null},
          "h":[{"i":true,"j":1.5}],"k":""})");
  EXPECT_EQ(toYaml(value),
            "a: \"no\"\nb: \"010\"\nc: \"10.2.0.11\"\nd: web-a\ne:\n  - 1\n  - \"x: y\"\n  - []\n"
            "  - {}\nf:\n  g: null\nh:\n  - i: true\n    j: 1.5\nk: \"\"\n");
}

TEST(TableText, ColumnsLineUp) {
  Table table({"NAME", "COUNT"});
  table.add({"a", "5"});
  table.add({"longer", "1000"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "NAME    COUNT\na           5\nlonger   1000\n");
}

TEST(TableText, NothingIsADashAndDoesNotStopNumbersFromStandingRight) {
  Table table({"A", "LOAD", "NOTE"});
  table.add({"10.2.0.11", "0.5", ""});
  table.add({"", "", "x"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "A          LOAD  NOTE\n10.2.0.11   0.5  -\n-             -  x\n");
}

TEST(TableText, ColourDoesNotMoveColumns) {
  Table table({"STATE", "X"});
  table.add({"HEALTHY", "a"});
  table.add({"UNHEALTHY", "b"});
  std::ostringstream out;
  table.print(out, true);
  EXPECT_EQ(out.str(), "STATE      X\n\x1b[32mHEALTHY\x1b[0m    a\n\x1b[31mUNHEALTHY\x1b[0m  b\n");
}

}  // namespace
}  // namespace weir::cli
