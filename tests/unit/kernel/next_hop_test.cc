// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/next_hop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

using ::testing::HasSubstr;

const Address kBackend = *Address::parse("10.5.0.7");

NextHop classifyReply(std::uint8_t type, std::optional<Address> gateway) {
  Messages reply;
  reply.add("route", RTM_NEWROUTE, 0, 128, [&](nlmsghdr* message) {
    auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
    route->rtm_family = AF_INET;
    route->rtm_type = type;
    mnl_attr_put_u32(message, RTA_OIF, 7);
    if (gateway) putAddress(message, RTA_GATEWAY, *gateway);
  });
  return classifyNextHop(kBackend, {0, 0, {}, reply.at(0)});
}

TEST(NextHop, NeighbourIsReachedOverItsInterface) {
  EXPECT_EQ(classifyReply(RTN_UNICAST, std::nullopt).interface, 7u);
  EXPECT_EQ(classifyReply(RTN_UNICAST, std::nullopt).reason, "");
  EXPECT_EQ(classifyReply(RTN_UNICAST, kBackend).interface, 7u);
}

TEST(NextHop, BackendBehindAGatewayIsRefusedWithTheReason) {
  const NextHop hop = classifyReply(RTN_UNICAST, Address::parse("10.2.0.1"));
  EXPECT_EQ(hop.interface, 0u);
  EXPECT_EQ(hop.reason,
            "10.5.0.7 is not on a directly connected network: reached via gateway 10.2.0.1; a "
            "passthrough backend must be a neighbour");
}

TEST(NextHop, OwnAddressIsRefusedWithTheReason) {
  const NextHop hop = classifyReply(RTN_LOCAL, std::nullopt);
  EXPECT_EQ(hop.interface, 0u);
  EXPECT_THAT(hop.reason, HasSubstr("10.5.0.7 is an address of this host"));
}

TEST(NextHop, RoutesThatLeadNowhereAreRefused) {
  for (const std::uint8_t type :
       {RTN_BROADCAST, RTN_MULTICAST, RTN_ANYCAST, RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT}) {
    const NextHop hop = classifyReply(type, std::nullopt);
    EXPECT_EQ(hop.interface, 0u);
    EXPECT_THAT(hop.reason, HasSubstr("10.5.0.7"));
  }
}

TEST(NextHop, ErrorsAreToldInWords) {
  EXPECT_THAT(classifyNextHop(kBackend, {0, ENETUNREACH, {}, nullptr}).reason,
              HasSubstr("no route to 10.5.0.7"));
  EXPECT_THAT(classifyNextHop(kBackend, {0, EHOSTUNREACH, {}, nullptr}).reason,
              HasSubstr("a route of this host says"));
}

}  // namespace
}  // namespace weir::manager
