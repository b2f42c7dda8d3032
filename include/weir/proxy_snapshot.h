// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the manager tells the TCP proxy: one message for the node (where it listens and how it
// routes), one for each service of a proxy scheme, and small ones for what changes often. They
// travel as alternatives of SnapshotMessage (weir/snapshot.h), which brackets a full
// synchronisation and names the rules of the wire form.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/address.h"
#include "weir/affinity.h"
#include "weir/proxy_model.h"
#include "weir/types.h"

namespace weir {

// A forwarding rule of a proxy scheme: an address and port to listen on.
struct ProxyFront {
  std::string rule;  // its name
  Address address;
  std::uint16_t port = 0;
  std::string targetProxy;
  friend bool operator==(const ProxyFront&, const ProxyFront&) = default;
};

struct ProxyZone {
  std::string name;
  std::string region;
  friend bool operator==(const ProxyZone&, const ProxyZone&) = default;
};

// The node and everything of it that is not about one service; sent when any of it changes.
struct ProxySnapshot {
  Generation generation;
  std::uint64_t hashSeed = 0;  // the same on all nodes
  ProxySettings settings;
  std::string zone;              // this node's; may be empty
  std::string region;            // this node's; may be empty
  std::vector<ProxyZone> zones;  // nearest first, the zones of a region together (S1); names unique
  std::vector<ProxyFront> fronts;             // address and port unique
  std::vector<TargetTcpProxy> targetProxies;  // names unique; every front's is among them
  std::vector<TlsRoute> tlsRoutes;            // in the order of the configuration (X6.3)
  friend bool operator==(const ProxySnapshot&, const ProxySnapshot&) = default;
};

// What a backend last said of its load (H13): a fraction, 0 or more. Not trusted after `until`.
struct ProxyUtilization {
  double value = 0;
  Time until;
  friend bool operator==(const ProxyUtilization&, const ProxyUtilization&) = default;
};

// A member of a group. Draining (X5.4): it gets no connection, its open ones are closed at
// `drainDeadline`, and it counts neither as configured nor as healthy.
struct ProxyEndpoint {
  std::string endpoint;  // Endpoint::identity(), unique in its group
  std::optional<Address> ipv4;
  std::optional<Address> ipv6;
  std::uint16_t port = 0;
  std::string fqdn;          // in place of the addresses; the data plane resolves it
  std::uint32_t weight = 1;  // WEIGHTED_ROUND_ROBIN: what to choose with, 0..1000
  bool healthy = false;
  std::optional<Time> drainDeadline;
  std::optional<ProxyUtilization> utilization;  // the last report; groups of mode UTILIZATION
  bool draining() const noexcept { return drainDeadline.has_value(); }
  friend bool operator==(const ProxyEndpoint&, const ProxyEndpoint&) = default;
};

struct ProxyGroup {
  std::string name;  // unique in its service
  std::string zone;
  std::string region;
  GroupCapacity capacity;
  bool drained = false;  // by automatic capacity drain (S4): its capacity is 0
  std::vector<ProxyEndpoint> endpoints;
  friend bool operator==(const ProxyGroup&, const ProxyGroup&) = default;
};

// A service of a proxy scheme. An endpoint that is missing in the next snapshot while its group is
// still there has drained: what is left of its connections is closed. A group that is missing was
// taken out by the configuration: its connections live on (X5.5).
struct ProxyServiceSnapshot {
  std::string name;  // by which data planes know it
  Generation generation;
  SessionAffinity affinity = SessionAffinity::none;
  LocalityPolicy locality = LocalityPolicy::roundRobin;
  ServiceLbPolicy policy;                       // the defaults when the service names none (S3.5)
  std::optional<std::uint32_t> maxConnections;  // X4.4
  std::chrono::seconds idleTimeout{30};         // X5.1
  std::chrono::seconds connectTimeout{5};       // X3.3
  AddressSelection addressSelection = AddressSelection::ipv4Only;
  bool logEnable = false;
  double logSampleRate = 1.0;  // 0..1
  std::vector<ProxyGroup> groups;
  friend bool operator==(const ProxyServiceSnapshot&, const ProxyServiceSnapshot&) = default;
};

struct ProxyServiceRemoved {
  std::string name;
  friend bool operator==(const ProxyServiceRemoved&, const ProxyServiceRemoved&) = default;
};

// Reports of utilization between two snapshots of a service: many and small.
struct ProxyLoadReport {
  struct Item {
    std::string group;
    std::string endpoint;
    ProxyUtilization utilization;
    friend bool operator==(const Item&, const Item&) = default;
  };
  std::string service;
  Generation generation;
  std::vector<Item> items;
  friend bool operator==(const ProxyLoadReport&, const ProxyLoadReport&) = default;
};

}  // namespace weir
