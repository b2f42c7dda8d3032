// SPDX-License-Identifier: GPL-2.0-or-later
//
// A health check belongs to a backend service (H1): services that share a group do not share its
// verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "support/controlled_plane.h"
#include "weir/proxy_plane.h"

namespace weir {
namespace {

using testing::ElementsAre;

const EndpointRef kOne{"g", "10.0.0.1"};
const EndpointRef kTwo{"g", "10.0.0.2"};

Configuration shared() {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1", "10.0.0.2"})};
  configuration.services = {service("web", {{"g", false}}), service("dns", {{"g", false}})};
  return configuration;
}

Changes says(Controlled& c, const std::string& service, const EndpointRef& ref, Health health,
             std::int64_t now) {
  const std::vector<ControlPlane::HealthUpdate> updates{{ref, health, service}};
  return c.take(c.plane.setHealth(updates, at(now)));
}

Health shown(const Controlled& c, const std::string& service, const std::string& endpoint) {
  const std::optional<ServiceView> view = c.plane.view(service);
  for (const BackendView& backend : view->backends)
    if (backend.endpoint == endpoint) return backend.health;
  return Health::unknown;
}

TEST(ServiceHealth, H1_AServicesCheckDecidesForThatServiceAlone) {
  Controlled c;
  c.apply(shared(), 0);
  const Changes changes = says(c, "web", kOne, Health::unhealthy, 1);
  ASSERT_EQ(changes.services.size(), 1u);
  EXPECT_EQ(changes.services[0].name, "web");
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.2"));
  EXPECT_THAT(c.eligible("dns"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_EQ(shown(c, "web", "10.0.0.1"), Health::unhealthy);
  EXPECT_EQ(shown(c, "dns", "10.0.0.1"), Health::healthy);
  EXPECT_EQ(c.plane.health(kOne, "web"), Health::unhealthy);
  EXPECT_EQ(c.plane.health(kOne, "dns"), Health::healthy);
}

TEST(ServiceHealth, H1_OnlyTheServiceOfTheVerdictLosesEntries) {
  Controlled c;
  c.apply(shared(), 0);
  const Generation made = c.generation("dns");
  says(c, "web", kOne, Health::unhealthy, 1);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", ProtocolClass::udp, made));
  EXPECT_TRUE(c.entryLives("dns", "10.0.0.1", ProtocolClass::udp, made));
}

TEST(ServiceHealth, AVerdictAboutAllServicesReplacesThoseOfOne) {
  Controlled c;
  c.apply(shared(), 0);
  says(c, "web", kOne, Health::unhealthy, 1);
  c.health({{kOne, Health::timeout}}, 2);
  EXPECT_EQ(shown(c, "web", "10.0.0.1"), Health::timeout);
  EXPECT_EQ(shown(c, "dns", "10.0.0.1"), Health::timeout);
  c.health({{kOne, Health::healthy}}, 3);
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(c.eligible("dns"), ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST(ServiceHealth, P9_2_AReportedWeightIsTheServicesOwn) {
  Configuration configuration = shared();
  for (BackendService& each : configuration.services) each.weighted = true;
  Controlled c;
  c.apply(configuration, 0);
  using Kind = ReportedWeight::Kind;
  const std::vector<ControlPlane::WeightUpdate> updates{{kOne, {Kind::value, 500}, "web"},
                                                        {kTwo, {Kind::value, 100}, "web"},
                                                        {kOne, {Kind::value, 3}, "dns"},
                                                        {kTwo, {Kind::value, 7}, "dns"}};
  c.take(c.plane.setWeight(updates, at(1)));
  const auto weights = [&](const char* name) {
    std::vector<std::uint32_t> result;
    for (const auto& member : c.services[name].eligible.members) result.push_back(member.weight);
    return result;
  };
  EXPECT_THAT(weights("web"), ElementsAre(500, 100));
  EXPECT_THAT(weights("dns"), ElementsAre(3, 7));
}

TEST(ServiceHealth, VerdictsOutliveTheManagerAndEndWithTheirService) {
  Controlled first;
  first.apply(shared(), 0);
  says(first, "web", kOne, Health::unhealthy, 1);
  Controlled second;
  ASSERT_TRUE(second.plane.restore(first.plane.save()).ok());
  second.apply(shared(), 2);
  EXPECT_EQ(shown(second, "web", "10.0.0.1"), Health::unhealthy);
  EXPECT_EQ(shown(second, "dns", "10.0.0.1"), Health::healthy);

  Configuration without = shared();
  without.services.erase(without.services.begin());
  second.apply(without, 3);
  second.apply(shared(), 4);
  EXPECT_EQ(shown(second, "web", "10.0.0.1"), Health::healthy);  // new: nothing was said of it yet
}

TEST(ServiceHealth, AVerdictOfAServiceThatDoesNotUseTheGroupHasNoEffect) {
  Controlled c;
  c.apply(shared(), 0);
  EXPECT_TRUE(says(c, "gone", kOne, Health::unhealthy, 1).empty());
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST(ServiceHealth, H1_ForProxyServicesToo) {
  Configuration configuration = shared();
  for (BackendService& each : configuration.services)
    each.scheme = LoadBalancingScheme::internalManaged;
  for (Endpoint& endpoint : configuration.groups[0].endpoints) endpoint.port = 80;
  const std::string one = configuration.groups[0].endpoints[0].identity();
  ProxyPlane plane(Health::healthy);
  plane.apply(configuration, at(0));
  const std::vector<ControlPlane::HealthUpdate> updates{{{"g", one}, Health::timeout, "web"}};
  const ProxyChanges changes = plane.setHealth(updates, at(1));
  ASSERT_EQ(changes.services.size(), 1u);
  EXPECT_EQ(changes.services[0].name, "web");
  EXPECT_EQ(plane.view("web", at(1))->groups[0].healthy, 1u);
  EXPECT_EQ(plane.view("dns", at(1))->groups[0].healthy, 2u);
}

}  // namespace
}  // namespace weir
