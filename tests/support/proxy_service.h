// SPDX-License-Identifier: GPL-2.0-or-later
//
// Proxy services for tests: groups by name, members by number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/proxy_snapshot.h"
#include "weir/service_balancer.h"

namespace weir::test {

inline Time atMs(std::int64_t milliseconds) {
  return Time(std::chrono::milliseconds(milliseconds));
}

inline ProxyEndpoint member(unsigned group, unsigned number) {
  ProxyEndpoint endpoint;
  endpoint.ipv4 = Address::ipv4(0x0a000000 + (group << 12) + number + 1);
  endpoint.port = 80;
  endpoint.endpoint = endpoint.ipv4->toString() + ":80";
  endpoint.healthy = true;
  return endpoint;
}

inline ProxyGroup groupOf(unsigned number, unsigned members, std::uint32_t maxConnections,
                          std::string zone = "za", std::string region = "r1") {
  ProxyGroup group;
  group.name = "g" + std::to_string(number);
  group.zone = std::move(zone);
  group.region = std::move(region);
  group.capacity.maxConnections = maxConnections;
  for (unsigned i = 0; i < members; ++i) group.endpoints.push_back(member(number, i));
  return group;
}

inline ProxyServiceSnapshot serviceOf(std::vector<ProxyGroup> groups,
                                      LocalityPolicy locality = LocalityPolicy::roundRobin,
                                      SessionAffinity affinity = SessionAffinity::none) {
  ProxyServiceSnapshot service;
  service.name = "shop";
  service.locality = locality;
  service.affinity = affinity;
  service.policy.algorithm = LbAlgorithm::waterfallByZone;
  service.groups = std::move(groups);
  return service;
}

inline ZoneOrder zoneOrder() {
  const std::vector<ProxyZone> zones{{"za", "r1"}, {"zb", "r1"}, {"zc", "r2"}};
  return ZoneOrder({"za", "r1"}, zones);
}

inline ProxyConnection client(std::uint32_t host, std::uint16_t port = 1000) {
  return {{Address::ipv4(0xc6330000 + host), port}, {Address::ipv4(0xc0000201), 80}};
}

// A balancer with its clock.
class Balanced {
 public:
  explicit Balanced(ProxyServiceSnapshot service, std::uint64_t seed = 1)
      : balancer(seed, seed + 1), service_(std::move(service)) {
    tell();
  }
  // Changes the service's snapshot.
  template <class Change>
  void change(Change made) {
    made(service_);
    tell();
  }
  BackendPick pick(const ProxyConnection& from, std::span<const ProxySlot> tried = {}) {
    return balancer.pick({from, now, tried});
  }
  // Picks and opens; the endpoint's name, or the detail of why there is none.
  std::string open(const ProxyConnection& from) {
    const BackendPick picked = pick(from);
    if (!picked) return std::string(picked.detail);
    balancer.opened(picked.slot, now);
    opened.push_back(picked.slot);
    return picked.endpoint->endpoint;
  }

  ServiceBalancer balancer;
  Time now = atMs(1000);
  std::vector<ProxySlot> opened;

 private:
  void tell() {
    balancer.update(std::make_shared<const ProxyServiceSnapshot>(service_), zoneOrder(), now);
  }
  ProxyServiceSnapshot service_;
};

}  // namespace weir::test
