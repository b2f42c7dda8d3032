// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "config/draft.h"
#include "config/enum_type.h"
#include "config/resource_schemas.h"
#include "config/schemes.h"
#include "config/service_backend.h"
#include "config/types.h"

namespace weir::config {
namespace {

constexpr std::string_view kNoHttp = "weir does not read HTTP";

// localityLbPolicy: what both kinds of services have, and what only one of them has.
enum class Locality : std::uint8_t {
  maglev,
  weightedMaglev,
  weightedGcpRendezvous,
  roundRobin,
  leastRequest,
  random,
  ringHash,
  weightedRoundRobin,
  originalDestination
};

// idleTimeout is two things: of tracked connections in a BackendService (P6.1), of proxied ones in
// a ProxyService (X5.1).
struct RawService : BackendService, ProxyService {
  std::optional<Locality> localityWord;
  std::vector<std::string> healthChecks;
  std::vector<RawBackend> rawBackends;
};

Type<SessionAffinity> sessionAffinity() {
  return choiceOf(
      {SessionAffinity::none, SessionAffinity::clientIpPortProto, SessionAffinity::clientIpProto,
       SessionAffinity::clientIp, SessionAffinity::clientIpNoDestination},
      {{"GENERATED_COOKIE", kNoHttp},
       {"HTTP_COOKIE", kNoHttp},
       {"HEADER_FIELD", kNoHttp},
       {"STRONG_COOKIE_AFFINITY", kNoHttp}});
}

Type<ServiceProtocol> serviceProtocol() {
  return choiceOf({ServiceProtocol::tcp, ServiceProtocol::udp, ServiceProtocol::unspecified},
                  {{"HTTP", kNoHttp},
                   {"HTTPS", kNoHttp},
                   {"HTTP2", kNoHttp},
                   {"H2C", kNoHttp},
                   {"GRPC", kNoHttp},
                   {"SSL", "weir does not end TLS; TLS routes choose services by server name"}});
}

Type<Locality> localityLbPolicy() {
  return choice<Locality>({{"MAGLEV", Locality::maglev},
                           {"WEIGHTED_MAGLEV", Locality::weightedMaglev},
                           {"WEIGHTED_GCP_RENDEZVOUS", Locality::weightedGcpRendezvous},
                           {"ROUND_ROBIN", Locality::roundRobin},
                           {"LEAST_REQUEST", Locality::leastRequest},
                           {"RANDOM", Locality::random},
                           {"RING_HASH", Locality::ringHash},
                           {"WEIGHTED_ROUND_ROBIN", Locality::weightedRoundRobin},
                           {"ORIGINAL_DESTINATION", Locality::originalDestination}});
}

// nullopt: no policy of proxies.
std::optional<LocalityPolicy> proxyPolicyOf(Locality locality) noexcept {
  switch (locality) {
    case Locality::maglev:
      return LocalityPolicy::maglev;
    case Locality::roundRobin:
      return LocalityPolicy::roundRobin;
    case Locality::leastRequest:
      return LocalityPolicy::leastRequest;
    case Locality::random:
      return LocalityPolicy::random;
    case Locality::ringHash:
      return LocalityPolicy::ringHash;
    case Locality::weightedRoundRobin:
      return LocalityPolicy::weightedRoundRobin;
    case Locality::originalDestination:
      return LocalityPolicy::originalDestination;
    case Locality::weightedMaglev:
    case Locality::weightedGcpRendezvous:
      return std::nullopt;
  }
  return std::nullopt;
}

Locality localityOf(LocalityPolicy policy) noexcept {
  switch (policy) {
    case LocalityPolicy::roundRobin:
      return Locality::roundRobin;
    case LocalityPolicy::leastRequest:
      return Locality::leastRequest;
    case LocalityPolicy::random:
      return Locality::random;
    case LocalityPolicy::ringHash:
      return Locality::ringHash;
    case LocalityPolicy::maglev:
      return Locality::maglev;
    case LocalityPolicy::weightedRoundRobin:
      return Locality::weightedRoundRobin;
    case LocalityPolicy::originalDestination:
      return Locality::originalDestination;
  }
  return Locality::roundRobin;
}

// P9; nullopt: no policy of passthrough services.
std::optional<bool> isWeighted(Locality locality) noexcept {
  if (locality == Locality::maglev) return false;
  if (locality == Locality::weightedMaglev || locality == Locality::weightedGcpRendezvous)
    return true;
  return std::nullopt;
}

const Schema<BackendService>& trackingSchema() {
  static const auto schema = [] {
    Schema<BackendService> s("connectionTrackingPolicy");
    s.field("trackingMode", choiceOf({TrackingMode::perConnection, TrackingMode::perSession}),
            &BackendService::tracking)
        .field("connectionPersistenceOnUnhealthyBackends",
               choiceOf({PersistOnUnhealthy::defaultForProtocol, PersistOnUnhealthy::neverPersist,
                         PersistOnUnhealthy::alwaysPersist}),
               &BackendService::persist)
        .field("idleTimeoutSec",
               integer(60, 57600,
                       "a whole number from 60 to 600, with PER_SESSION and a 1-, 2- or 3-tuple "
                       "affinity to 57600"),
               &BackendService::idleTimeout)
        .checked("enableStrongAffinity", alwaysFalse("weir does not have strong affinity"));
    return s;
  }();
  return schema;
}

const Schema<FailoverPolicy>& failoverSchema() {
  static const auto schema = [] {
    Schema<FailoverPolicy> s("failoverPolicy");
    s.field("failoverRatio", decimal(0, 1), &FailoverPolicy::failoverRatio)
        .field("dropTrafficIfUnhealthy", boolean(), &FailoverPolicy::dropTrafficIfUnhealthy)
        .field("disableConnectionDrainOnFailover", boolean(),
               &FailoverPolicy::disableConnectionDrainOnFailover);
    return s;
  }();
  return schema;
}

const Schema<BackendService>& drainingSchema() {
  static const auto schema = [] {
    Schema<BackendService> s("connectionDraining");
    s.field("drainingTimeoutSec", integer(0, 3600), &BackendService::drainingTimeout);
    return s;
  }();
  return schema;
}

const Schema<BackendService>& trafficSchema() {
  static const auto zonal = [] {
    Schema<BackendService> s("zonalAffinity");
    s.field("spillover",
            choiceOf({Spillover::disabled, Spillover::stayWithinZone, Spillover::spillCrossZone}),
            &BackendService::spillover)
        .field("spilloverRatio", decimal(0, 1), &BackendService::spilloverRatio);
    return s;
  }();
  static const auto schema = [] {
    Schema<BackendService> s("networkPassThroughLbTrafficPolicy");
    s.inside("zonalAffinity", zonal);
    return s;
  }();
  return schema;
}

const Schema<BackendService>& logSchema() {
  static const auto schema = [] {
    Schema<BackendService> s("logConfig");
    s.field("enable", boolean(), &BackendService::logEnable)
        .field("sampleRate", decimal(0, 1), &BackendService::logSampleRate)
        .ignored({"optionalMode", "optionalFields"});
    return s;
  }();
  return schema;
}

const Schema<ProxyService>& breakerSchema() {
  static const auto schema = [] {
    Schema<ProxyService> s("circuitBreakers");
    s.field("maxConnections", integer(1, 2147483647), &ProxyService::maxConnections)
        .refused({"maxRequests", "maxPendingRequests", "maxRequestsPerConnection", "maxRetries"},
                 kNoHttp)
        .refused({"connectTimeout"}, "use the service's connectTimeoutSec");
    return s;
  }();
  return schema;
}

const Schema<RawService>& schema() {
  static const auto schema = [] {
    Schema<RawService> s("a backend service");
    s.required("name", resourceName(), &BackendService::name)
        .field("loadBalancingScheme", loadBalancingScheme(), &BackendService::scheme)
        .field("protocol", serviceProtocol(), &BackendService::protocol)
        .field("sessionAffinity", sessionAffinity(), &BackendService::affinity)
        .inside("connectionTrackingPolicy", trackingSchema())
        .field("failoverPolicy", mappingOf(failoverSchema()), &BackendService::failover)
        .inside("connectionDraining", drainingSchema())
        .inside("networkPassThroughLbTrafficPolicy", trafficSchema())
        .field("localityLbPolicy", localityLbPolicy(), &RawService::localityWord,
               "MAGLEV; of proxies without affinity ROUND_ROBIN")
        .field("timeoutSec", integer(1, 2147483647), &ProxyService::idleTimeout)
        .field("connectTimeoutSec", integer(1, 300), &ProxyService::connectTimeout)
        .field("ipAddressSelectionPolicy",
               choiceOf({AddressSelection::ipv4Only, AddressSelection::preferIpv6,
                         AddressSelection::ipv6Only}),
               &ProxyService::addressSelection)
        .inside("circuitBreakers", breakerSchema())
        .field("serviceLbPolicy", reference(), &ProxyService::lbPolicy)
        .field("healthChecks", listOf(reference(), 1), &RawService::healthChecks)
        .field("backends", listOf(mappingOf(backendSchema())), &RawService::rawBackends)
        .inside("logConfig", logSchema())
        .checked("enableCDN", alwaysFalse("weir does not cache"))
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "fingerprint",
                  "region", "network", "description", "port", "portName", "usedBy",
                  "affinityCookieTtlSec", "metadatas", "params"})
        .refused({"cdnPolicy", "iap", "customRequestHeaders", "customResponseHeaders",
                  "compressionMode", "consistentHash", "outlierDetection", "maxStreamDuration",
                  "strongSessionAffinityCookie", "tlsSettings", "securitySettings"},
                 kNoHttp)
        .refused({"localityLbPolicies"}, "give one policy in localityLbPolicy")
        .refused({"securityPolicy", "edgeSecurityPolicy"}, "filter packets with nftables")
        .refused({"subsetting"}, "every backend of a service is used")
        .refused({"haPolicy", "serviceBindings", "customMetrics"}, "weir does not have it");
    return s;
  }();
  return schema;
}

