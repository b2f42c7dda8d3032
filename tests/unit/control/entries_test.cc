// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which entries of the tracking table live on: unhealthy backends (P6.3 to P6.6) and draining (P7).
#include <gmock/gmock.h>

#include "support/controlled_plane.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kTcp = ProtocolClass::tcp;
constexpr auto kUdp = ProtocolClass::udp;
constexpr auto kOther = ProtocolClass::other;

const EndpointRef kOne{"g", "10.0.0.1"};
const EndpointRef kTwo{"g", "10.0.0.2"};

Configuration two(BackendService web) {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1", "10.0.0.2"})};
  configuration.services = {std::move(web)};
  return configuration;
}
Configuration two(int drainingTimeout = 0) { return two(service("web", {{"g"}}, drainingTimeout)); }

// "TU-": which classes of entries live on after the backend turned unhealthy.
std::string kept(TrackingMode tracking, SessionAffinity affinity, PersistOnUnhealthy persist) {
  BackendService web = service("web", {{"g"}});
  web.tracking = tracking;
  web.affinity = affinity;
  web.persist = persist;
  Controlled c;
  c.apply(two(web), 0);
  const Generation made = c.generation("web");
  c.health({{kOne, Health::unhealthy}}, 1);
  std::string text;
  text += c.entryLives("web", "10.0.0.1", kTcp, made) ? 'T' : '-';
  text += c.entryLives("web", "10.0.0.1", kUdp, made) ? 'U' : '-';
  text += c.entryLives("web", "10.0.0.1", kOther, made) ? 'O' : '-';
  // Nobody else's entries are touched.
  for (const auto protocol : {kTcp, kUdp, kOther})
    EXPECT_TRUE(c.entryLives("web", "10.0.0.2", protocol, made));
  return text;
}

constexpr SessionAffinity kAffinities[] = {
    SessionAffinity::none, SessionAffinity::clientIpPortProto, SessionAffinity::clientIpProto,
    SessionAffinity::clientIp, SessionAffinity::clientIpNoDestination};

TEST(UnhealthyBackend, P6_3_PerConnection) {
  for (const SessionAffinity affinity : kAffinities) {
    const auto at = [&](PersistOnUnhealthy persist) {
      return kept(TrackingMode::perConnection, affinity, persist);
    };
    EXPECT_EQ(at(PersistOnUnhealthy::defaultForProtocol), "T--");
    EXPECT_EQ(at(PersistOnUnhealthy::neverPersist), "---");
    EXPECT_EQ(at(PersistOnUnhealthy::alwaysPersist), "TU-");
  }
}

TEST(UnhealthyBackend, P6_3_PerSession) {
  for (const SessionAffinity affinity : kAffinities) {
    const bool connections =
        affinity == SessionAffinity::none || affinity == SessionAffinity::clientIpPortProto;
    EXPECT_EQ(kept(TrackingMode::perSession, affinity, PersistOnUnhealthy::defaultForProtocol),
              connections ? "T--" : "---");
    EXPECT_EQ(kept(TrackingMode::perSession, affinity, PersistOnUnhealthy::neverPersist), "---");
  }
}

TEST(UnhealthyBackend, P6_3_TimeoutAndUnknownCountAsUnhealthy) {
  for (const Health state : {Health::unhealthy, Health::timeout, Health::unknown}) {
    Controlled c;
    c.apply(two(), 0);
    const Generation made = c.generation("web");
    c.health({{kOne, state}}, 1);
    EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kUdp, made));
  }
}

TEST(UnhealthyBackend, P6_3_OnlyTurningUnhealthyCounts) {
  Controlled c;
  c.apply(two(), 0);
  c.health({{kOne, Health::unhealthy}, {kTwo, Health::unhealthy}}, 1);
  const Generation made = c.generation("web");  // entries of the last resort (P2.2)
  c.health({{kOne, Health::timeout}}, 2);
  c.health({{kOne, Health::unknown}}, 3);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
}

TEST(UnhealthyBackend, P6_3_UnknownTurningUnhealthyIsNoChange) {
  Controlled c(Health::unknown);
  c.apply(two(), 0);
  const Generation made = c.generation("web");
  c.health({{kOne, Health::unhealthy}}, 1);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
}

TEST(UnhealthyBackend, P6_4_RecoveryRemovesNothing) {
  Controlled c;
  c.apply(two(), 0);
  c.health({{kOne, Health::unhealthy}}, 1);
  const Generation replacement = c.generation("web");
  c.health({{kOne, Health::healthy}}, 2);
  for (const auto protocol : {kTcp, kUdp, kOther}) {
    EXPECT_TRUE(c.entryLives("web", "10.0.0.2", protocol, replacement));
    EXPECT_TRUE(c.entryLives("web", "10.0.0.1", protocol, replacement));
  }
}

