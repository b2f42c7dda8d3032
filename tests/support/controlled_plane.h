// SPDX-License-Identifier: GPL-2.0-or-later
//
// Configurations in a few words, and a control plane with what a data plane would know of it.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "weir/control_plane.h"

namespace weir {

inline Time at(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }

inline Endpoint endpointAt(const std::string& address) {
  Endpoint endpoint;
  endpoint.ipAddress = Address::parse(address);
  return endpoint;
}

inline NetworkEndpointGroup group(const std::string& name, const std::vector<std::string>& members,
                                  const std::string& zone = "z1") {
  NetworkEndpointGroup result;
  result.name = name;
  result.zone = zone;
  for (const std::string& member : members) result.endpoints.push_back(endpointAt(member));
  return result;
}

inline BackendService service(const std::string& name, const std::vector<ServiceBackend>& backends,
                              int drainingTimeout = 0) {
  BackendService result;
  result.name = name;
  result.healthCheck = "hc";
  result.backends = backends;
  result.drainingTimeout = std::chrono::seconds(drainingTimeout);
  return result;
}

// A control plane and the snapshots that its changes left at a data plane.
struct Controlled {
  explicit Controlled(Health initial = Health::healthy) : plane(initial) {}

  Changes take(Result<Changes> result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? take(std::move(*result)) : Changes{};
  }
  Changes take(Changes changes) {
    for (const ServiceSnapshot& snapshot : changes.services) services[snapshot.name] = snapshot;
    for (const ServiceId id : changes.removed)
      std::erase_if(services, [&](const auto& entry) { return entry.second.id == id; });
    if (changes.rules) rules = *changes.rules;
    return changes;
  }

  Changes apply(Configuration configuration, std::int64_t now) {
    return take(plane.apply(std::move(configuration), at(now)));
  }
  Changes health(const std::vector<std::pair<EndpointRef, Health>>& states, std::int64_t now) {
    std::vector<ControlPlane::HealthUpdate> updates;
    for (const auto& [ref, state] : states) updates.push_back({ref, state});
    return take(plane.setHealth(updates, at(now)));
  }
  Changes weight(const EndpointRef& ref, ReportedWeight weight, std::int64_t now) {
    const std::vector<ControlPlane::WeightUpdate> updates{{ref, weight}};
    return take(plane.setWeight(updates, at(now)));
  }

  const SnapshotBackend* backend(const std::string& name, const std::string& endpoint) const {
    const auto snapshot = services.find(name);
    if (snapshot == services.end()) return nullptr;
    for (const SnapshotBackend& backend : snapshot->second.backends)
      if (backend.endpoint == endpoint) return &backend;
    return nullptr;
  }
  // Would an entry of this class, made in `madeIn`, still count?
  bool entryLives(const std::string& name, const std::string& endpoint, ProtocolClass protocol,
                  Generation madeIn) const {
    const SnapshotBackend* found = backend(name, endpoint);
    return found != nullptr && madeIn >= found->validFrom[static_cast<std::size_t>(protocol)];
  }
  Generation generation(const std::string& name) const { return services.at(name).generation; }
  // Endpoints of the set for clients without a zone, by the name's order.
  std::vector<std::string> eligible(const std::string& name) const {
    return endpointsOf(services.at(name), services.at(name).eligible);
  }
  static std::vector<std::string> endpointsOf(const ServiceSnapshot& snapshot,
                                              const EligibleSet& set) {
    std::vector<std::string> endpoints;
    for (const auto& member : set.members)
      for (const SnapshotBackend& backend : snapshot.backends)
        if (backend.slot == member.slot) endpoints.push_back(backend.endpoint);
    return endpoints;
  }

  ControlPlane plane;
  std::map<std::string, ServiceSnapshot> services;
  RulesSnapshot rules;
};

}  // namespace weir
