// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/address.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

TEST(Address, Ipv4TextIsStrict) {
  EXPECT_EQ(Address::parse("10.2.0.11"), Address::ipv4(0x0a02000b));
  EXPECT_EQ(Address::parse("0.0.0.0"), Address::ipv4(0));
  EXPECT_EQ(Address::parse("255.255.255.255"), Address::ipv4(0xffffffff));
  for (const char* text :
       {"", "10", "10.2.0", "10.2.0.", ".10.2.0", "10.2.0.11.", "10.2.0.11.1", "10.2.0.256",
        "10.2.0.011", "10.2.0.00", "10.2.0.0x1", " 10.2.0.1", "10.2.0.1 ", "10.2.0.-1", "+1.2.3.4",
        "10..0.1", "1e1.0.0.1", "10.2.0.1/32", "1000.2.0.1"}) {
    EXPECT_EQ(Address::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(Address::parse(std::string_view("10.2.0.1\0", 9)), std::nullopt);
}

TEST(Address, Ipv6TextIsStrict) {
  EXPECT_EQ(Address::parse("::"), Address{});
  EXPECT_EQ(Address::parse("::1"), Address::ipv6(0, 1));
  EXPECT_EQ(Address::parse("fd00::"), Address::ipv6(0xfd00ull << 48, 0));
  EXPECT_EQ(Address::parse("2001:DB8:0:0:8:800:200C:417A"),
            Address::ipv6(0x20010db800000000ull, 0x00080800200c417aull));
  EXPECT_EQ(Address::parse("1:2:3:4:5:6:7::"), Address::parse("1:2:3:4:5:6:7:0"));
  EXPECT_EQ(Address::parse("::2:3:4:5:6:7:8"), Address::parse("0:2:3:4:5:6:7:8"));
  EXPECT_EQ(Address::parse("64:ff9b::192.0.2.33"),
            Address::ipv6(0x0064ff9b00000000ull, 0xc0000221));
  EXPECT_EQ(Address::parse("1:2:3:4:5:6:7.8.9.10"), Address::parse("1:2:3:4:5:6:708:90a"));
  for (const char* text : {":",
                           ":::",
                           "1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "1::2::3",
                           "::1:2:3:4:5:6:7:8",
                           "1:2:3:4::5:6:7:8",
                           "1:",
                           ":1",
                           "1:2:3:4:5:6:7:",
                           ":1:2:3:4:5:6:7",
                           "12345::",
                           "g::",
                           "::1%eth0",
                           "fe80::1%2",
                           "[::1]",
                           "::1 ",
                           " ::1",
                           "::1/128",
                           "1.2.3.4::",
                           "::1.2.3",
                           "::1.2.3.4:5",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "::01.2.3.4",
                           "-1::",
                           "+1::",
                           "0x1::"}) {
    EXPECT_EQ(Address::parse(text), std::nullopt) << text;
  }
}

TEST(Address, MappedFormIsRefused) {
  for (const char* text :
       {"::ffff:10.0.0.1", "::ffff:a00:1", "0:0:0:0:0:ffff:a00:1", "::FFFF:0:0"}) {
    EXPECT_EQ(Address::parse(text), std::nullopt) << text;
  }
  EXPECT_NE(Address::parse("::fffe:10.0.0.1"), std::nullopt);
  EXPECT_NE(Address::parse("::1:ffff:10.0.0.1"), std::nullopt);
}

TEST(Address, FamiliesNeverMeet) {
  EXPECT_EQ(Address::parse("1.2.3.4")->family(), Family::ipv4);
  EXPECT_EQ(Address::parse("::1.2.3.4")->family(), Family::ipv6);
  EXPECT_NE(Address::parse("1.2.3.4"), Address::parse("::1.2.3.4"));
}

TEST(Address, TextIsRfc5952) {
  const std::pair<const char*, const char*> cases[] = {
      {"0.0.0.0", "0.0.0.0"},
      {"192.0.2.1", "192.0.2.1"},
      {"::", "::"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"1:0:0:0:0:0:0:0", "1::"},
      {"2001:0DB8::0001", "2001:db8::1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // 4.2.2: not one group
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // 4.2.3: the longest
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // 4.2.3: the first
      {"0:0:1:0:0:0:0:0", "0:0:1::"},
      {"0:1:2:3:4:5:6:0", "0:1:2:3:4:5:6:0"},
      {"ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"},
      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
  };
  for (const auto& [text, canonical] : cases) {
    ASSERT_NE(Address::parse(text), std::nullopt) << text;
    EXPECT_EQ(Address::parse(text)->toString(), canonical);
  }
}

TEST(Address, BytesAreInNetworkOrder) {
  const std::array<std::uint8_t, 16> ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 2, 0, 11};
  EXPECT_EQ(Address::parse("10.2.0.11")->bytes(), ipv4);
  const std::array<std::uint8_t, 16> ipv6{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2};
  EXPECT_EQ(Address::parse("2001:db8::102")->bytes(), ipv6);
}

TEST(Prefix, TextIsStrict) {
  EXPECT_EQ(Prefix::parse("10.1.0.0/16"), Prefix(Address::ipv4(0x0a010000), 16));
  EXPECT_EQ(Prefix::parse("10.1.0.5"), Prefix(Address::ipv4(0x0a010005), 32));
  EXPECT_EQ(Prefix::parse("0.0.0.0/0"), Prefix(Address::ipv4(0), 0));
  EXPECT_EQ(Prefix::parse("fd00::/8"), Prefix(Address::ipv6(0xfd00ull << 48, 0), 8));
  EXPECT_EQ(Prefix::parse("::1"), Prefix(Address::ipv6(0, 1), 128));
  EXPECT_EQ(Prefix::parse("2001:db8::8000:0:0:0/65")->length(), 65u);
  for (const char* text : {"10.1.0.5/16", "10.1.0.0/33", "10.1.0.0/", "10.1.0.0/016", "10.1.0.0/-1",
                           "10.1.0.0/16/16", "/16", "", "fd00::1/8", "fd00::/129", "::/0 ",
                           "10.1.0.0 /16", "1.2.3.4/0", "2001:db8::1:0/111", "fd00::/+8"}) {
    EXPECT_EQ(Prefix::parse(text), std::nullopt) << text;
  }
}

TEST(Prefix, ContainsOnlyItsFamily) {
  EXPECT_TRUE(Prefix::parse("10.1.0.0/16")->contains(*Address::parse("10.1.255.255")));
  EXPECT_FALSE(Prefix::parse("10.1.0.0/16")->contains(*Address::parse("10.2.0.0")));
  EXPECT_TRUE(Prefix::parse("0.0.0.0/0")->contains(*Address::parse("203.0.113.1")));
  EXPECT_FALSE(Prefix::parse("0.0.0.0/0")->contains(*Address::parse("::")));
  EXPECT_TRUE(Prefix::parse("::/0")->contains(*Address::parse("ffff::")));
  EXPECT_FALSE(Prefix::parse("::/0")->contains(*Address::parse("203.0.113.1")));
  EXPECT_TRUE(Prefix::parse("2001:db8::/64")->contains(*Address::parse("2001:db8::ffff:0:0:1")));
  EXPECT_FALSE(Prefix::parse("2001:db8::/64")->contains(*Address::parse("2001:db8:0:1::")));
  EXPECT_TRUE(Prefix::parse("::1")->contains(*Address::parse("::1")));
  EXPECT_FALSE(Prefix::parse("::1")->contains(*Address::parse("::2")));
}

TEST(Prefix, ConstructorClearsHostBits) {
  EXPECT_EQ(Prefix(*Address::parse("10.1.2.3"), 16).toString(), "10.1.0.0/16");
  EXPECT_EQ(Prefix(*Address::parse("10.1.2.3"), 0).toString(), "0.0.0.0/0");
  EXPECT_EQ(Prefix(*Address::parse("2001:db8::ffff"), 0).toString(), "::/0");
  EXPECT_EQ(Prefix(*Address::parse("2001:db8:1:2:3:4:5:6"), 80).toString(), "2001:db8:1:2:3::/80");
}

}  // namespace
}  // namespace weir
