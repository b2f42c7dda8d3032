// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/values.h"

#include <gtest/gtest.h>

namespace weir::cli {
namespace {

Json read(Value type, const std::string& text) {
  const Flag flag{.name = "--x", .value = "X", .help = "", .type = type};
  const auto value = readValue(flag, text);
  return value ? *value : Json("error: " + value.error().message);
}

TEST(Durations, AsGcloudTakesThem) {
  EXPECT_EQ(parseSeconds("30"), 30u);
  EXPECT_EQ(parseSeconds("0s"), 0u);
  EXPECT_EQ(parseSeconds("90s"), 90u);
  EXPECT_EQ(parseSeconds("5m"), 300u);
  EXPECT_EQ(parseSeconds("1h30m"), 5400u);
  EXPECT_EQ(parseSeconds("1d2h3m4s"), 93784u);
  for (const char* bad : {"", "s", "1x", "1.5s", "-1s", "1s1s", "1s1m", "1h30", "1 s", "+1",
                          "99999999999999999999", "1S"})
    EXPECT_EQ(parseSeconds(bad), std::nullopt) << bad;
}

TEST(Values, AWordThatIsNoChoiceStaysAsTyped) {
  const Flag flag{.name = "--x",
                  .value = "X",
                  .help = "",
                  .type = Value::word,
                  .choices = {"NONE", "CLIENT_IP"}};
  EXPECT_EQ(readValue(flag, "client-ip").value(), "CLIENT_IP");
  EXPECT_EQ(readValue(flag, "foo-Bar").value(), "foo-Bar");
}

TEST(Values, SecondsAreWhole) {
  EXPECT_EQ(read(Value::seconds, "0.5"),
            "error: --x must be a duration such as 30s, 5m, 1h30m, or a whole number of seconds, "
            "not '0.5'");
}

TEST(Values, AreReadByTheirType) {
  EXPECT_EQ(read(Value::text, "a b"), "a b");
  EXPECT_EQ(read(Value::word, "client-ip"), "CLIENT_IP");
  EXPECT_EQ(read(Value::number, "65535"), 65535);
  EXPECT_EQ(read(Value::decimal, "0.5"), 0.5);
  EXPECT_EQ(read(Value::decimal, "1"), 1);
  EXPECT_EQ(read(Value::names, "a,b"), Json::array({"a", "b"}));
  EXPECT_EQ(read(Value::ports, "80,443")["ports"], Json::array({80, 443}));
  EXPECT_EQ(read(Value::ports, "8000-8999")["portRange"], "8000-8999");
  EXPECT_EQ(read(Value::ports, "all")["allPorts"], true);
  EXPECT_EQ(read(Value::ports, "all")["ports"], nullptr);
  EXPECT_EQ(read(Value::endpoint, "ip=10.0.0.1,port=80"),
            Json({{"ipAddress", "10.0.0.1"}, {"port", 80}}));
  EXPECT_EQ(read(Value::endpoint, "ip=fd00::1"), Json({{"ipv6Address", "fd00::1"}}));
}

TEST(Values, WhatIsWrongIsSaidWithWhatIsAllowed) {
  EXPECT_EQ(read(Value::number, "-1"), "error: --x must be a whole number, not '-1'");
  EXPECT_EQ(read(Value::number, "1e3"), "error: --x must be a whole number, not '1e3'");
  EXPECT_EQ(read(Value::decimal, "1.2.3"), "error: --x must be a number such as 0.5, not '1.2.3'");
  EXPECT_EQ(read(Value::names, "a,,b"), "error: --x: an empty item in 'a,,b'; write a,b,c");
  EXPECT_EQ(read(Value::ports, "80,x"),
            "error: --x must be ports such as 80,443, a range such as 8000-8999, or ALL, not "
            "'80,x'");
  EXPECT_EQ(read(Value::endpoint, "ip=10.0.0.1,prot=80"),
            "error: --x: unknown key 'prot' (did you mean 'port'?); allowed are ip, ipv6, port, "
            "fqdn, instance and weight");
  EXPECT_EQ(read(Value::endpoint, "ip=ten"), "error: --x: ip must be an address, not 'ten'");
  EXPECT_EQ(read(Value::endpoint, "port="), "error: --x: port needs a value: port=...");
  EXPECT_EQ(read(Value::endpoint, "port=1,port=2"), "error: --x: port is given twice");
  EXPECT_EQ(read(Value::text, ""), "error: --x must not be empty");
}

TEST(Values, SwitchesCanSayTheOpposite) {
  EXPECT_EQ(switchValue(Value::onOff, false), true);
  EXPECT_EQ(switchValue(Value::onOff, true), false);
  EXPECT_EQ(switchValue(Value::offOn, false), false);
  EXPECT_EQ(switchValue(Value::offOn, true), true);
  EXPECT_EQ(switchValue(Value::reset, false), nullptr);
}

}  // namespace
}  // namespace weir::cli
