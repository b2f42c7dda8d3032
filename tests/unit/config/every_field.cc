// SPDX-License-Identifier: GPL-2.0-or-later
#include "every_field.h"

#include <gtest/gtest.h>

#include <optional>

#include "config/collections.h"
#include "config/resource_schemas.h"

namespace weir::config::test {
namespace {

constexpr auto kPassthrough = R"({
  "location": {"region": "r1", "zone": "za"},
  "zones": [{"name": "za", "region": "r1", "clientRanges": ["10.1.0.0/16", "fd00::/8"]}],
  "proximity": {"za": 0.5},
  "fwmarkMask": "0xffff0000", "hashSeed": 7, "queues": 2, "queueBase": 8100,
  "ruleBase": 10000, "tableBase": "0x77650000", "routeProtocol": 87,
  "trackingTable": {"ipv4Entries": 1024, "ipv6Entries": 2048},
  "metrics": {"address": "[::1]:9147"},
  "log": {"level": "debug"},
  "interfaces": ["eth0", "eth1"], "manageSysctls": true, "engineGraceSec": 20,
  "flowCache": "require",
  "proxy": {"sourceAddresses": ["10.0.0.1", "fd00::1"], "clientHelloTimeoutSec": 5,
            "shutdownGraceSec": 60, "threads": 4, "keepaliveIdleSec": 30,
            "keepaliveIntervalSec": 5, "keepaliveProbes": 3, "userTimeoutSec": 45,
            "nameServers": ["10.0.0.53"], "dnsMinTtlSec": 1, "dnsMaxTtlSec": 604800},
  "healthChecks": [
    {"name": "hc", "type": "TCP", "checkIntervalSec": 10, "timeoutSec": 5, "healthyThreshold": 3,
     "unhealthyThreshold": 3, "probeTarget": "ENDPOINT", "logConfig": {"enable": true},
     "tcpHealthCheck": {"port": 80, "portSpecification": "USE_FIXED_PORT",
                        "proxyHeader": "PROXY_V1", "request": "a", "response": "b"}},
    {"name": "ssl", "type": "SSL", "sslHealthCheck": {"port": 443, "portSpecification":
      "USE_FIXED_PORT", "proxyHeader": "NONE", "request": "a", "response": "b"}},
    {"name": "http", "type": "HTTP", "httpHealthCheck": {"port": 80, "portSpecification":
      "USE_FIXED_PORT", "proxyHeader": "NONE", "host": "h", "requestPath": "/h", "response": "b"}},
    {"name": "https", "type": "HTTPS", "httpsHealthCheck": {"port": 443, "portSpecification":
      "USE_FIXED_PORT", "proxyHeader": "NONE", "host": "h", "requestPath": "/h", "response": "b"}},
    {"name": "http2", "type": "HTTP2", "http2HealthCheck": {"port": 443, "portSpecification":
      "USE_FIXED_PORT", "proxyHeader": "NONE", "host": "h", "requestPath": "/h", "response": "b"}},
    {"name": "grpc", "type": "GRPC", "grpcHealthCheck": {"port": 9000, "portSpecification":
      "USE_FIXED_PORT", "grpcServiceName": "s"}},
    {"name": "grpcs", "type": "GRPC_WITH_TLS", "grpcTlsHealthCheck": {"port": 9000,
      "portSpecification": "USE_FIXED_PORT", "grpcServiceName": "s"}}],
  "networkEndpointGroups": [
    {"name": "g", "zone": "za", "networkEndpointType": "GCE_VM_IP", "endpoints": [
      {"ipAddress": "10.2.0.1", "ipv6Address": "fd00::2:1", "instance": "vm", "weight": 5}]}],
  "backendServices": [
    {"name": "s", "loadBalancingScheme": "INTERNAL", "protocol": "TCP",
     "sessionAffinity": "CLIENT_IP",
     "connectionTrackingPolicy": {"trackingMode": "PER_SESSION",
       "connectionPersistenceOnUnhealthyBackends": "NEVER_PERSIST", "idleTimeoutSec": 3600,
       "enableStrongAffinity": false},
     "failoverPolicy": {"failoverRatio": 0.5, "dropTrafficIfUnhealthy": true,
       "disableConnectionDrainOnFailover": true},
     "connectionDraining": {"drainingTimeoutSec": 300},
     "networkPassThroughLbTrafficPolicy": {"zonalAffinity": {
       "spillover": "ZONAL_AFFINITY_SPILL_CROSS_ZONE", "spilloverRatio": 0.5}},
     "localityLbPolicy": "WEIGHTED_MAGLEV", "healthChecks": ["hc"],
     "backends": [{"group": "g", "failover": true}],
     "logConfig": {"enable": true, "sampleRate": 0.5}, "enableCDN": false}],
  "forwardingRules": [
    {"name": "r", "loadBalancingScheme": "INTERNAL", "IPAddress": "10.9.9.9", "IPProtocol": "TCP",
     "ports": [80, "443"], "backendService": "s", "announce": "ARP",
     "isMirroringCollector": false},
    {"name": "range", "IPAddress": "10.9.9.8", "portRange": "8000-8999", "backendService": "s"},
    {"name": "all", "IPAddress": "fd00::9", "allPorts": true, "backendService": "s"}],
  "routes": [{"name": "x", "destRange": "10.0.0.0/8", "priority": 900, "nextHopIlb": "r"}]
})";

