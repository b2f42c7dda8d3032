// SPDX-License-Identifier: GPL-2.0-or-later
//
// The part of the configuration that only services of the proxy schemes have: where a connection
// goes (X4, S1 to S6), target proxies (X2) and TLS routes (X6). Included by weir/model.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/address.h"

namespace weir {

// How a backend is chosen inside a group (X4).
enum class LocalityPolicy : std::uint8_t {
  roundRobin,
  leastRequest,
  random,
  ringHash,
  maglev,
  weightedRoundRobin,
  originalDestination
};

enum class BalancingMode : std::uint8_t { connection, utilization, rate };
enum class Preference : std::uint8_t { byAlgorithm, preferred };  // DEFAULT, PREFERRED (S3.4)

// The target capacity of a group in a service (X4.2). At most one of the four limits is set, one of
// those that `mode` allows.
struct GroupCapacity {
  BalancingMode mode = BalancingMode::connection;
  std::optional<std::uint32_t> maxConnections;
  std::optional<std::uint32_t> maxConnectionsPerEndpoint;  // also ...PerInstance
  std::optional<double> maxRate;                           // new connections per second
  std::optional<double> maxRatePerEndpoint;                // also ...PerInstance
  double maxUtilization = 0.8;                             // 0..1; mode utilization
  double capacityScaler = 1.0;                             // 0, or 0.1..1
  Preference preference = Preference::byAlgorithm;
  friend bool operator==(const GroupCapacity&, const GroupCapacity&) = default;
};

enum class AddressSelection : std::uint8_t { ipv4Only, preferIpv6, ipv6Only };  // X1.3

// What a backend service has in a proxy scheme besides the fields of passthrough.
struct ProxyService {
  std::optional<LocalityPolicy> locality;  // not given: MAGLEV with affinity, else ROUND_ROBIN (X4)
  std::string lbPolicy;                    // a ServiceLbPolicy; empty: the defaults (S3.5)
  std::optional<std::uint32_t> maxConnections;  // circuitBreakers (X4.4)
  std::chrono::seconds idleTimeout{30};         // timeoutSec (X5.1)
  std::chrono::seconds connectTimeout{5};       // X3.3
  AddressSelection addressSelection = AddressSelection::ipv4Only;
  friend bool operator==(const ProxyService&, const ProxyService&) = default;
};

struct TargetTcpProxy {
  enum class ProxyHeader : std::uint8_t { none, proxyV1, proxyV2 };
  std::string name;
  std::string service;  // empty: it has TLS routes (X2.1)
  ProxyHeader proxyHeader = ProxyHeader::none;
  std::vector<Prefix> acceptProxyFrom;  // X2.3
  friend bool operator==(const TargetTcpProxy&, const TargetTcpProxy&) = default;
};

struct TlsMatch {
  std::vector<std::string> sniHosts;  // lower case, without a trailing dot; "*.foo.com" (X6.3)
  std::vector<std::string> alpn;      // empty: any
  friend bool operator==(const TlsMatch&, const TlsMatch&) = default;
};

struct TlsDestination {
  std::string service;
  std::uint32_t weight = 1;  // share: weight / sum (X6.5)
  friend bool operator==(const TlsDestination&, const TlsDestination&) = default;
};

struct TlsRule {
  std::vector<TlsMatch> matches;
  std::vector<TlsDestination> destinations;
  std::chrono::seconds idleTimeout{3600};  // 0: none
  friend bool operator==(const TlsRule&, const TlsRule&) = default;
};

struct TlsRoute {
  std::string name;
  std::vector<std::string> targetProxies;
  std::vector<TlsRule> rules;
  friend bool operator==(const TlsRoute&, const TlsRoute&) = default;
};

enum class LbAlgorithm : std::uint8_t {
  waterfallByRegion,
  sprayToRegion,
  waterfallByZone,
  sprayToWorld
};
enum class Isolation : std::uint8_t { unspecified, nearest, strict };  // REGION granularity (S5)

struct ServiceLbPolicy {
  std::string name;
  LbAlgorithm algorithm = LbAlgorithm::waterfallByRegion;
  bool autoCapacityDrain = false;         // S4
  unsigned failoverHealthThreshold = 70;  // percent, 1..99 (S2)
  Isolation isolation = Isolation::unspecified;
  friend bool operator==(const ServiceLbPolicy&, const ServiceLbPolicy&) = default;
};

// weir.yaml, `proxy`.
struct ProxySettings {
  std::vector<Address> sourceAddresses;         // X1.5; empty: the kernel's choice
  std::chrono::seconds clientHelloTimeout{10};  // X6.4
  std::chrono::seconds shutdownGrace{30};       // X5.5
  unsigned threads = 0;                         // 0: one for each processor core
  // How a peer that is gone without a word is noticed. A silent one is asked after `keepaliveIdle`,
  // then every `keepaliveInterval`, and given up after so many probes; one that does not
  // acknowledge what it was sent is given up after `userTimeout`. 0 s: never asked; left to the
  // kernel.
  std::chrono::seconds keepaliveIdle{60};
  std::chrono::seconds keepaliveInterval{10};
  unsigned keepaliveProbes = 6;
  std::chrono::seconds userTimeout{120};
  // X3.1: who resolves DNS names (none: those of the host's resolv.conf), and the shortest and the
  // longest time that an answer is believed, whatever its TTL says.
  std::vector<Address> nameServers;
  std::chrono::seconds dnsMinTtl{5};
  std::chrono::seconds dnsMaxTtl{3600};
  friend bool operator==(const ProxySettings&, const ProxySettings&) = default;
};

}  // namespace weir