// X1 to X4: what a proxy's service has and has not.
void checkManaged(const Value& value, const RawService& raw, Reader& reader) {
  refuseKeysOf(ServiceKind::passthrough, value,
               {"connectionTrackingPolicy", "failoverPolicy", "networkPassThroughLbTrafficPolicy"},
               raw.scheme, reader);
  if (raw.protocol != ServiceProtocol::tcp)
    reader.error(
        locate(value, "protocol"),
        fmt::format("protocol {} is not that of a proxy, whose service has protocol TCP; "
                    "it needs {}",
                    toString(raw.protocol), needsScheme(ServiceKind::passthrough, raw.scheme)));
  if (raw.localityWord && !proxyPolicyOf(*raw.localityWord))
    reader.error(
        locate(value, "localityLbPolicy"),
        fmt::format("{} belongs to passthrough services: it needs {}; a proxy's weighted policy is "
                    "WEIGHTED_ROUND_ROBIN",
                    valueAt(value, "localityLbPolicy")->text,
                    needsScheme(ServiceKind::passthrough, raw.scheme)));
  if (raw.rawBackends.size() == 1 && raw.rawBackends.front().capacityScaler == 0)
    reader.error(locate(value, "backends.0.capacityScaler"),
                 "capacityScaler 0 takes the only group out of the service; allowed is a number "
                 "from 0.1 to 1, or 0 beside another group");
}