constexpr auto kProxies = R"({
  "healthChecks": [{"name": "hc", "tcpHealthCheck": {"portSpecification": "USE_SERVING_PORT"}}],
  "networkEndpointGroups": [
    {"name": "g", "zone": "za", "networkEndpointType": "NON_GCP_PRIVATE_IP_PORT",
     "defaultPort": 80, "endpoints": [{"ipAddress": "10.2.0.1", "port": 8080}]},
    {"name": "f", "zone": "za", "networkEndpointType": "INTERNET_FQDN_PORT",
     "endpoints": [{"fqdn": "a.example.com", "port": 443}]},
    {"name": "h", "defaultPort": 80}, {"name": "i", "defaultPort": 80},
    {"name": "j", "defaultPort": 80}, {"name": "k", "defaultPort": 80}],
  "backendServices": [
    {"name": "s", "loadBalancingScheme": "EXTERNAL_MANAGED", "protocol": "TCP",
     "localityLbPolicy": "LEAST_REQUEST", "timeoutSec": 60, "connectTimeoutSec": 3,
     "ipAddressSelectionPolicy": "PREFER_IPV6", "circuitBreakers": {"maxConnections": 100},
     "serviceLbPolicy": "p", "healthChecks": ["hc"],
     "backends": [
       {"group": "g", "balancingMode": "CONNECTION", "maxConnections": 10, "capacityScaler": 0.5,
        "preference": "PREFERRED"},
       {"group": "f", "balancingMode": "CONNECTION", "maxConnectionsPerInstance": 10},
       {"group": "h", "balancingMode": "UTILIZATION", "maxUtilization": 0.5,
        "maxConnectionsPerEndpoint": 10},
       {"group": "i", "balancingMode": "RATE", "maxRate": 10},
       {"group": "j", "balancingMode": "RATE", "maxRatePerInstance": 0.5},
       {"group": "k", "balancingMode": "RATE", "maxRatePerEndpoint": 0.5}]}],
  "targetTcpProxies": [
    {"name": "t", "service": "s", "proxyHeader": "PROXY_V2", "acceptProxyFrom": ["10.0.0.0/8"],
     "proxyBind": false},
    {"name": "tls"}],
  "tlsRoutes": [
    {"name": "x", "targetProxies": ["tls"], "rules": [
      {"matches": [{"sniHost": ["a.example.com", "*.example.com"], "alpn": ["h2"]}],
       "action": {"destinations": [{"serviceName": "s", "weight": 5}], "idleTimeout": "60s"}}]}],
  "serviceLbPolicies": [
    {"name": "p", "loadBalancingAlgorithm": "SPRAY_TO_REGION",
     "autoCapacityDrain": {"enable": true}, "failoverConfig": {"failoverHealthThreshold": 80},
     "isolationConfig": {"isolationGranularity": "REGION", "isolationMode": "STRICT"}}],
  "forwardingRules": [
    {"name": "r", "loadBalancingScheme": "EXTERNAL_MANAGED", "IPAddress": "192.0.2.1",
     "ports": [80], "target": "t"},
    {"name": "q", "loadBalancingScheme": "EXTERNAL_MANAGED", "IPAddress": "192.0.2.1",
     "ports": [443], "target": "tls"}]
})";

constexpr auto kRaw = "raw";

// The first place of a pattern in a value; `*` stands for any index.
std::optional<Json::json_pointer> findIn(const Json& value, const std::string& pattern,
                                         const Json::json_pointer& at) {
  if (pattern.empty()) return at;
  const std::size_t slash = pattern.find('/', 1);
  const std::string step = pattern.substr(1, slash == std::string::npos ? slash : slash - 1);
  const std::string rest = slash == std::string::npos ? "" : pattern.substr(slash);
  if (step == "*") {
    if (!value.is_array()) return std::nullopt;
    for (std::size_t i = 0; i < value.size(); ++i)
      if (auto found = findIn(value[i], rest, at / i)) return found;
    return std::nullopt;
  }
  if (!value.is_object() || !value.contains(step)) return std::nullopt;
  return findIn(value[step], rest, at / step);
}

