// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/announced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/controlled_plane.h"

namespace weir::manager {
namespace {

constexpr char kAddress[] = "10.9.9.9";

ForwardingRule rule(const char* name, Announce announce, const char* serviceName = "web") {
  ForwardingRule result;
  result.name = name;
  result.address = *Address::parse(kAddress);
  result.backendService = serviceName;
  result.announce = announce;
  return result;
}

Configuration twoServices(std::vector<ForwardingRule> rules) {
  Configuration configuration;
  configuration.groups = {group("g", {"10.2.0.11", "10.2.0.12"}), group("h", {"10.2.0.13"})};
  configuration.services = {service("web", {{"g", false}}), service("dns", {{"h", false}})};
  configuration.rules = std::move(rules);
  return configuration;
}

TEST(Announced, NoneIsTheDefault) {
  Controlled control;
  control.apply(twoServices({rule("a", Announce::none)}), 0);
  EXPECT_THAT(announcedAddresses(control.plane), testing::IsEmpty());
}

TEST(Announced, ARouteStandsOnlyWhileAServiceHasAHealthyBackend) {
  Controlled control;
  control.apply(twoServices({rule("a", Announce::route)}), 0);
  const VirtualAddress there{*Address::parse(kAddress), false, true, false};
  EXPECT_THAT(announcedAddresses(control.plane), testing::ElementsAre(there));
  control.health({{{"g", "10.2.0.11"}, Health::unhealthy}}, 1);
  EXPECT_THAT(announcedAddresses(control.plane), testing::ElementsAre(there));
  control.health({{{"g", "10.2.0.12"}, Health::unhealthy}}, 2);
  EXPECT_THAT(announcedAddresses(control.plane), testing::IsEmpty()) << "a last resort only";
  control.health({{{"g", "10.2.0.12"}, Health::healthy}}, 3);
  EXPECT_THAT(announcedAddresses(control.plane), testing::ElementsAre(there));
}

TEST(Announced, BeforeTheFirstProbesNoRouteIsAnnounced) {
  Controlled control(Health::unknown);
  control.apply(twoServices({rule("a", Announce::route)}), 0);
  EXPECT_THAT(announcedAddresses(control.plane), testing::IsEmpty());
}

TEST(Announced, OneServiceThatCanServeIsEnoughUnlessItsRuleDoesNotAnnounce) {
  Controlled control;
  control.apply(twoServices({rule("a", Announce::route), rule("b", Announce::route, "dns")}), 0);
  control.health({{{"g", "10.2.0.11"}, Health::unhealthy}, {{"g", "10.2.0.12"}, Health::unhealthy}},
                 1);
  EXPECT_EQ(announcedAddresses(control.plane).size(), 1u);
  control.apply(twoServices({rule("a", Announce::route), rule("b", Announce::none, "dns")}), 2);
  EXPECT_THAT(announcedAddresses(control.plane), testing::IsEmpty());
}

TEST(Announced, ArpStaysThroughALastResort) {
  Controlled control(Health::unhealthy);
  control.apply(twoServices({rule("a", Announce::arp)}), 0);
  EXPECT_THAT(announcedAddresses(control.plane),
              testing::ElementsAre(VirtualAddress{*Address::parse(kAddress), true, false, false}));
}

TEST(Announced, AProxysAddressIsHeldByTheHost) {
  Controlled control;
  ForwardingRule proxied = rule("p", Announce::none, "");
  proxied.scheme = LoadBalancingScheme::internalManaged;
  proxied.target = "proxy";
  control.apply(twoServices({proxied}), 0);
  EXPECT_THAT(announcedAddresses(control.plane),
              testing::ElementsAre(VirtualAddress{*Address::parse(kAddress), false, false, true}));
}

TEST(Announced, ProxiesAloneNeedNoEngine) {
  ForwardingRule proxied = rule("p", Announce::none, "");
  proxied.target = "proxy";
  EXPECT_FALSE(needsEngine(twoServices({proxied})));
  EXPECT_TRUE(needsEngine(twoServices({proxied, rule("a", Announce::none)})));
}

TEST(FallbackWish, P2_FollowsTheEligibleSetAndN4TheBestRoute) {
  Controlled control;
  Configuration configuration = twoServices({rule("a", Announce::none)});
  ForwardingRule dns = rule("b", Announce::none, "dns");
  dns.protocol = Protocol::udp;
  configuration.rules.push_back(dns);
  configuration.routes = {{"later", *Prefix::parse("192.0.2.0/24"), 2000, "a"},
                          {"first", *Prefix::parse("192.0.2.0/24"), 1000, "b"}};
  control.apply(configuration, 0);
  control.health({{{"g", "10.2.0.11"}, Health::unhealthy}}, 1);
  const FallbackWish wish = fallbackWish(control.plane);
  ASSERT_EQ(wish.services.size(), 2u);
  const ServiceId web = control.services.at("web").id, name = control.services.at("dns").id;
  for (const FallbackWish::Service& each : wish.services) {
    ASSERT_EQ(each.members.size(), 1u);
    const auto* backend =
        each.id == web ? control.backend("web", "10.2.0.12") : control.backend("dns", "10.2.0.13");
    EXPECT_EQ(each.members[0].mark, backend->mark);
  }
  EXPECT_EQ(wish.rules.size(), 2u);
  EXPECT_THAT(wish.ranges,
              testing::ElementsAre(FallbackWish::Range{*Prefix::parse("192.0.2.0/24"), name}));
}

}  // namespace
}  // namespace weir::manager