TEST(UnhealthyBackend, ServiceWithoutHealthCheckIgnoresHealth) {
  BackendService web = service("web", {{"g"}});
  web.healthCheck.clear();
  Controlled c(Health::unknown);
  c.apply(two(web), 0);
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_TRUE(c.health({{kOne, Health::unhealthy}}, 1).empty());
}

TEST(UnhealthyBackend, NewHealthCheckFlushesWithTheFirstVerdictOnly) {
  BackendService web = service("web", {{"g"}});
  web.healthCheck.clear();
  Controlled c(Health::unknown);
  c.apply(two(web), 0);
  const Generation made = c.generation("web");
  c.apply(two(), 1);  // now with a health check, nobody probed yet
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  c.health({{kTwo, Health::healthy}}, 2);  // says nothing about the other
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  c.health({{kOne, Health::unhealthy}}, 3);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kUdp, made));
  EXPECT_TRUE(c.entryLives("web", "10.0.0.2", kUdp, made));
}

BackendService switching(bool disableDrain) {
  BackendService web = service("web", {{"g"}, {"standby", true}});
  web.failover.disableConnectionDrainOnFailover = disableDrain;
  return web;
}

Configuration withStandby(BackendService web) {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1"}), group("standby", {"10.0.1.1"})};
  configuration.services = {std::move(web)};
  return configuration;
}

TEST(PoolSwitch, P6_5_RemovesEveryEntryBothWays) {
  const EndpointRef standby{"standby", "10.0.1.1"};
  Controlled c;
  c.apply(withStandby(switching(true)), 0);
  const Generation onPrimary = c.generation("web");
  c.health({{kOne, Health::unhealthy}}, 1);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kTcp, onPrimary));
  EXPECT_FALSE(c.entryLives("web", "10.0.1.1", kTcp, onPrimary));
  const Generation onFailover = c.generation("web");
  c.health({{kOne, Health::healthy}}, 2);
  EXPECT_FALSE(c.entryLives("web", "10.0.1.1", kTcp, onFailover));
  // Failover and back to primaries as last resort (P2.9) is a switch too.
  c.health({{kOne, Health::unhealthy}}, 3);
  const Generation again = c.generation("web");
  c.health({{standby, Health::unhealthy}}, 4);
  EXPECT_FALSE(c.entryLives("web", "10.0.1.1", kTcp, again));
}

TEST(PoolSwitch, P6_5_DefaultLetsEntriesLive) {
  Controlled c;
  c.apply(withStandby(switching(false)), 0);
  const Generation onPrimary = c.generation("web");
  c.health({{kOne, Health::unhealthy}}, 1);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kTcp, onPrimary));
  c.health({{kOne, Health::healthy}}, 2);
  EXPECT_TRUE(c.entryLives("web", "10.0.1.1", kUdp, onPrimary));
}

TEST(PoolSwitch, P6_5_HealthTakenTogetherShowsNoSetInBetween) {
  const EndpointRef standby{"standby", "10.0.1.1"};
  BackendService web = switching(true);
  web.persist = PersistOnUnhealthy::alwaysPersist;
  Controlled c;
  c.apply(withStandby(web), 0);
  c.health({{standby, Health::unhealthy}}, 1);
  const Generation made = c.generation("web");
  // Seen one after the other this would be failover and back.
  c.health({{kOne, Health::unhealthy}, {standby, Health::healthy}, {kOne, Health::healthy}}, 2);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kTcp, made));
}

TEST(PoolSwitch, P6_5_EmptySetInBetweenIsNoSwitchByItself) {
  BackendService web = switching(true);
  web.failover.dropTrafficIfUnhealthy = true;
  web.persist = PersistOnUnhealthy::alwaysPersist;
  const EndpointRef standby{"standby", "10.0.1.1"};
  Controlled c;
  c.apply(withStandby(web), 0);
  const Generation made = c.generation("web");
  c.health({{kOne, Health::unhealthy}, {standby, Health::unhealthy}}, 1);
  EXPECT_THAT(c.eligible("web"), IsEmpty());
  c.health({{kOne, Health::healthy}}, 2);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kTcp, made));
  c.health({{kOne, Health::unhealthy}}, 3);
  c.health({{standby, Health::healthy}}, 4);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kTcp, made));
}

