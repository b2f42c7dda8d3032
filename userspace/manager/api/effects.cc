// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "weir/data_plane.h"

namespace weir::manager {

namespace {

// One control plane, as data planes see it.
struct Side {
  explicit Side(const ControlPlane& plane) : controlPlane(plane), changes(plane.everything()) {
    for (const ServiceSnapshot& snapshot : changes.services)
      services.emplace(snapshot.name, &snapshot);
  }
  std::uint64_t seed() const { return changes.rules ? changes.rules->hashSeed : 0; }
  // kNoZone: there is no such zone.
  ZoneIndex zoneNamed(const std::string& name) const {
    if (!changes.rules) return kNoZone;
    const auto& zones = changes.rules->zones;
    const auto found = std::find(zones.begin(), zones.end(), name);
    return found == zones.end() ? kNoZone
                                : ZoneIndex(static_cast<ZoneIndex::rep>(found - zones.begin()));
  }

  const ControlPlane& controlPlane;
  Changes changes;
  std::map<std::string, const ServiceSnapshot*> services;
};

// Who gets which slots of a table.
std::vector<const std::string*> ownersOf(const Service& service, const Service::Choice& choice) {
  std::vector<const std::string*> owners;
  for (const std::uint16_t member : choice.table.slots())
    owners.push_back(&service.describe(choice.set.members[member].slot)->endpoint);
  return owners;
}

double movedShare(const std::vector<const std::string*>& before,
                  const std::vector<const std::string*>& after, bool sameKeys) {
  if (before.empty() || after.empty()) return before.empty() == after.empty() ? 0.0 : 1.0;
  const auto size = static_cast<double>(before.size());
  if (sameKeys && before.size() == after.size()) {
    std::size_t moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (*before[i] != *after[i]) ++moved;
    return static_cast<double>(moved) / size;
  }
  // A connection's slots in the two tables have nothing to do with each other.
  std::map<std::string, double> shares;
  for (const std::string* owner : before) shares[*owner] += 1.0 / size;
  double stay = 0.0;
  for (const std::string* owner : after)
    if (const auto share = shares.find(*owner); share != shares.end())
      stay += share->second / static_cast<double>(after.size());
  return 1.0 - stay;
}

bool isSame(ServiceSnapshot a, ServiceSnapshot b) {
  // Ids and generations are numbers that are given anew; validFrom is compared where it matters.
  for (ServiceSnapshot* snapshot : {&a, &b}) {
    snapshot->id = {};
    snapshot->generation = {};
    std::sort(snapshot->backends.begin(), snapshot->backends.end(),
              [](const auto& x, const auto& y) { return x.slot < y.slot; });
  }
  return a == b;
}

std::string nameOf(const BackendView& backend) {
  return fmt::format("endpoint {} of {}", backend.endpoint, backend.group);
}

std::string percent(double share) { return fmt::format("{:.1f}%", share * 100); }

class Comparison {
 public:
  Comparison(const Side& before, const Side& after, Time now)
      : before_(before), after_(after), now_(now) {}

  Effects run() {
    std::set<std::string> names;
    for (const Side* side : {&before_, &after_})
      for (const auto& [name, snapshot] : side->services) names.insert(name);
    for (const std::string& name : names) compare(name);
    return std::move(effects_);
  }

 private:
  void compare(const std::string& name) {
    const auto old = before_.services.find(name), present = after_.services.find(name);
    ServiceEffects service;
    service.service = name;
    if (old == before_.services.end()) {
      tell(service, "the service is new");
    } else if (present == after_.services.end()) {
      service.moved = 1.0;
      service.allEnd = true;
      tell(service, "the service is gone, its tracked connections end at once");
    } else if (isSame(*old->second, *present->second) && before_.seed() == after_.seed()) {
      return;
    } else {
      compareBackends(service, *old->second, *present->second);
      compareSettings(service, *old->second, *present->second);
      compareEligible(service, *old->second, *present->second);
    }
    effects_.services.push_back(std::move(service));
  }

  void tell(ServiceEffects& service, const std::string& effect) {
    service.effects.push_back(effect);
    effects_.byResource[{"backendServices", service.service}].push_back(effect);
  }
  void tellGroup(ServiceEffects& service, const std::string& group, const std::string& effect) {
    service.effects.push_back(effect);
    auto& ofGroup = effects_.byResource[{"networkEndpointGroups", group}];
    if (std::find(ofGroup.begin(), ofGroup.end(), effect) == ofGroup.end())
      ofGroup.push_back(effect);
  }

