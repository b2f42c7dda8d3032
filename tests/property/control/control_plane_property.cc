// SPDX-License-Identifier: GPL-2.0-or-later
//
// Random histories of a control plane: what must hold after each event, and that a restart in the
// middle changes nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "support/controlled_plane.h"

namespace weir {
namespace {

const std::vector<std::string> kAddresses{"10.0.0.1", "10.0.0.2", "10.0.0.3",
                                          "10.0.0.4", "10.0.0.5", "10.0.0.6"};
const std::vector<std::string> kGroups{"ga", "gb", "gc"};

template <class T>
T pick(const std::vector<T>& from) {
  return *rc::gen::elementOf(from);
}
bool chance(int percent) { return *rc::gen::inRange(0, 100) < percent; }

// One endpoint of one group in or out, one service changed, added or removed.
void mutate(Configuration& configuration) {
  for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
    auto& group = configuration.groups[*rc::gen::inRange<std::size_t>(0, kGroups.size())];
    const std::string address = pick(kAddresses);
    const auto removed =
        std::erase_if(group.endpoints, [&](const Endpoint& e) { return e.identity() == address; });
    if (removed == 0) group.endpoints.push_back(endpointAt(address));
  }
  const std::string name = pick<std::string>({"s1", "s2", "s3"});
  const auto gone = std::erase_if(configuration.services,
                                  [&](const BackendService& s) { return s.name == name; });
  if (gone != 0 && chance(20)) return;
  BackendService made = service(name, {}, *rc::gen::element(0, 10, 30));
  for (const std::string& member : kGroups)
    if (chance(60)) made.backends.push_back({member, chance(30)});
  made.weighted = chance(40);
  made.tracking = *rc::gen::element(TrackingMode::perConnection, TrackingMode::perSession);
  made.affinity = *rc::gen::element(SessionAffinity::none, SessionAffinity::clientIp);
  made.persist =
      *rc::gen::element(PersistOnUnhealthy::defaultForProtocol, PersistOnUnhealthy::neverPersist);
  made.failover.failoverRatio = *rc::gen::element(0.0, 0.5, 1.0);
  made.failover.dropTrafficIfUnhealthy = chance(30);
  made.failover.disableConnectionDrainOnFailover = chance(50);
  made.spillover =
      *rc::gen::element(Spillover::disabled, Spillover::stayWithinZone, Spillover::spillCrossZone);
  if (chance(10)) made.healthCheck.clear();
  configuration.services.push_back(made);
}

Configuration beginning() {
  Configuration configuration;
  configuration.node.zones = {{"za", "r", {}}, {"zb", "r", {}}};
  configuration.node.fwmarkMask = 0x00ff0000;
  configuration.groups = {group("ga", {"10.0.0.1", "10.0.0.2"}, "za"),
                          group("gb", {"10.0.0.3"}, "zb"), group("gc", {}, "zb")};
  configuration.services = {service("s1", {{"ga"}, {"gb", true}}, 30)};
  return configuration;
}

// A random event, as something that can happen to several control planes alike.
using Event = std::function<Result<Changes>(ControlPlane&)>;
Event randomEvent(Configuration& configuration, Time now) {
  std::vector<EndpointRef> configured;
  for (const auto& g : configuration.groups)
    for (const Endpoint& endpoint : g.endpoints)
      configured.push_back({g.name, endpoint.identity()});
  const int kind = configured.empty() ? 0 : *rc::gen::inRange(0, 10);
  if (kind < 2) {
    mutate(configuration);
    return [=](ControlPlane& plane) { return plane.apply(configuration, now); };
  }
  if (kind < 6) {
    std::vector<ControlPlane::HealthUpdate> updates;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
      updates.push_back(
          {pick(configured), *rc::gen::element(Health::healthy, Health::healthy, Health::unhealthy,
                                               Health::timeout, Health::unknown)});
    return [=](ControlPlane& plane) { return plane.setHealth(updates, now); };
  }
  if (kind == 6) {
    const ControlPlane::WeightUpdate update{
        pick(configured),
        {*rc::gen::element(ReportedWeight::Kind::value, ReportedWeight::Kind::unavailable,
                           ReportedWeight::Kind::missing),
         *rc::gen::inRange<std::uint32_t>(0, 3)}};
    return [=](ControlPlane& plane) { return plane.setWeight(std::span(&update, 1), now); };
  }
  if (kind == 7) return [=](ControlPlane& plane) { return Result<Changes>(plane.advance(now)); };
  const std::string name = pick<std::string>({"s1", "s2", "s3"});
  const std::string endpoint = pick(kAddresses);
  const std::chrono::seconds timeout{*rc::gen::inRange(0, 20)};
  if (kind == 8)
    return [=](ControlPlane& plane) { return plane.drain(name, endpoint, timeout, now); };
  return [=](ControlPlane& plane) { return plane.undrain(name, endpoint, now); };
}

void checkInvariants(const Controlled& c, Generation before, const Changes& changes) {
  std::map<Mark, std::string> endpointOfMark;
  std::set<ServiceId> ids;
  for (const auto& [name, snapshot] : c.services) {
    RC_ASSERT(ids.insert(snapshot.id).second);
    std::set<BackendSlot> slots;
    for (const SnapshotBackend& backend : snapshot.backends) {
      RC_ASSERT(slots.insert(backend.slot).second);
      RC_ASSERT((backend.mark.value() & ~0x00ff0000u) == 0u);
      RC_ASSERT(backend.mark != Mark());
      RC_ASSERT(endpointOfMark.try_emplace(backend.mark, backend.endpoint).first->second ==
                backend.endpoint);
      for (const Generation from : backend.validFrom) RC_ASSERT(from <= snapshot.generation);
    }
    const auto checkSet = [&](const EligibleSet& set) {
      for (const auto& member : set.members) RC_ASSERT(slots.contains(member.slot));
    };
    checkSet(snapshot.eligible);
    for (const auto& [zone, set] : snapshot.zonal) {
      checkSet(set);
      RC_ASSERT(set.members != snapshot.eligible.members);
    }
    RC_ASSERT(c.plane.view(name)->backends.size() >= snapshot.backends.size());
  }
  for (const ServiceSnapshot& snapshot : changes.services) RC_ASSERT(snapshot.generation > before);

  // The snapshots that changes left behind are those of a data plane that connects now.
  const Changes all = c.plane.everything();
  RC_ASSERT(all.services.size() == c.services.size());
  for (const ServiceSnapshot& snapshot : all.services)
    RC_ASSERT(snapshot == c.services.at(snapshot.name));
  RC_ASSERT(all.rules == c.rules);
  std::set<Mark> routed;
  for (const BackendRoute& route : c.plane.routes()) routed.insert(route.mark);
  for (const auto& [mark, endpoint] : endpointOfMark) RC_ASSERT(routed.contains(mark));
}

Generation newest(const Controlled& c) {
  Generation newest = c.rules.generation;
  for (const auto& [name, snapshot] : c.services) newest = std::max(newest, snapshot.generation);
  return newest;
}

TEST(ControlPlaneProperty, SnapshotsAreConsistentAndARestartChangesNothing) {
  EXPECT_TRUE(rc::check("histories", [] {
    const Health initial = *rc::gen::element(Health::healthy, Health::unknown);
    Configuration configuration = beginning();
    Controlled c(initial);
    c.take(c.plane.apply(configuration, at(0)));
    std::int64_t seconds = 0;
    const int length = *rc::gen::inRange(5, 30);
    for (int i = 0; i < length; ++i) {
      seconds += *rc::gen::element(0, 0, 1, 7, 30);
      const Configuration untouched = c.plane.configuration();
      const Event event = randomEvent(configuration, at(seconds));

      // A second manager takes over just before the event.
      Controlled successor(initial);
      RC_ASSERT(successor.plane.restore(c.plane.save()).ok());
      c.take(c.plane.advance(at(seconds)));
      const Changes caughtUp = successor.take(successor.plane.apply(untouched, at(seconds)));
      RC_ASSERT(successor.plane.everything().services == c.plane.everything().services);
      RC_ASSERT(caughtUp.removed.empty());

      const Generation before = newest(c);
      const auto happened = event(c.plane);
      const auto happenedThere = event(successor.plane);
      RC_ASSERT(happened.ok() == happenedThere.ok());
      if (!happened.ok()) continue;
      RC_ASSERT(happened->services == happenedThere->services);
      RC_ASSERT(happened->rules == happenedThere->rules);
      RC_ASSERT(happened->removed == happenedThere->removed);
      c.take(*happened);
      checkInvariants(c, before, *happened);
    }
  }));
}

TEST(ControlPlaneProperty, ApplyingTwiceChangesNothing) {
  EXPECT_TRUE(rc::check("apply is idempotent", [] {
    Configuration configuration = beginning();
    Controlled c;
    for (int i = 0; i < 5; ++i) {
      mutate(configuration);
      c.take(c.plane.apply(configuration, at(i)));
      RC_ASSERT(c.take(c.plane.apply(configuration, at(i))).empty());
    }
  }));
}

}  // namespace
}  // namespace weir
