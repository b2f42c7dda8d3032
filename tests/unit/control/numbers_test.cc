// SPDX-License-Identifier: GPL-2.0-or-later
//
// What data planes are told and by which numbers: ids, slots, marks, generations, and the rest of a
// snapshot's content.
#include <gmock/gmock.h>

#include "support/controlled_plane.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Configuration basic() {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1", "10.0.0.2"}), group("h", {"10.0.1.1"}, "z2")};
  configuration.services = {service("web", {{"g"}}), service("api", {{"h"}})};
  return configuration;
}

TEST(Changes, UnchangedConfigurationChangesNothing) {
  Controlled c;
  EXPECT_THAT(c.apply(basic(), 0).services, SizeIs(2));
  EXPECT_TRUE(c.apply(basic(), 1).empty());
}

TEST(Changes, OnlyAffectedServicesAreTold) {
  Controlled c;
  c.apply(basic(), 0);
  const Changes changes = c.health({{{"h", "10.0.1.1"}, Health::unhealthy}}, 1);
  ASSERT_THAT(changes.services, SizeIs(1));
  EXPECT_EQ(changes.services[0].name, "api");
  EXPECT_EQ(changes.rules, std::nullopt);
}

TEST(Changes, HealthWithoutEffectIsNotTold) {
  Controlled c;
  c.apply(basic(), 0);
  EXPECT_TRUE(c.health({{{"g", "10.0.0.1"}, Health::healthy}}, 1).empty());
  c.health({{{"g", "10.0.0.1"}, Health::unhealthy}}, 2);
  EXPECT_TRUE(c.health({{{"g", "10.0.0.1"}, Health::timeout}}, 3).empty());
}

TEST(Changes, GenerationRisesOncePerEvent) {
  Controlled c;
  c.apply(basic(), 0);
  EXPECT_EQ(c.generation("web"), c.generation("api"));
  EXPECT_EQ(c.generation("web"), c.rules.generation);
  const Generation before = c.generation("web");
  c.health({{{"g", "10.0.0.1"}, Health::unhealthy}}, 1);
  EXPECT_EQ(c.generation("web").value(), before.value() + 1);
  EXPECT_EQ(c.generation("api"), before);
}

TEST(Changes, RefusedHealthChangesNothing) {
  Controlled c;
  c.apply(basic(), 0);
  const std::vector<ControlPlane::HealthUpdate> updates{{{"g", "10.0.0.1"}, Health::unhealthy},
                                                        {{"g", "10.9.9.9"}, Health::healthy}};
  const auto result = c.plane.setHealth(updates, at(1));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("g/10.9.9.9"));
  EXPECT_EQ(c.plane.health({"g", "10.0.0.1"}), Health::healthy);
  const std::vector<ControlPlane::HealthUpdate> draining{{{"g", "10.0.0.1"}, Health::draining}};
  EXPECT_FALSE(c.plane.setHealth(draining, at(1)).ok());
}

TEST(Changes, EverythingIsTheSumOfAllChanges) {
  Controlled c;
  c.apply(basic(), 0);
  c.health({{{"g", "10.0.0.1"}, Health::unhealthy}}, 1);
  const Changes all = c.plane.everything();
  ASSERT_THAT(all.services, SizeIs(2));
  for (const ServiceSnapshot& snapshot : all.services)
    EXPECT_EQ(snapshot, c.services[snapshot.name]);
  EXPECT_EQ(all.rules, c.rules);
}

TEST(Numbers, ServiceIdsStayAndAreNotReusedInTheSameStep) {
  Controlled c;
  c.apply(basic(), 0);
  const ServiceId web = c.services["web"].id;
  const ServiceId api = c.services["api"].id;
  EXPECT_NE(web, api);
  Configuration next = basic();
  next.services = {service("new", {{"g"}}), service("api", {{"h"}})};
  const Changes changes = c.apply(next, 1);
  EXPECT_THAT(changes.removed, ElementsAre(web));
  EXPECT_EQ(c.services["api"].id, api);
  EXPECT_NE(c.services["new"].id, web);
  next.services.push_back(service("later", {{"g"}}));
  c.apply(next, 2);
  EXPECT_EQ(c.services["later"].id, web);
}

