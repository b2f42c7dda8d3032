// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/connected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/kernel/host_view.h"

namespace weir::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> conflictsOf(const char* destination) {
  const std::vector<ConnectedSubnet> subnets{{*Prefix::parse("10.2.0.0/24"), "lan0"},
                                             {*Prefix::parse("fd02::/64"), "lan0"},
                                             {*Prefix::parse("10.9.9.9/32"), "lo"}};
  const std::vector<DivertedRoute> routes{{"r", *Prefix::parse(destination)}};
  return conflictsWithSubnets(routes, subnets);
}

TEST(Connected, N5_EqualToOrWithinASubnetIsAConflict) {
  EXPECT_THAT(conflictsOf("10.2.0.0/24"),
              ElementsAre("route r: destRange 10.2.0.0/24 is the subnet 10.2.0.0/24, which is "
                          "directly connected to this host on lan0; a route must be wider than a "
                          "connected subnet, or elsewhere"));
  EXPECT_THAT(conflictsOf("10.2.0.128/25"), SizeIs(1));
  EXPECT_THAT(conflictsOf("10.2.0.7/32"), SizeIs(1));
  EXPECT_THAT(conflictsOf("fd02::/80"), SizeIs(1));
  EXPECT_THAT(conflictsOf("10.9.9.9/32"), SizeIs(1));
}

TEST(Connected, N5_WiderOrElsewhereIsNone) {
  for (const char* destination :
       {"10.2.0.0/23", "0.0.0.0/0", "10.2.1.0/24", "fd02::/63", "::/0", "fd03::/64", "10.9.9.8/32"})
    EXPECT_THAT(conflictsOf(destination), IsEmpty()) << destination;
}

TEST(HeldVirtualAddresses, AreNamedWithTheCure) {
  KernelWish wish;
  wish.divert = {*Prefix::parse("10.9.9.9/32"), *Prefix::parse("fd00::9/128"),
                 *Prefix::parse("10.7.0.0/16")};
  const auto held = [&](std::initializer_list<const char*> addresses) {
    std::set<LocalAddress> all;
    for (const char* address : addresses) all.insert({*Address::parse(address)});
    return heldVirtualAddresses(wish, all);
  };
  EXPECT_THAT(held({"10.2.0.1", "10.7.0.0", "fe80::1"}), IsEmpty());
  EXPECT_THAT(held({"10.2.0.1", "10.9.9.9"}),
              ElementsAre("the virtual address 10.9.9.9 is an address of this host: its packets "
                          "end here instead of at the backends, which alone must hold it; take it "
                          "away: ip addr del 10.9.9.9/32 dev INTERFACE   (ip addr show to 10.9.9.9 "
                          "names it)"));
  EXPECT_THAT(held({"fd00::9"}), ElementsAre(::testing::HasSubstr("ip addr del fd00::9/128 dev")));
}

}  // namespace
}  // namespace weir::manager
