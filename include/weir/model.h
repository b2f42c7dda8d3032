// SPDX-License-Identifier: GPL-2.0-or-later
//
// The configuration as values: the resources of /etc/weir after parsing and validation. Field
// names and defaults are those of Google's v1 REST resources; see docs/ for the rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/address.h"
#include "weir/affinity.h"
#include "weir/proxy_model.h"
#include "weir/snapshot.h"
#include "weir/types.h"

namespace weir {

struct HealthCheck {
  enum class Type : std::uint8_t { tcp, ssl, http, https, http2, grpc, grpcWithTls };
  enum class PortSpecification : std::uint8_t { fixedPort, servingPort };
  enum class ProxyHeader : std::uint8_t { none, proxyV1 };
  enum class Target : std::uint8_t { virtualAddress, endpoint };  // H9, probeTarget

  std::string name;
  Type type = Type::tcp;
  std::chrono::seconds checkInterval{5};
  std::chrono::seconds timeout{5};
  unsigned healthyThreshold = 2;
  unsigned unhealthyThreshold = 2;
  std::uint16_t port = 80;
  PortSpecification portSpecification = PortSpecification::fixedPort;
  ProxyHeader proxyHeader = ProxyHeader::none;
  Target target = Target::virtualAddress;
  std::string request;  // TCP, SSL
  std::string response;
  std::string host;  // HTTP family; empty: the probe's destination address
  std::string requestPath = "/";
  std::string grpcServiceName;
  bool logEnable = false;
  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

struct Endpoint {
  std::optional<Address> ipAddress;
  std::optional<Address> ipv6Address;
  std::optional<std::uint16_t> port;
  std::string fqdn;
  std::string instance;                 // a label
  std::optional<std::uint32_t> weight;  // 0..1000: fixed (P9.1)

  // The identity that is hashed and shown: ipAddress, else ipv6Address; with the port where the
  // endpoint has one ("10.0.0.1:80", "[fd00::1]:80").
  std::string identity() const;
  std::optional<Address> addressOf(Family) const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct NetworkEndpointGroup {
  enum class Type : std::uint8_t {
    gceVmIp,
    gceVmIpPort,
    nonGcpPrivateIpPort,
    internetIpPort,
    internetFqdnPort
  };
  std::string name;
  std::string zone;
  Type type = Type::gceVmIp;
  std::optional<std::uint16_t> defaultPort;
  std::vector<Endpoint> endpoints;
  friend bool operator==(const NetworkEndpointGroup&, const NetworkEndpointGroup&) = default;
};

enum class LoadBalancingScheme : std::uint8_t {
  internal,
  external,
  internalManaged,
  externalManaged
};
enum class PersistOnUnhealthy : std::uint8_t { defaultForProtocol, neverPersist, alwaysPersist };
enum class Spillover : std::uint8_t { disabled, stayWithinZone, spillCrossZone };
enum class ServiceProtocol : std::uint8_t { tcp, udp, unspecified };

struct ServiceBackend {
  std::string group;
  bool failover = false;
  GroupCapacity capacity{};  // proxy schemes
  friend bool operator==(const ServiceBackend&, const ServiceBackend&) = default;
};

struct FailoverPolicy {
  double failoverRatio = 0.0;
  bool dropTrafficIfUnhealthy = false;
  bool disableConnectionDrainOnFailover = false;
  friend bool operator==(const FailoverPolicy&, const FailoverPolicy&) = default;
};

struct BackendService {
  std::string name;
  LoadBalancingScheme scheme = LoadBalancingScheme::internal;
  ServiceProtocol protocol = ServiceProtocol::tcp;
  SessionAffinity affinity = SessionAffinity::none;
  TrackingMode tracking = TrackingMode::perConnection;
  PersistOnUnhealthy persist = PersistOnUnhealthy::defaultForProtocol;
  std::chrono::seconds idleTimeout{600};
  FailoverPolicy failover;  // P2: acts when any backend has failover: true
  std::chrono::seconds drainingTimeout{0};
  Spillover spillover = Spillover::disabled;
  double spilloverRatio = 0.0;
  bool weighted = false;    // P9: localityLbPolicy WEIGHTED_MAGLEV or WEIGHTED_GCP_RENDEZVOUS
  std::string healthCheck;  // empty: none (H1)
  std::vector<ServiceBackend> backends;
  bool logEnable = false;
  double logSampleRate = 1.0;
  ProxyService proxy;  // proxy schemes