TEST(Numbers, SlotsStayAndAReusedSlotHasNoOldEntries) {
  Controlled c;
  c.apply(basic(), 0);
  const BackendSlot first = c.backend("web", "10.0.0.1")->slot;
  const BackendSlot second = c.backend("web", "10.0.0.2")->slot;
  const Generation made = c.generation("web");
  Configuration next = basic();
  next.groups[0] = group("g", {"10.0.0.0", "10.0.0.2"});
  c.apply(next, 1);
  EXPECT_EQ(c.backend("web", "10.0.0.2")->slot, second);
  EXPECT_EQ(c.backend("web", "10.0.0.0")->slot, first);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.0", ProtocolClass::tcp, made));
  EXPECT_TRUE(c.entryLives("web", "10.0.0.2", ProtocolClass::tcp, made));
}

TEST(Numbers, EndpointListedTwiceCountsOnceAPrimaryFirst) {
  Configuration configuration = basic();
  configuration.groups.push_back(group("standby", {"10.0.0.1", "10.0.2.1"}));
  configuration.services[0].backends = {{"standby", true}, {"g"}, {"h"}};
  configuration.groups[1] = group("h", {"10.0.0.2"});
  Controlled c;
  c.apply(configuration, 0);
  EXPECT_THAT(c.services["web"].backends, SizeIs(3));
  EXPECT_EQ(c.backend("web", "10.0.0.1")->group, "g");
  EXPECT_EQ(c.backend("web", "10.0.0.2")->group, "g");
  // The health of the listing that counts decides.
  EXPECT_TRUE(c.health({{{"standby", "10.0.0.1"}, Health::unhealthy}}, 1).empty());
  EXPECT_FALSE(c.health({{{"g", "10.0.0.1"}, Health::unhealthy}}, 2).empty());
}

TEST(Marks, LieInTheMaskAndAreSharedByAddress) {
  Configuration configuration = basic();
  configuration.node.fwmarkMask = 0x00ff0000;
  configuration.services[1].backends.push_back({"g"});
  Controlled c;
  c.apply(configuration, 0);
  EXPECT_EQ(c.backend("web", "10.0.0.1")->mark, Mark(0x00010000));
  EXPECT_EQ(c.backend("web", "10.0.0.2")->mark, Mark(0x00020000));
  EXPECT_EQ(c.backend("api", "10.0.1.1")->mark, Mark(0x00030000));
  EXPECT_EQ(c.backend("api", "10.0.0.1")->mark, Mark(0x00010000));
  const auto routes = c.plane.routes();
  ASSERT_THAT(routes, SizeIs(3));
  EXPECT_EQ(routes[2], (BackendRoute{Mark(0x00030000), Address::parse("10.0.1.1"), {}}));
}

TEST(Marks, AreReusedOnlyWhenNoSnapshotMentionsThem) {
  Controlled c;
  c.apply(basic(), 0);
  const Mark freed = c.backend("web", "10.0.0.1")->mark;
  Configuration next = basic();
  next.groups[0] = group("g", {"10.0.0.2", "10.0.0.3"});
  c.apply(next, 1);
  EXPECT_NE(c.backend("web", "10.0.0.3")->mark, freed);
  next.groups[0] = group("g", {"10.0.0.2", "10.0.0.3", "10.0.0.4"});
  c.apply(next, 2);
  EXPECT_EQ(c.backend("web", "10.0.0.4")->mark, freed);
}

TEST(Marks, OfADrainingBackendStayUntilItIsGone) {
  Configuration configuration = basic();
  configuration.services[0].drainingTimeout = std::chrono::seconds(30);
  Controlled c;
  c.apply(configuration, 0);
  const Mark mark = c.backend("web", "10.0.0.1")->mark;
  configuration.groups[0] = group("g", {"10.0.0.2"});
  c.apply(configuration, 1);
  configuration.groups[0] = group("g", {"10.0.0.2", "10.0.0.3"});
  c.apply(configuration, 2);
  EXPECT_EQ(c.backend("web", "10.0.0.1")->mark, mark);
  EXPECT_NE(c.backend("web", "10.0.0.3")->mark, mark);
  c.take(c.plane.advance(at(31)));
  EXPECT_THAT(c.plane.routes(), SizeIs(3));
}