void checkPassthrough(const Value& value, const RawService& raw, Reader& reader) {
  refuseKeysOf(
      ServiceKind::proxy, value,
      {"serviceLbPolicy", "circuitBreakers", "ipAddressSelectionPolicy", "connectTimeoutSec"},
      raw.scheme, reader);
  if (raw.localityWord && !isWeighted(*raw.localityWord))
    reader.error(
        locate(value, "localityLbPolicy"),
        fmt::format("{} belongs to proxies: it needs {}; a passthrough service has MAGLEV, "
                    "WEIGHTED_MAGLEV or WEIGHTED_GCP_RENDEZVOUS",
                    valueAt(value, "localityLbPolicy")->text,
                    needsScheme(ServiceKind::proxy, raw.scheme)));
}

}  // namespace

Type<LoadBalancingScheme> loadBalancingScheme() {
  return choiceOf({LoadBalancingScheme::internal, LoadBalancingScheme::external,
                   LoadBalancingScheme::internalManaged, LoadBalancingScheme::externalManaged},
                  {{"INTERNAL_SELF_MANAGED", "weir is no service mesh"}});
}

void readService(const Value& value, BackendService& out, Reader& reader) {
  RawService raw;
  schema().read(value, raw, reader);
  out = raw;
  if (!raw.healthChecks.empty()) out.healthCheck = raw.healthChecks.front();
  const bool managed = out.isManaged();
  const bool schemeIsKnown = !reader.isWrong(value, "loadBalancingScheme");
  for (std::size_t i = 0; i < raw.rawBackends.size(); ++i) {
    const RawBackend& backend = raw.rawBackends[i];
    out.backends.push_back(takeBackend(backend, managed));
    const Value* written = valueAt(value, fmt::format("backends.{}", i));
    if (schemeIsKnown && written != nullptr && written->kind == Value::Kind::mapping)
      checkBackend(*written, backend, raw.scheme, reader);
  }
  if (managed)
    out.proxy = raw;
  else
    out.weighted = raw.localityWord && isWeighted(*raw.localityWord).value_or(false);
  if (managed && raw.localityWord) out.proxy.locality = proxyPolicyOf(*raw.localityWord);
  if (!schemeIsKnown) return;
  if (managed)
    checkManaged(value, raw, reader);
  else
    checkPassthrough(value, raw, reader);
}

ValuePtr writeService(const BackendService& service) {
  RawService raw{service, service.proxy, {}, {}, {}};
  if (!service.healthCheck.empty()) raw.healthChecks = {service.healthCheck};
  for (const ServiceBackend& backend : service.backends) raw.rawBackends.push_back(rawOf(backend));
  if (service.isManaged() && service.proxy.locality)
    raw.localityWord = localityOf(*service.proxy.locality);
  if (!service.isManaged() && service.weighted) raw.localityWord = Locality::weightedMaglev;
  return schema().write(raw);
}

const MappingInfo& serviceFields() { return schema().info(); }

}  // namespace weir::config