void locateField(Field& field) {
  const bool isRead = field.info->use == FieldInfo::Use::read;
  const std::string pattern =
      isRead ? field.pattern : field.pattern.substr(0, field.pattern.rfind('/'));
  for (const Json& document : fullConfigurations()) {
    auto found = findIn(document, pattern, Json::json_pointer());
    if (!found) continue;
    field.document = &document;
    field.pointer = isRead ? *found : *found / field.info->name;
    return;
  }
  ADD_FAILURE() << "no full configuration has " << field.pattern;
}

void collect(const MappingInfo& mapping, const std::string& path, std::vector<Field>& out) {
  for (const FieldInfo& info : mapping.fields) {
    Field field{&info, path + "/" + info.name, nullptr, Json::json_pointer()};
    locateField(field);
    if (field.document != nullptr) out.push_back(field);
    if (info.mapping != nullptr)
      collect(*info.mapping, field.pattern + (info.list ? "/*" : ""), out);
  }
}

class Writer {
 public:
  explicit Writer(const std::string& repeated) : repeated_(repeated) {}

  void mapping(const Json& value, const std::string& at, unsigned indent) {
    bool isFirst = true;
    for (const auto& [key, child] : value.items()) entry(key, child, at, indent, isFirst);
    const std::size_t slash = repeated_.rfind('/');
    if (!repeated_.empty() && repeated_.substr(0, slash) == at) {
      const std::string key = repeated_.substr(slash + 1);
      entry(key, value[key], at, indent, isFirst);
    }
  }

  Written take() { return std::move(out_); }

 private:
  Place here() const { return {line_, column_}; }

  void put(const std::string& text) {
    out_.text += text;
    for (const char c : text) {
      if (c == '\n') {
        ++line_;
        column_ = 1;
      } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
        ++column_;
      }
    }
  }

  // The first entry of a mapping that is a list's item stands behind the dash.
  void pad(unsigned indent, bool& isFirst) {
    if (column_ == 1 || !isFirst) put(std::string(indent, ' '));
    isFirst = false;
  }

  void entry(const std::string& key, const Json& child, const std::string& at, unsigned indent,
             bool& isFirst) {
    pad(indent, isFirst);
    const std::string pointer = at + "/" + key;
    out_.keys[pointer] = here();
    put(key + ":");
    value(child, pointer, indent + 2);
  }

  void value(const Json& child, const std::string& pointer, unsigned indent) {
    const bool isBlock = (child.is_object() && !child.contains(kRaw)) || child.is_array();
    if (!isBlock || child.empty()) {
      put(" ");
      out_.values[pointer] = here();
      put((child.is_object() && child.contains(kRaw) ? child[kRaw].get<std::string>()
                                                     : child.dump()) +
          "\n");
      return;
    }
    put("\n");
    out_.values[pointer] = {line_, indent + 1};
    if (child.is_object())
      mapping(child, pointer, indent);
    else
      sequence(child, pointer, indent);
  }

  void sequence(const Json& list, const std::string& at, unsigned indent) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = at + "/" + std::to_string(i);
      put(std::string(indent, ' ') + "-");
      const Json& item = list[i];
      if (item.is_object() && !item.contains(kRaw) && !item.empty()) {
        put(" ");
        out_.values[pointer] = here();
        mapping(item, pointer, indent + 2);
      } else {
        value(item, pointer, indent + 2);
      }
    }
  }

  std::string repeated_;
  Written out_;
  unsigned line_ = 1;
  unsigned column_ = 1;
};

}  // namespace

const std::vector<Json>& fullConfigurations() {
  static const std::vector<Json> all{Json::parse(kPassthrough), Json::parse(kProxies)};
  return all;
}

std::vector<Field> allFields() {
  std::vector<Field> out;
  for (const CollectionInfo& c : collections())
    collect(c.item(), "/" + std::string(c.name) + "/*", out);
  collect(nodeFields(), "", out);
  return out;
}

Json raw(const std::string& yaml) { return Json{{kRaw, yaml}}; }

Written write(const Json& document, const std::string& repeated) {
  Writer writer(repeated);
  writer.mapping(document, "", 0);
  return writer.take();
}

}  // namespace weir::config::test
