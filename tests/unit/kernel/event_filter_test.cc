// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/event_filter.h"

#include <gtest/gtest.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/rtnetlink.h>

#include "manager/kernel/attributes.h"
#include "manager/kernel/netlink.h"
#include "manager/kernel/nft_messages.h"

namespace weir::manager {
namespace {

constexpr std::uint8_t kOurs = 87;
const std::set<Address> kBackends{*Address::parse("10.2.0.11"), *Address::parse("10.2.1.7"),
                                  *Address::parse("fd02::11")};

bool routeIsNews(const char* prefix, std::uint8_t protocol) {
  const Prefix destination = *Prefix::parse(prefix);
  Messages messages;
  messages.add("route", RTM_NEWROUTE, 0, 96, [&](nlmsghdr* m) {
    auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(rtmsg)));
    route->rtm_family = addressFamily(destination.family());
    route->rtm_protocol = protocol;
    route->rtm_dst_len = static_cast<std::uint8_t>(destination.length());
    if (destination.length() != 0) putAddress(m, RTA_DST, destination.address());
  });
  return isRouteNews(*messages.at(0), kOurs, kBackends);
}

TEST(EventFilter, RoutesAroundABackendAreNews) {
  EXPECT_TRUE(routeIsNews("10.2.0.0/24", RTPROT_KERNEL));
  EXPECT_TRUE(routeIsNews("10.2.1.7/32", RTPROT_BOOT));
  EXPECT_TRUE(routeIsNews("0.0.0.0/0", RTPROT_BGP));
  EXPECT_TRUE(routeIsNews("fd02::/64", RTPROT_KERNEL));
  EXPECT_TRUE(routeIsNews("::/0", RTPROT_RA));
}

TEST(EventFilter, ARoutersOtherRoutesAreNot) {
  EXPECT_FALSE(routeIsNews("10.2.2.0/24", RTPROT_BGP));
  EXPECT_FALSE(routeIsNews("192.0.2.0/24", RTPROT_BGP));
  EXPECT_FALSE(routeIsNews("10.2.0.12/32", RTPROT_BGP));
  EXPECT_FALSE(routeIsNews("2001:db8::/32", RTPROT_BGP));
  EXPECT_FALSE(routeIsNews("11.0.0.0/8", RTPROT_BGP));
}

TEST(EventFilter, OurOwnRoutesAlwaysAre) { EXPECT_TRUE(routeIsNews("192.0.2.0/24", kOurs)); }

// nullopt: of ARP.
bool tableIsNews(const char* table, int type, std::optional<Family> family = Family::ipv4) {
  Messages messages;
  addNftMessage(messages, "event", type, family.value_or(Family::ipv4), 0, 128, [&](nlmsghdr* m) {
    if (!family) static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(m))->nfgen_family = 3;
    mnl_attr_put_strz(m, NFTA_TABLE_NAME, table);
  });
  return isTableNews(*messages.at(0), "weir");
}

TEST(EventFilter, OnlyOurTablesAreNews) {
  EXPECT_TRUE(tableIsNews("weir", NFT_MSG_DELTABLE));
  EXPECT_TRUE(tableIsNews("weir", NFT_MSG_NEWSETELEM, Family::ipv6));
  EXPECT_TRUE(tableIsNews("weir", NFT_MSG_NEWRULE, std::nullopt)) << "table arp weir";
  EXPECT_FALSE(tableIsNews("weird", NFT_MSG_DELTABLE));
  EXPECT_FALSE(tableIsNews("kube-proxy", NFT_MSG_NEWSETELEM));
  EXPECT_FALSE(tableIsNews("weir", NFT_MSG_NEWGEN));
}

}  // namespace
}  // namespace weir::manager