Configuration without(const std::string& endpoint, Configuration configuration) {
  for (auto& group : configuration.groups)
    std::erase_if(group.endpoints, [&](const Endpoint& e) { return e.identity() == endpoint; });
  return configuration;
}

TEST(Draining, P7_1_RemovedEndpointKeepsEntriesUntilTheTimeout) {
  Controlled c;
  c.apply(two(30), 0);
  const Generation made = c.generation("web");
  c.apply(without("10.0.0.1", two(30)), 10);
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.2"));
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kTcp, made));
  EXPECT_EQ(c.plane.nextDeadline(), at(40));
  EXPECT_TRUE(c.take(c.plane.advance(at(40) - Clock::duration(1))).empty());
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kTcp, made));
  c.take(c.plane.advance(at(40)));
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
  EXPECT_EQ(c.plane.nextDeadline(), std::nullopt);
}

TEST(Draining, P7_1_TimeoutZeroRemovesAtOnce) {
  Controlled c;
  c.apply(two(0), 0);
  c.apply(without("10.0.0.1", two(0)), 10);
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
}

TEST(Draining, P7_1_OperatorDrainsAndUndrains) {
  Controlled c;
  c.apply(two(30), 0);
  const Generation made = c.generation("web");
  c.take(c.plane.drain("web", "10.0.0.1", std::nullopt, at(1)));
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.2"));
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  c.take(c.plane.undrain("web", "10.0.0.1", at(2)));
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));

  c.take(c.plane.drain("web", "10.0.0.1", std::chrono::seconds(5), at(10)));
  EXPECT_EQ(c.plane.nextDeadline(), at(15));
  c.take(c.plane.advance(at(15)));
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
  EXPECT_EQ(c.plane.view("web")->backends[0].health, Health::draining);
  // Drained it stays, whatever is applied, until undrained; then its old entries are gone.
  c.apply(two(31), 20);
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.2"));
  c.take(c.plane.undrain("web", "10.0.0.1", at(21)));
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kTcp, made));
}

TEST(Draining, P7_1_OperatorDrainOfZeroSecondsRemovesAtOnce) {
  Controlled c;
  c.apply(two(0), 0);
  c.take(c.plane.drain("web", "10.0.0.1", std::nullopt, at(1)));
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
}