TEST(Marks, RunningOutIsRefusedWithoutAnyEffect) {
  Configuration configuration = basic();
  configuration.node.fwmarkMask = 0x3;
  Controlled c;
  c.apply(configuration, 0);
  const Changes before = c.plane.everything();
  configuration.groups[0] = group("g", {"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  const auto refused = c.plane.apply(configuration, at(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "fwmarkMask 0x00000003 has room for 3 backends, but the configuration has 4; widen the "
            "mask in weir.yaml");
  EXPECT_EQ(c.plane.configuration().groups[0].endpoints.size(), 2u);
  EXPECT_EQ(c.plane.everything().services, before.services);
  EXPECT_TRUE(c.take(c.plane.apply(c.plane.configuration(), at(2))).empty());
}

TEST(Marks, FollowANewMask) {
  Configuration configuration = basic();
  Controlled c;
  c.apply(configuration, 0);
  configuration.node.fwmarkMask = 0x30;
  c.apply(configuration, 1);
  EXPECT_EQ(c.backend("web", "10.0.0.1")->mark, Mark(0x10));
  EXPECT_EQ(c.backend("api", "10.0.1.1")->mark, Mark(0x30));
}

TEST(Marks, OfAnEarlierRunGiveWayWhereTheMaskIsTooNarrowForBoth) {
  Configuration configuration = basic();
  Controlled earlier;
  earlier.apply(configuration, 0);
  Controlled c;
  ASSERT_TRUE(c.plane.restore(earlier.plane.save()).ok());
  configuration.node.fwmarkMask = 0x3;
  configuration.groups[0] = group("g", {"10.0.0.8", "10.0.0.9"});
  c.apply(configuration, 1);
  for (const char* endpoint : {"10.0.0.8", "10.0.0.9"})
    EXPECT_EQ(c.backend("web", endpoint)->mark.value() & ~0x3u, 0u);
  EXPECT_NE(c.backend("web", "10.0.0.8")->mark, c.backend("web", "10.0.0.9")->mark);
}

TEST(Snapshots, CarryThePolicy) {
  Configuration configuration = basic();
  configuration.services[0].affinity = SessionAffinity::clientIp;
  configuration.services[0].tracking = TrackingMode::perSession;
  configuration.services[0].idleTimeout = std::chrono::seconds(3600);
  Controlled c;
  c.apply(configuration, 0);
  EXPECT_EQ(c.services["web"].affinity, SessionAffinity::clientIp);
  EXPECT_EQ(c.services["web"].tracking, TrackingMode::perSession);
  EXPECT_EQ(c.services["web"].idleTimeout, std::chrono::seconds(3600));
}

TEST(Snapshots, P3_ZonalSetsOnlyWhereTheyDiffer) {
  Configuration configuration;
  configuration.node.zones = {{"z1", "r", {*Prefix::parse("10.1.0.0/16")}},
                              {"z2", "r", {*Prefix::parse("10.2.0.0/16")}},
                              {"z3", "r", {}}};
  configuration.groups = {group("a", {"10.0.0.1"}, "z1"), group("b", {"10.0.0.2"}, "z2")};
  configuration.services = {service("web", {{"a"}, {"b"}})};
  configuration.services[0].spillover = Spillover::spillCrossZone;
  Controlled c;
  c.apply(configuration, 0);
  const auto& web = c.services["web"];
  ASSERT_THAT(web.zonal, SizeIs(2));
  EXPECT_EQ(web.zonal[0].first, ZoneIndex(0));
  EXPECT_THAT(Controlled::endpointsOf(web, web.zonal[0].second), ElementsAre("10.0.0.1"));
  EXPECT_EQ(web.zonal[0].second.zonalRule, "P3.4");
  EXPECT_EQ(web.zonal[1].first, ZoneIndex(1));
  EXPECT_THAT(c.rules.zones, ElementsAre("z1", "z2", "z3"));
  EXPECT_THAT(c.rules.clientRanges, SizeIs(2));
  c.health({{{"b", "10.0.0.2"}, Health::unhealthy}}, 1);
  EXPECT_THAT(c.services["web"].zonal, IsEmpty());
}

TEST(Snapshots, RulesAndRoutesOfPassthroughServicesOnly) {
  Configuration configuration = basic();
  configuration.services.push_back(service("proxied", {{"g"}}));
  configuration.services.back().scheme = LoadBalancingScheme::externalManaged;
  ForwardingRule vip{"vip", {}, *Address::parse("10.9.9.9"), Protocol::tcp, {{80, 80}}, "web", {}};
  ForwardingRule front{"front",
                       LoadBalancingScheme::externalManaged,
                       *Address::parse("10.9.9.8"),
                       Protocol::tcp,
                       {{443, 443}},
                       "",
                       {}};
  configuration.rules = {vip, front};
  configuration.routes = {{"any", *Prefix::parse("0.0.0.0/0"), 1000, "vip"}};
  Controlled c;
  c.apply(configuration, 0);
  EXPECT_FALSE(c.services.contains("proxied"));
  EXPECT_EQ(c.plane.view("proxied"), std::nullopt);
  ASSERT_THAT(c.rules.rules, SizeIs(1));
  EXPECT_EQ(c.rules.rules[0].service, c.services["web"].id);
  ASSERT_THAT(c.rules.routes, SizeIs(1));
  EXPECT_EQ(c.rules.routes[0].rule, "vip");
  EXPECT_EQ(c.rules.routes[0].service, c.services["web"].id);
}

TEST(WeightUpdates, P9_2_UnavailableCountsWithTheLastKnownElseOne) {
  Configuration configuration = basic();
  configuration.services[0].weighted = true;
  Controlled c;
  c.apply(configuration, 0);
  const auto weightsOfWeb = [&] {
    std::vector<std::uint32_t> weights;
    for (const auto& member : c.services["web"].eligible.members) weights.push_back(member.weight);
    return weights;
  };
  using Kind = ReportedWeight::Kind;
  const EndpointRef one{"g", "10.0.0.1"};
  const EndpointRef two{"g", "10.0.0.2"};
  c.weight(two, {Kind::unavailable, 0}, 1);
  EXPECT_THAT(weightsOfWeb(), ElementsAre(1, 1));
  c.weight(one, {Kind::value, 500}, 2);
  c.weight(one, {Kind::unavailable, 0}, 3);
  EXPECT_THAT(weightsOfWeb(), ElementsAre(500, 1));
  c.weight(two, {Kind::missing, 0}, 4);
  EXPECT_THAT(weightsOfWeb(), ElementsAre(1, 1));
  c.weight(two, {Kind::value, 7}, 5);
  EXPECT_THAT(weightsOfWeb(), ElementsAre(500, 7));
}

TEST(WeightUpdates, P9_1_FixedWeightWins) {
  Configuration configuration = basic();
  configuration.services[0].weighted = true;
  configuration.groups[0].endpoints[0].weight = 9;
  Controlled c;
  c.apply(configuration, 0);
  EXPECT_EQ(c.services["web"].eligible.members[0].weight, 9u);
  EXPECT_TRUE(c.weight({"g", "10.0.0.1"}, {ReportedWeight::Kind::invalid, 0}, 1).empty());
}

TEST(WeightUpdates, OutOfRangeAndUnknownAreRefused) {
  Controlled c;
  c.apply(basic(), 0);
  const std::vector<ControlPlane::WeightUpdate> tooLarge{
      {{"g", "10.0.0.1"}, {ReportedWeight::Kind::value, 1001}}};
  EXPECT_FALSE(c.plane.setWeight(tooLarge, at(1)).ok());
  const std::vector<ControlPlane::WeightUpdate> unknown{
      {{"g", "10.0.0.9"}, {ReportedWeight::Kind::value, 1}}};
  EXPECT_FALSE(c.plane.setWeight(unknown, at(1)).ok());
}

TEST(View, ShowsStateAsAnOperatorSeesIt) {
  Configuration configuration = basic();
  configuration.services[0].drainingTimeout = std::chrono::seconds(30);
  configuration.services[0].backends.push_back({"h", true});
  Controlled c(Health::unknown);
  c.apply(configuration, 0);
  c.health({{{"g", "10.0.0.1"}, Health::healthy}, {{"h", "10.0.1.1"}, Health::timeout}}, 1);
  c.take(c.plane.drain("web", "10.0.0.2", std::nullopt, at(5)));
  const auto view = c.plane.view("web");
  ASSERT_TRUE(view);
  ASSERT_THAT(view->backends, SizeIs(3));
  EXPECT_EQ(view->backends[0].health, Health::healthy);
  EXPECT_TRUE(view->backends[0].eligible);
  EXPECT_EQ(view->backends[1].health, Health::draining);
  EXPECT_FALSE(view->backends[1].eligible);
  EXPECT_EQ(view->backends[1].drainDeadline, at(35));
  EXPECT_EQ(view->backends[2].health, Health::timeout);
  EXPECT_TRUE(view->backends[2].failover);
  EXPECT_EQ(view->backends[2].zone, "z2");
  EXPECT_EQ(view->eligibility.set.rule, "P2.4");
  EXPECT_EQ(c.plane.view("none"), std::nullopt);
}

}  // namespace
}  // namespace weir
