// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel_wish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/controlled_plane.h"

namespace weir::manager {
namespace {

BackendRoute routeTo(std::uint32_t mark, const char* address) {
  return {Mark(mark), Address::parse(address), std::nullopt};
}

TEST(KernelWish, N1_VirtualAddressesAndRoutesAreDiverted) {
  Configuration configuration;
  configuration.groups.push_back(group("g", {"10.2.0.11", "10.2.0.12"}));
  configuration.services.push_back(service("web", {{"g", false}}));
  for (const char* address : {"10.9.9.9", "fd00::9"}) {
    ForwardingRule rule;
    rule.name = address;
    rule.address = *Address::parse(address);
    rule.backendService = "web";
    configuration.rules.push_back(rule);
    rule.name += "-again";  // another rule of the same address
    configuration.rules.push_back(rule);
  }
  configuration.routes.push_back({"r", *Prefix::parse("192.0.2.0/24"), 1000, "10.9.9.9"});
  ControlPlane plane;
  ASSERT_TRUE(plane.apply(configuration, at(0)).ok());

  const KernelWish wish = wishOf(plane);
  EXPECT_EQ(wish.backends, plane.routes());
  EXPECT_EQ(wish.backends.size(), 2u);
  EXPECT_THAT(wish.divert,
              testing::UnorderedElementsAre(*Prefix::parse("10.9.9.9"), *Prefix::parse("fd00::9")));
  EXPECT_THAT(wish.routes,
              testing::ElementsAre(DivertedRoute{"r", *Prefix::parse("192.0.2.0/24")}));
}

TEST(KernelWish, N7_AppliancesAreTheMachinesBehindRoutes) {
  Configuration configuration;
  configuration.groups.push_back(group("fw", {"10.2.0.11", "10.2.0.12"}));
  configuration.groups[0].endpoints[0].instance = "fw-1";
  // The other arms of two machines, one of which is no appliance.
  configuration.groups.push_back(group("arms", {"10.4.0.11", "10.4.0.77"}));
  configuration.groups[1].endpoints[0].instance = "fw-1";
  configuration.groups[1].endpoints[1].instance = "web-7";
  configuration.groups.push_back(group("web", {"10.2.0.77"}));
  configuration.groups[2].endpoints[0].instance = "web-7";
  configuration.services.push_back(service("fw", {{"fw", false}}, 300));
  configuration.services.push_back(service("web", {{"web", false}}));
  for (const char* name : {"fw", "web"}) {
    ForwardingRule rule;
    rule.name = name;
    rule.address = *Address::parse(rule.name == "fw" ? "10.9.9.9" : "10.9.9.10");
    rule.backendService = name;
    configuration.rules.push_back(rule);
  }
  ControlPlane plane;
  ASSERT_TRUE(plane.apply(configuration, at(0)).ok());
  EXPECT_TRUE(wishOf(plane).appliances.empty());

  configuration.routes.push_back({"r", *Prefix::parse("192.0.2.0/24"), 1000, "fw"});
  ASSERT_TRUE(plane.apply(configuration, at(1)).ok());
  const auto addresses = [](std::initializer_list<const char*> texts) {
    std::vector<Address> result;
    for (const char* text : texts) result.push_back(*Address::parse(text));
    return result;
  };
  EXPECT_EQ(wishOf(plane).appliances, addresses({"10.2.0.11", "10.2.0.12", "10.4.0.11"}));

  // One that drains still gets packets, and sends them back.
  configuration.groups[0].endpoints.pop_back();
  ASSERT_TRUE(plane.apply(configuration, at(2)).ok());
  EXPECT_EQ(wishOf(plane).appliances, addresses({"10.2.0.11", "10.2.0.12", "10.4.0.11"}));
  (void)plane.advance(at(400));
  EXPECT_EQ(wishOf(plane).appliances, addresses({"10.2.0.11", "10.4.0.11"}));
}

TEST(KernelWish, UnionHasBothAndNewNumbers) {
  KernelWish old, wanted;
  old.backends = {routeTo(1, "10.0.0.1"), routeTo(2, "10.0.0.2")};
  old.divert = {*Prefix::parse("10.9.9.9")};
  wanted.backends = {routeTo(2, "10.0.0.22"), routeTo(3, "10.0.0.3")};
  wanted.divert = {*Prefix::parse("10.9.9.10")};
  wanted.queues = 4;
  const KernelWish both = unionOf(old, wanted);
  EXPECT_THAT(both.backends, testing::ElementsAre(routeTo(1, "10.0.0.1"), routeTo(2, "10.0.0.22"),
                                                  routeTo(3, "10.0.0.3")));
  EXPECT_EQ(both.divert.size(), 2u);
  EXPECT_EQ(both.queues, 4);
}

}  // namespace
}  // namespace weir::manager