  // Backends that come, drain or go, and entries that end with them.
  void compareBackends(ServiceEffects& service, const ServiceSnapshot& old,
                       const ServiceSnapshot& present) {
    const auto oldViews = viewsOf(before_, service.service);
    const auto views = viewsOf(after_, service.service);
    for (const auto& [endpoint, view] : views) {
      const auto earlier = oldViews.find(endpoint);
      const bool drained = earlier != oldViews.end() && earlier->second.health == Health::draining;
      if (earlier == oldViews.end())
        tellGroup(service, view.group, nameOf(view) + " joins");
      else if (view.health == Health::draining && !drained && view.drainDeadline)
        tellGroup(service, view.group,
                  fmt::format("{} starts draining ({} s)", nameOf(view), secondsLeft(view)));
      else if (view.health != Health::draining && drained)
        tellGroup(service, view.group, nameOf(view) + " no longer drains");
      else if (view.mark != earlier->second.mark)
        tellGroup(service, view.group, nameOf(view) + " gets another mark");
    }
    std::map<std::string, const SnapshotBackend*> staying;
    for (const SnapshotBackend& backend : present.backends)
      staying.emplace(backend.endpoint, &backend);
    for (const SnapshotBackend& backend : old.backends) {
      const auto found = staying.find(backend.endpoint);
      if (found == staying.end()) {
        service.endingEndpoints.push_back(backend.endpoint);
        tellGroup(service, backend.group,
                  fmt::format("endpoint {} of {} is gone, its tracked connections end at once",
                              backend.endpoint, backend.group));
      } else {
        compareValidity(service, backend, *found->second);
      }
    }
  }

  void compareValidity(ServiceEffects& service, const SnapshotBackend& old,
                       const SnapshotBackend& present) {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < kProtocolClasses; ++i)
      if (present.validFrom[i] > old.validFrom[i]) ++ended;
    if (ended == 0) return;
    if (ended == kProtocolClasses)
      service.endingEndpoints.push_back(old.endpoint);
    else
      service.moreMayEnd = true;
    tell(service, fmt::format("{} tracked connections to endpoint {} end at once",
                              ended == kProtocolClasses ? "all" : "some", old.endpoint));
  }

  void compareSettings(ServiceEffects& service, const ServiceSnapshot& old,
                       const ServiceSnapshot& present) {
    if (old.affinity != present.affinity)
      tell(service, fmt::format("connections are told apart by {} instead of {}",
                                toString(present.affinity), toString(old.affinity)));
    if (old.tracking != present.tracking)
      tell(service, fmt::format("connections are tracked {} instead of {}",
                                toString(present.tracking), toString(old.tracking)));
    if (old.affinity != present.affinity || old.tracking != present.tracking) {
      service.moreMayEnd = true;
      tell(service, "what is tracked by another key than before is selected anew");
    }
    if (old.idleTimeout != present.idleTimeout)
      tell(service,
           fmt::format("a tracked connection ends after {} s without a packet instead of {}",
                       present.idleTimeout.count(), old.idleTimeout.count()));
  }

  void compareEligible(ServiceEffects& service, const ServiceSnapshot& old,
                       const ServiceSnapshot& present) {
    const auto oldView = before_.controlPlane.view(service.service);
    const auto view = after_.controlPlane.view(service.service);
    const Pool pool = view->eligibility.pool;
    if (pool != oldView->eligibility.pool && pool != Pool::none)
      tell(service, fmt::format("pool switch: the {} backends take over",
                                pool == Pool::primary ? "primary" : "failover"));
    if (old.eligible.rule != present.eligible.rule)
      tell(service,
           fmt::format("eligible backends are chosen by {} instead of {}: {}",
                       present.eligible.rule, old.eligible.rule, view->eligibility.explanation));
    const Service was(old, before_.seed()), willBe(present, after_.seed());
    const bool sameKeys = old.affinity == present.affinity && before_.seed() == after_.seed();
    const auto share = [&](ZoneIndex oldZone, ZoneIndex zone) {
      return movedShare(ownersOf(was, was.choiceFor(oldZone)),
                        ownersOf(willBe, willBe.choiceFor(zone)), sameKeys);
    };
    service.moved = share(kNoZone, kNoZone);
    if (service.moved > 0)
      tell(service,
           fmt::format("new connections: {} go to another backend", percent(service.moved)));
    if (old.zonal.empty() && present.zonal.empty()) return;
    for (const std::string& zone : after_.changes.rules->zones) {
      const double ofZone = share(before_.zoneNamed(zone), after_.zoneNamed(zone));
      if (ofZone != service.moved)
        tell(service, fmt::format("new connections of clients in zone {}: {} go to another backend",
                                  zone, percent(ofZone)));
    }
  }

  static std::map<std::string, BackendView> viewsOf(const Side& side, const std::string& service) {
    std::map<std::string, BackendView> views;
    if (const auto view = side.controlPlane.view(service))
      for (const BackendView& backend : view->backends) views.emplace(backend.endpoint, backend);
    return views;
  }

  std::chrono::seconds::rep secondsLeft(const BackendView& view) const {
    return std::chrono::round<std::chrono::seconds>(*view.drainDeadline - now_).count();
  }

  const Side& before_;
  const Side& after_;
  Time now_;
  Effects effects_;
};

}  // namespace

Effects effectsOf(const ControlPlane& before, const ControlPlane& after, Time now) {
  const Side old(before), present(after);
  return Comparison(old, present, now).run();
}

}  // namespace weir::manager