TEST(Draining, P7_1_OperatorDrainConcernsOneService) {
  Configuration configuration = two(30);
  configuration.services.push_back(service("api", {{"g"}}));
  Controlled c;
  c.apply(configuration, 0);
  c.take(c.plane.drain("web", "10.0.0.1", std::nullopt, at(1)));
  EXPECT_THAT(c.eligible("api"), ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST(Draining, P7_1_RemovalOfADrainingEndpointEndsAtTheEarlierTime) {
  Controlled c;
  c.apply(two(30), 0);
  c.take(c.plane.drain("web", "10.0.0.1", std::chrono::seconds(5), at(1)));
  c.apply(without("10.0.0.1", two(30)), 2);
  c.take(c.plane.advance(at(6)));
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
}

TEST(Draining, P7_1_RefusalsNameTheCause) {
  Controlled c;
  c.apply(two(30), 0);
  const auto message = [](const Result<Changes>& result) {
    return result.ok() ? "accepted" : result.error().message;
  };
  EXPECT_EQ(message(c.plane.drain("wob", "10.0.0.1", {}, at(1))),
            "no passthrough backend service is named 'wob'");
  EXPECT_EQ(message(c.plane.drain("web", "10.0.0.9", {}, at(1))),
            "backend service 'web' has no backend '10.0.0.9'");
  EXPECT_EQ(message(c.plane.drain("web", "10.0.0.1", std::chrono::seconds(3601), at(1))),
            "draining timeout 3601 s is out of range 0..3600 s");
  EXPECT_EQ(message(c.plane.undrain("web", "10.0.0.1", at(1))),
            "'10.0.0.1' of backend service 'web' is not draining by command");
  c.apply(without("10.0.0.1", two(30)), 2);
  EXPECT_EQ(message(c.plane.drain("web", "10.0.0.1", {}, at(3))),
            "'10.0.0.1' has left its group and drains already");
}

TEST(Draining, P7_3_SharedGroupDrainsByTheLargestTimeout) {
  const auto configuration = [] {
    Configuration c = two(10);
    c.services.push_back(service("api", {{"g"}}, 60));
    // A service of another scheme that shares the group counts too.
    c.services.push_back(service("proxied", {{"g"}}, 90));
    c.services.back().scheme = LoadBalancingScheme::internalManaged;
    return c;
  }();
  Controlled c;
  c.apply(configuration, 0);
  c.apply(without("10.0.0.1", configuration), 0);
  c.take(c.plane.advance(at(89)));
  EXPECT_NE(c.backend("web", "10.0.0.1"), nullptr);
  EXPECT_NE(c.backend("api", "10.0.0.1"), nullptr);
  c.take(c.plane.advance(at(90)));
  EXPECT_EQ(c.backend("web", "10.0.0.1"), nullptr);
  EXPECT_EQ(c.backend("api", "10.0.0.1"), nullptr);
}

TEST(Draining, P7_4_GroupTakenOutOfAServiceRemovesAtOnce) {
  Configuration configuration = withStandby(switching(false));
  configuration.services[0].drainingTimeout = std::chrono::seconds(300);
  Controlled c;
  c.apply(configuration, 0);
  // One endpoint of the group drains already: it goes with the group as well.
  c.take(c.plane.drain("web", "10.0.1.1", std::nullopt, at(1)));
  configuration.services[0].backends.pop_back();
  c.apply(configuration, 2);
  EXPECT_EQ(c.backend("web", "10.0.1.1"), nullptr);
  // Back again it is a new backend.
  configuration.services[0].backends.push_back({"standby", true});
  const Generation before = c.generation("web");
  c.apply(configuration, 3);
  EXPECT_FALSE(c.entryLives("web", "10.0.1.1", kTcp, before));
}

TEST(Draining, P7_4_EndpointThatIsInAnotherGroupStays) {
  Configuration configuration = two(0);
  configuration.groups.push_back(group("h", {"10.0.0.1"}));
  configuration.services[0].backends.push_back({"h"});
  Controlled c;
  c.apply(configuration, 0);
  const Generation made = c.generation("web");
  configuration.services[0].backends.erase(configuration.services[0].backends.begin());
  c.apply(configuration, 1);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  EXPECT_EQ(c.backend("web", "10.0.0.1")->group, "h");
  EXPECT_EQ(c.backend("web", "10.0.0.2"), nullptr);
}

TEST(Draining, P7_5_HealthDoesNotDecideAboutDrainingEntries) {
  Controlled c;
  c.apply(two(30), 0);
  const Generation made = c.generation("web");
  c.apply(without("10.0.0.1", two(30)), 1);
  c.health({{kOne, Health::unhealthy}}, 2);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  EXPECT_EQ(c.plane.health(kOne), Health::draining);
  // Back before the timeout: simply a backend again, entries kept, the probe's verdict in force.
  c.apply(two(30), 3);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));
  EXPECT_EQ(c.plane.health(kOne), Health::unhealthy);
  EXPECT_THAT(c.eligible("web"), ElementsAre("10.0.0.2"));
  EXPECT_TRUE(c.take(c.plane.advance(at(31))).empty());
}

TEST(Draining, P7_5_ReturnRestoresHealthButALaterReturnIsNew) {
  Controlled c(Health::unknown);
  c.apply(two(30), 0);
  c.health({{kOne, Health::healthy}, {kTwo, Health::healthy}}, 0);
  const Generation made = c.generation("web");
  c.apply(without("10.0.0.1", two(30)), 1);
  c.apply(two(30), 2);
  EXPECT_EQ(c.plane.health(kOne), Health::healthy);
  EXPECT_TRUE(c.entryLives("web", "10.0.0.1", kUdp, made));

  c.apply(without("10.0.0.1", two(30)), 3);
  c.apply(two(30), 33);  // the very moment of the deadline, nobody called advance()
  EXPECT_EQ(c.plane.health(kOne), Health::unknown);
  EXPECT_FALSE(c.entryLives("web", "10.0.0.1", kUdp, made));
}

TEST(Draining, DrainingBackendIsNotCountedAsConfigured) {
  Configuration configuration;
  configuration.groups = {group("g", {"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
                          group("standby", {"10.0.1.1"})};
  configuration.services = {service("web", {{"g"}, {"standby", true}}, 30)};
  configuration.services[0].failover.failoverRatio = 0.5;
  Controlled c;
  c.apply(configuration, 0);
  c.health({{kOne, Health::unhealthy}, {kTwo, Health::unhealthy}}, 1);
  EXPECT_EQ(c.services["web"].eligible.rule, "P2.7");
  c.apply(without("10.0.0.1", configuration), 2);  // now 1 of 2 primaries
  EXPECT_EQ(c.services["web"].eligible.rule, "P2.6");
}

}  // namespace
}  // namespace weir
