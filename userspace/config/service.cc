// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/resource_schemas.h"
#include "config/types.h"

namespace weir::config {
namespace {

struct RawService : BackendService {
  std::vector<std::string> healthChecks;
};

Type<SessionAffinity> sessionAffinity() {
  return choice<SessionAffinity>(
      {{"NONE", SessionAffinity::none},
       {"CLIENT_IP_PORT_PROTO", SessionAffinity::clientIpPortProto},
       {"CLIENT_IP_PROTO", SessionAffinity::clientIpProto},
       {"CLIENT_IP", SessionAffinity::clientIp},
       {"CLIENT_IP_NO_DESTINATION", SessionAffinity::clientIpNoDestination}},
      {{"GENERATED_COOKIE", "weir does not read HTTP"},
       {"HTTP_COOKIE", "weir does not read HTTP"},
       {"HEADER_FIELD", "weir does not read HTTP"},
       {"STRONG_COOKIE_AFFINITY", "weir does not read HTTP"}});
}

Type<ServiceProtocol> serviceProtocol() {
  return choice<ServiceProtocol>({{"TCP", ServiceProtocol::tcp},
                                  {"UDP", ServiceProtocol::udp},
                                  {"UNSPECIFIED", ServiceProtocol::unspecified}},
                                 {{"HTTP", "weir does not read HTTP"},
                                  {"HTTPS", "weir does not read HTTP"},
                                  {"HTTP2", "weir does not read HTTP"},
                                  {"H2C", "weir does not read HTTP"},
                                  {"GRPC", "weir does not read HTTP"},
                                  {"SSL", kProxyOnly}});
}

// true: weighted (P9).
Type<bool> localityLbPolicy() {
  return choice<bool>(
      {{"MAGLEV", false}, {"WEIGHTED_MAGLEV", true}, {"WEIGHTED_GCP_RENDEZVOUS", true}},
      {{"ROUND_ROBIN", kProxyOnly},
       {"LEAST_REQUEST", kProxyOnly},
       {"RANDOM", kProxyOnly},
       {"RING_HASH", kProxyOnly},
       {"ORIGINAL_DESTINATION", kProxyOnly},
       {"WEIGHTED_ROUND_ROBIN", kProxyOnly}});
}

const Schema<BackendService>& trackingSchema() {
  static const auto schema = [] {
    Schema<BackendService> s("connectionTrackingPolicy");
    s.field("trackingMode",
            choice<TrackingMode>({{"PER_CONNECTION", TrackingMode::perConnection},
                                  {"PER_SESSION", TrackingMode::perSession}}),
            &BackendService::tracking)
        .field("connectionPersistenceOnUnhealthyBackends",
               choice<PersistOnUnhealthy>(
                   {{"DEFAULT_FOR_PROTOCOL", PersistOnUnhealthy::defaultForProtocol},
                    {"NEVER_PERSIST", PersistOnUnhealthy::neverPersist},
                    {"ALWAYS_PERSIST", PersistOnUnhealthy::alwaysPersist}}),
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
            choice<Spillover>({{"ZONAL_AFFINITY_DISABLED", Spillover::disabled},
                               {"ZONAL_AFFINITY_STAY_WITHIN_ZONE", Spillover::stayWithinZone},
                               {"ZONAL_AFFINITY_SPILL_CROSS_ZONE", Spillover::spillCrossZone}}),
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
        .checked("sampleRate", decimal(0, 1))
        .ignored({"optionalMode", "optionalFields"});
    return s;
  }();
  return schema;
}

const Schema<ServiceBackend>& backendSchema() {
  static const auto schema = [] {
    Schema<ServiceBackend> s("a backend");
    s.required("group", reference(), &ServiceBackend::group)
        .field("failover", boolean(), &ServiceBackend::failover)
        .checked("balancingMode",
                 choice<int>({{"CONNECTION", 0}}, {{"UTILIZATION", kProxyOnly},
                                                   {"RATE", kProxyOnly},
                                                   {"IN_FLIGHT", kProxyOnly},
                                                   {"CUSTOM_METRICS", kProxyOnly}}))
        .ignored({"description"})
        .refused({"capacityScaler", "maxConnections", "maxConnectionsPerInstance",
                  "maxConnectionsPerEndpoint", "maxRate", "maxRatePerInstance",
                  "maxRatePerEndpoint", "maxUtilization", "preference", "customMetrics"},
                 kProxyOnly);
    return s;
  }();
  return schema;
}

const Schema<RawService>& schema() {
  static const auto schema = [] {
    Schema<RawService> s("a backend service");
    s.required("name", resourceName(), &BackendService::name)
        .field("loadBalancingScheme", passthroughScheme(), &BackendService::scheme)
        .field("protocol", serviceProtocol(), &BackendService::protocol)
        .field("sessionAffinity", sessionAffinity(), &BackendService::affinity)
        .inside("connectionTrackingPolicy", trackingSchema())
        .field("failoverPolicy", mappingOf(failoverSchema()), &BackendService::failover)
        .inside("connectionDraining", drainingSchema())
        .inside("networkPassThroughLbTrafficPolicy", trafficSchema())
        .field("localityLbPolicy", localityLbPolicy(), &BackendService::weighted)
        .field("healthChecks", listOf(reference(), 1), &RawService::healthChecks)
        .field("backends", listOf(mappingOf(backendSchema())), &BackendService::backends)
        .inside("logConfig", logSchema())
        .checked("enableCDN", alwaysFalse("weir does not cache"))
        .ignored({"kind", "id", "selfLink", "selfLinkWithId", "creationTimestamp", "fingerprint",
                  "region", "network", "description", "timeoutSec", "port", "portName", "usedBy",
                  "affinityCookieTtlSec", "metadatas", "params"})
        .refused({"serviceLbPolicy", "circuitBreakers", "consistentHash", "outlierDetection",
                  "ipAddressSelectionPolicy", "localityLbPolicies", "connectTimeoutSec"},
                 kProxyOnly)
        .refused(
            {"cdnPolicy", "iap", "customRequestHeaders", "customResponseHeaders", "compressionMode",
             "maxStreamDuration", "strongSessionAffinityCookie", "tlsSettings", "securitySettings"},
            "weir does not read HTTP")
        .refused({"securityPolicy", "edgeSecurityPolicy"}, "filter packets with nftables")
        .refused({"subsetting"}, "every backend of a service is used")
        .refused({"haPolicy", "serviceBindings", "customMetrics"}, "weir does not have it");
    return s;
  }();
  return schema;
}

}  // namespace

Type<LoadBalancingScheme> passthroughScheme() {
  return choice<LoadBalancingScheme>(
      {{"INTERNAL", LoadBalancingScheme::internal}, {"EXTERNAL", LoadBalancingScheme::external}},
      {{"INTERNAL_MANAGED", kNoProxyYet},
       {"EXTERNAL_MANAGED", kNoProxyYet},
       {"INTERNAL_SELF_MANAGED", "weir is no service mesh"}});
}

void readService(const Value& value, BackendService& out, Reader& reader) {
  RawService raw;
  schema().read(value, raw, reader);
  out = raw;
  if (!raw.healthChecks.empty()) out.healthCheck = raw.healthChecks.front();
}

ValuePtr writeService(const BackendService& service) {
  RawService raw{service, {}};
  if (!service.healthCheck.empty()) raw.healthChecks = {service.healthCheck};
  return schema().write(raw);
}

const MappingInfo& serviceFields() { return schema().info(); }

}  // namespace weir::config
