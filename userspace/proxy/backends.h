// SPDX-License-Identifier: GPL-2.0-or-later
//
// The balancers of all services, shared by the proxy's threads: loads count for the whole node, so
// that capacities mean what they say however many threads there are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/proxy_world.h"
#include "weir/service_balancer.h"

namespace weir::proxy {

// One service's balancer and its lock. Any thread.
class Backends {
 public:
  Backends(std::string service, std::uint64_t hashSeed, std::uint64_t randomSeed)
      : service_(std::move(service)), balancer_(hashSeed, randomSeed) {}

  // A backend whose connection is counted as open until release(), or why there is none.
  struct Choice {
    ProxySlot slot;
    SocketAddress address;
    std::string group, endpoint;
    CloseReason reason = CloseReason::none;
    std::string_view detail;
    std::string_view rule;
    explicit operator bool() const noexcept { return reason == CloseReason::none; }
  };
  Choice acquire(const ServiceBalancer::Request&);
  // What acquire() would say; nothing is counted and nobody's turn moves on.
  Choice preview(const ServiceBalancer::Request&);
  void release(ProxySlot, Time now);

  const std::string& service() const noexcept { return service_; }
  // Group and endpoint of a backend.
  std::pair<std::string, std::string> nameOf(ProxySlot) const;

  // What the control thread does: takes the lock for short.
  void update(std::shared_ptr<const ProxyServiceSnapshot>, const ZoneOrder&, Time now);
  void report(const ProxyLoadReport&, Time now);
  void resolved(std::string_view fqdn, const std::vector<Address>&);
  std::vector<ProxySlot> expired(Time now) const;
  struct Load {
    std::uint64_t open = 0;
    std::vector<ServiceBalancer::GroupLoad> groups;
  };
  Load load(Time now);

 private:
  const std::string service_;
  mutable std::mutex mutex_;
  ServiceBalancer balancer_;
};

// Finds the balancer of a service; connections hold the one they have, also when the service is
// gone from the configuration.
class BackendsDirectory {
 public:
  // nullptr: not known. Any thread.
  std::shared_ptr<Backends> find(std::string_view service) const;

  // Control thread: as the world says; services that it does not have are forgotten.
  void update(std::shared_ptr<const ProxyWorld>, Time now);
  std::vector<std::shared_ptr<Backends>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Backends>, std::less<>> services_;
  // What the balancers were last told; unchanged services are not told again.
  std::shared_ptr<const ProxyWorld> told_ = std::make_shared<const ProxyWorld>();
};

}  // namespace weir::proxy
