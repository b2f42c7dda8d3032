// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "weir/model.h"

namespace weir {
namespace {

Endpoint endpoint(std::optional<std::string> v4, std::optional<std::string> v6,
                  std::optional<std::uint16_t> port) {
  Endpoint result;
  if (v4) result.ipAddress = Address::parse(*v4);
  if (v6) result.ipv6Address = Address::parse(*v6);
  result.port = port;
  return result;
}

TEST(Endpoint, IdentityIsTheAddressWithThePortWhereItHasOne) {
  EXPECT_EQ(endpoint("10.0.0.1", {}, {}).identity(), "10.0.0.1");
  EXPECT_EQ(endpoint("10.0.0.1", {}, 80).identity(), "10.0.0.1:80");
  EXPECT_EQ(endpoint({}, "fd00::1", {}).identity(), "fd00::1");
  EXPECT_EQ(endpoint({}, "fd00:0::1", 80).identity(), "[fd00::1]:80");
  EXPECT_EQ(endpoint("10.0.0.1", "fd00::1", 80).identity(), "10.0.0.1:80");
  Endpoint named;
  named.fqdn = "a.example.com";
  EXPECT_EQ(named.identity(), "a.example.com");
  named.port = 443;
  EXPECT_EQ(named.identity(), "a.example.com:443");
}

TEST(Endpoint, AddressOfAFamily) {
  const Endpoint both = endpoint("10.0.0.1", "fd00::1", {});
  EXPECT_EQ(both.addressOf(Family::ipv4), Address::parse("10.0.0.1"));
  EXPECT_EQ(both.addressOf(Family::ipv6), Address::parse("fd00::1"));
  EXPECT_EQ(endpoint("10.0.0.1", {}, {}).addressOf(Family::ipv6), std::nullopt);
}

}  // namespace
}  // namespace weir