  bool isManaged() const noexcept {
    return scheme == LoadBalancingScheme::internalManaged ||
           scheme == LoadBalancingScheme::externalManaged;
  }
  bool hasFailoverPolicy() const noexcept {
    for (const auto& backend : backends)
      if (backend.failover) return true;
    return false;
  }
  friend bool operator==(const BackendService&, const BackendService&) = default;
};

// How the network learns of a virtual address: not from weir; by ARP and neighbour discovery;
// by a route that a routing daemon exports.
enum class Announce : std::uint8_t { none, arp, route };

struct ForwardingRule {
  std::string name;
  LoadBalancingScheme scheme = LoadBalancingScheme::internal;
  Address address;
  Protocol protocol = Protocol::tcp;  // none: L3_DEFAULT
  std::vector<PortRange> ports;       // empty: allPorts
  std::string backendService;
  std::string target;  // a TargetTcpProxy; proxy schemes, then backendService is empty
  Announce announce = Announce::none;
  friend bool operator==(const ForwardingRule&, const ForwardingRule&) = default;
};

struct Route {
  std::string name;
  Prefix destRange{Address{}, 0};
  std::uint16_t priority = 1000;
  std::string nextHopIlb;  // name of a forwarding rule, also where the file gave its address
  friend bool operator==(const Route&, const Route&) = default;
};

struct Zone {
  std::string name;
  std::string region;
  std::vector<Prefix> clientRanges;
  friend bool operator==(const Zone&, const Zone&) = default;
};

enum class LogLevel : std::uint8_t { error, warning, info, debug };

// weir.yaml: this node.
struct Node {
  std::string region;  // location; empty: not given
  std::string zone;
  std::vector<Zone> zones;
  std::map<std::string, double> proximityMs;  // zone or region name -> milliseconds
  std::uint32_t fwmarkMask = 0xffff0000;      // contiguous bits; at least 2 of them
  std::uint64_t hashSeed = 0;                 // must be the same on all nodes
  unsigned queues = 1;                        // NFQUEUE queues, 1..64
  std::uint16_t queueBase = 8100;             // number of the first
  std::uint32_t ruleBase = 10000;             // first preference of the routing rules
  std::uint32_t tableBase = 0x77650000;       // first routing table number
  std::uint8_t routeProtocol = 87;            // protocol number of every route of weir's
  std::size_t trackedIpv4 = 1u << 20;         // tracking table entries
  std::size_t trackedIpv6 = 1u << 18;
  std::string metricsAddress = "127.0.0.1:9147";
  LogLevel logLevel = LogLevel::info;
  std::vector<std::string> interfaces;   // where addresses are announced; empty: all that fit
  bool manageSysctls = false;            // set what weir needs, restore it at stop
  std::chrono::seconds engineGrace{10};  // engine away longer than this: the fallback opens
  FlowCache flowCache = FlowCache::automatic;
  ProxySettings proxy;
  friend bool operator==(const Node&, const Node&) = default;
};

// Valid as a whole: names resolve, ranges hold, combinations are allowed.
struct Configuration {
  Node node;
  std::vector<HealthCheck> healthChecks;
  std::vector<NetworkEndpointGroup> groups;
  std::vector<BackendService> services;
  std::vector<ForwardingRule> rules;
  std::vector<Route> routes;
  std::vector<TargetTcpProxy> targetProxies;
  std::vector<TlsRoute> tlsRoutes;
  std::vector<ServiceLbPolicy> lbPolicies;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

}  // namespace weir
