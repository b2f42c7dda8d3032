// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "config/checks.h"
#include "config/words.h"
#include "weir/model_words.h"

namespace weir::config {
namespace {

// P10, of each kind.
constexpr std::size_t kMaxGroups = 50;

// P6.1
void checkIdleTimeout(const Located<BackendService>& located, Problems& problems) {
  const BackendService& service = located.value;
  const bool fewAttributes = service.affinity == SessionAffinity::clientIp ||
                             service.affinity == SessionAffinity::clientIpProto ||
                             service.affinity == SessionAffinity::clientIpNoDestination;
  const bool isLong = service.tracking == TrackingMode::perSession && fewAttributes;
  const auto seconds = service.idleTimeout.count();
  const int max = isLong ? 57600 : 600;
  if (seconds >= 60 && seconds <= max) return;
  problems.error(
      located.at("connectionTrackingPolicy.idleTimeoutSec"),
      fmt::format("idleTimeoutSec must be a whole number from 60 to {}, not {}{}", max, seconds,
                  isLong ? ""
                         : "; up to 57600 with trackingMode PER_SESSION and "
                           "sessionAffinity CLIENT_IP, CLIENT_IP_PROTO or "
                           "CLIENT_IP_NO_DESTINATION"));
}

// P6.3
void checkPersistence(const Located<BackendService>& located, Problems& problems) {
  if (located.value.persist != PersistOnUnhealthy::alwaysPersist ||
      located.value.tracking != TrackingMode::perSession)
    return;
  problems.error(located.at("connectionTrackingPolicy.connectionPersistenceOnUnhealthyBackends"),
                 "ALWAYS_PERSIST is not allowed with trackingMode PER_SESSION; allowed are "
                 "DEFAULT_FOR_PROTOCOL and NEVER_PERSIST");
}

void checkHealthCheck(const Index& index, const Located<BackendService>& located,
                      Problems& problems) {
  const std::string& name = located.value.healthCheck;
  if (name.empty()) return;
  const Origin at = located.at("healthChecks.0");
  const auto* check = index.healthCheck(name);
  if (check == nullptr) {
    reportDangling(index, problems, at, {"healthChecks", "health check", name});
  } else if (!check->broken && !located.value.isManaged() &&
             isSound(problems, located, {"loadBalancingScheme"}) &&
             check->value.portSpecification == HealthCheck::PortSpecification::servingPort) {
    problems.error(at, fmt::format("health check {} has portSpecification USE_SERVING_PORT; a "
                                   "passthrough service has no serving port: give the check a port",
                                   quote(name)));
  }
}

// X3.1: what groups the two kinds of services can have.
bool fits(NetworkEndpointGroup::Type type, bool managed) noexcept {
  using Type = NetworkEndpointGroup::Type;
  switch (type) {
    case Type::gceVmIp:
      return !managed;
    case Type::gceVmIpPort:
      return true;
    case Type::nonGcpPrivateIpPort:
    case Type::internetIpPort:
    case Type::internetFqdnPort:
      return managed;
  }
  return false;
}

void checkGroup(const Origin& at, const Located<NetworkEndpointGroup>& group,
                const BackendService& service, Problems& problems) {
  if (!isSound(problems, group, {"networkEndpointType", "endpoints", "defaultPort"})) return;
  if (fits(group.value.type, service.isManaged())) return;
  problems.error(
      at, fmt::format("group {} has networkEndpointType {}{}, which does not fit service {} with "
                      "loadBalancingScheme {}; allowed are {}",
                      quote(group.value.name), toString(group.value.type),
                      group.value.type == NetworkEndpointGroup::Type::gceVmIp
                          ? " (addresses without ports)"
                          : "",
                      quote(service.name), toString(service.scheme),
                      service.isManaged() ? "GCE_VM_IP_PORT, NON_GCP_PRIVATE_IP_PORT, "
                                            "INTERNET_IP_PORT and INTERNET_FQDN_PORT"
                                          : "GCE_VM_IP and GCE_VM_IP_PORT"));
}

void checkPolicy(const Index& index, const Located<BackendService>& located, Problems& problems) {
  const std::string& name = located.value.proxy.lbPolicy;
  if (!name.empty() && index.lbPolicy(name) == nullptr)
    reportDangling(index, problems, located.at("serviceLbPolicy"),
                   {"serviceLbPolicies", "service load-balancing policy", name});
}

void checkBackends(const Index& index, const Located<BackendService>& located, Problems& problems) {
  std::unordered_map<std::string_view, std::size_t> seen;
  std::array<std::size_t, 2> counts{};  // primary, failover
  for (std::size_t i = 0; i < located.value.backends.size(); ++i) {
    const ServiceBackend& backend = located.value.backends[i];
    if (backend.group.empty()) continue;
    const Origin at = located.at(fmt::format("backends.{}.group", i));
    if (!seen.try_emplace(backend.group, i).second) {
      problems.error(at, fmt::format("group {} is listed twice in service {}", quote(backend.group),
                                     quote(located.value.name)));
      continue;
    }
    if (const auto* group = index.group(backend.group); group == nullptr)
      reportDangling(index, problems, at,
                     {"networkEndpointGroups", "network endpoint group", backend.group});
    else if (isSound(problems, located, {"loadBalancingScheme"}))
      checkGroup(at, *group, located.value, problems);
    if (++counts[backend.failover ? 1 : 0] == kMaxGroups + 1)
      problems.error(at, fmt::format("more than {} {} groups in service {}; at most {} primary and "
                                     "{} failover groups are allowed",
                                     kMaxGroups, backend.failover ? "failover" : "primary",
                                     quote(located.value.name), kMaxGroups, kMaxGroups));
  }
}

}  // namespace

void checkServices(const Draft& draft, const Index& index, Problems& problems) {
  for (const auto& located : draft.services) {
    checkHealthCheck(index, located, problems);
    checkBackends(index, located, problems);
    checkPolicy(index, located, problems);
    if (!isSound(problems, located, {"connectionTrackingPolicy.trackingMode"})) continue;
    if (isSound(problems, located, {"sessionAffinity", "connectionTrackingPolicy.idleTimeoutSec"}))
      checkIdleTimeout(located, problems);
    checkPersistence(located, problems);
  }
}

}  // namespace weir::config
