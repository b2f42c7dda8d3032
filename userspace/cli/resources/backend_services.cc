// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

std::vector<Flag> policyFlags() {
  const std::string tracking = "connectionTrackingPolicy.";
  const std::string failover = "failoverPolicy.";
  const std::string zonal = "networkPassThroughLbTrafficPolicy.zonalAffinity.";
  return {
      word("--load-balancing-scheme", "loadBalancingScheme",
           "passthrough or proxy, inside or outside (default INTERNAL)",
           {"INTERNAL", "EXTERNAL", "INTERNAL_MANAGED", "EXTERNAL_MANAGED"}),
      word("--protocol", "protocol", "of the forwarding rules that lead here (default TCP)",
           {"TCP", "UDP", "UNSPECIFIED"}),
      reference("--health-checks", Value::names, "healthChecks",
                "the health check of the backends; at most one", "healthChecks"),
      word("--session-affinity", "sessionAffinity",
           "which attributes of a packet choose the backend (default NONE)",
           {"NONE", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_PROTO", "CLIENT_IP",
            "CLIENT_IP_NO_DESTINATION"}),
      word("--tracking-mode", tracking + "trackingMode",
           "what counts as one connection: five attributes, or those of the affinity (default "
           "PER_CONNECTION)",
           {"PER_CONNECTION", "PER_SESSION"}),
      field("--idle-timeout-sec", Value::seconds, tracking + "idleTimeoutSec",
            "without a packet for so long a connection is forgotten (default 600s)"),
      word("--connection-persistence-on-unhealthy-backends",
           tracking + "connectionPersistenceOnUnhealthyBackends",
           "whether connections stay with a backend that turned unhealthy (default "
           "DEFAULT_FOR_PROTOCOL)",
           {"DEFAULT_FOR_PROTOCOL", "NEVER_PERSIST", "ALWAYS_PERSIST"}),
      field("--connection-draining-timeout", Value::seconds,
            "connectionDraining.drainingTimeoutSec",
            "how long connections of a removed endpoint live on (default 0s)"),
      field("--failover-ratio", Value::decimal, failover + "failoverRatio",
            "share of healthy primaries, 0.0 to 1.0, below which the failover backends take over"),
      toggle(
          "--drop-traffic-if-unhealthy", Value::onOff, failover + "dropTrafficIfUnhealthy",
          "with no healthy backend at all, drop new connections instead of trying the primaries"),
      toggle("--connection-drain-on-failover", Value::offOn,
             failover + "disableConnectionDrainOnFailover",
             "connections live on when primaries and failover backends change places (default); "
             "with --no-, all of the service's connections are forgotten then"),
      word("--locality-lb-policy", "localityLbPolicy",
           "how a backend is chosen; the first three are for passthrough services",
           {"MAGLEV", "WEIGHTED_MAGLEV", "WEIGHTED_GCP_RENDEZVOUS", "ROUND_ROBIN", "LEAST_REQUEST",
            "RANDOM", "RING_HASH", "WEIGHTED_ROUND_ROBIN", "ORIGINAL_DESTINATION"}),
      word("--zonal-affinity-spillover", zonal + "spillover",
           "whether, and how strictly, clients stay in their zone",
           {"ZONAL_AFFINITY_DISABLED", "ZONAL_AFFINITY_STAY_WITHIN_ZONE",
            "ZONAL_AFFINITY_SPILL_CROSS_ZONE"}),
      field("--zonal-affinity-spillover-ratio", Value::decimal, zonal + "spilloverRatio",
            "with SPILL_CROSS_ZONE: healthy share of the zone, 0.0 to 1.0, below which all zones "
            "are used"),
      toggle("--enable-logging", Value::onOff, "logConfig.enable", "log what this service does"),
      field("--logging-sample-rate", Value::decimal, "logConfig.sampleRate",
            "share of connections that are logged, 0.0 to 1.0"),
      field("--timeout", Value::seconds, "timeoutSec",
            "proxies: without a byte for so long a connection is closed (default 30s)"),
      reference("--service-lb-policy", Value::text, "serviceLbPolicy",
                "proxies: where load goes across groups, zones and regions", "serviceLbPolicies"),
      word("--ip-address-selection-policy", "ipAddressSelectionPolicy",
           "proxies: which address of an endpoint that has both",
           {"IPV4_ONLY", "PREFER_IPV6", "IPV6_ONLY"}),
      field("--connect-timeout", Value::seconds, "connectTimeoutSec",
            "proxies: how long connecting to a backend may take (default 5s); weir's own flag"),
      field("--circuit-breakers-max-connections", Value::number, "circuitBreakers.maxConnections",
            "proxies: beyond so many connections clients are closed at once; weir's own flag"),
      field("--description", Value::text, "description", "accepted; weir does not keep it"),
  };
}

void addForeign(std::vector<Flag>& flags) {
  flags.push_back(ignoredSwitch("--global-health-checks"));
  ignore(flags, {"--health-checks-region", "--network", "--port-name", "--logging-optional",
                 "--logging-optional-fields"});
  refuse(flags,
         {"--affinity-cookie-ttl", "--enable-cdn", "--cache-mode", "--compression-mode",
          "--custom-request-header", "--custom-response-header", "--iap", "--tls-settings"},
         "weir does not read HTTP");
  refuse(flags, {"--http-health-checks", "--https-health-checks"},
         "use --health-checks with a health check of type HTTP or HTTPS");
  refuse(flags, {"--security-policy", "--edge-security-policy"}, "filter packets with nftables");
  refuse(flags, {"--subsetting-policy"}, "every backend of a service is used");
  refuse(flags, {"--enable-strong-affinity"}, "weir does not have strong affinity");
  refuse(flags, {"--service-bindings"}, "weir is no service mesh");
}

std::vector<Flag> createFlags() {
  auto flags = policyFlags();
  addForeign(flags);
  return flags;
}

std::vector<Flag> updateFlags() {
  auto flags = policyFlags();
  flags.push_back(toggle("--no-health-checks", Value::reset, "healthChecks",
                         "no health check: all backends count as healthy"));
  flags.push_back(toggle("--no-service-lb-policy", Value::reset, "serviceLbPolicy",
                         "the defaults of load-balancing policies again"));
  addForeign(flags);
  return flags;
}

std::string healthyOf(const Json& service) {
  const Json status = service.value("status", Json::object());
  if (!status.contains("total")) return "";
  return fmt::format("{}/{}", status.value("healthy", 0u), status.value("total", 0u));
}

std::string trackingOf(const Json& service) {
  return service.value("/connectionTrackingPolicy/trackingMode"_json_pointer,
                       std::string("PER_CONNECTION"));
}

Column orDefault(std::string title, std::string path, std::string otherwise) {
  Column plain = column(std::move(title), std::move(path));
  return {plain.title, [cell = plain.cell, otherwise](const Json& resource) {
            std::string text = cell(resource);
            return text.empty() ? otherwise : text;
          }};
}

}  // namespace

const Collection& backendServices() {
  static const Collection kCollection{
      .command = "backend-services",
      .api = "backendServices",
      .singular = "backend service",
      .summary = "Backend services: which backends share connections, and how",
      .columns = {column("NAME", "name"),
                  orDefault("SCHEME", "loadBalancingScheme", "INTERNAL"),
                  orDefault("PROTOCOL", "protocol", "TCP"),
                  orDefault("AFFINITY", "sessionAffinity", "NONE"),
                  {"TRACKING", trackingOf},
                  {"HEALTHY", healthyOf},
                  column("ELIGIBLE", "status.eligible"),
                  column("RULE", "status.rule"),
                  column("FORWARDING RULES", "status.forwardingRules")},
      .exampleName = "web"};
  return kCollection;
}

void addBackendServices(std::vector<Command>& commands) {
  const Collection& collection = backendServices();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(
      createCommand(collection, createFlags(),
                    "weirctl backend-services create web --protocol=TCP --health-checks=web-hc "
                    "--session-affinity=CLIENT_IP --connection-draining-timeout=300s"));
  commands.push_back(updateCommand(collection, updateFlags(),
                                   "weirctl backend-services update web --failover-ratio=0.5 "
                                   "--no-connection-drain-on-failover"));
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
