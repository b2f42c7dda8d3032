// SPDX-License-Identifier: GPL-2.0-or-later
//
// The TCP proxy of a simulation: the manager's plane and the data plane's world and balancers, as
// the programs use them, joined without sockets.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "cli/simulate/line.h"
#include "cli/simulate/proxy_event.h"
#include "weir/proxy_plane.h"
#include "weir/proxy_world.h"
#include "weir/service_balancer.h"

namespace weir::cli {

class ProxySide {
 public:
  void apply(const Configuration&, Time now);
  void setHealth(std::span<const ControlPlane::HealthUpdate>, Time now);
  void setWeight(std::span<const ControlPlane::WeightUpdate>, Time now);
  void setUtilization(std::span<const ProxyPlane::UtilizationUpdate>, Time now);
  // Everything that is due until then, each at its time.
  void advance(Time now);

  // Lines without their event and time.
  Line connect(const ConnectionEvent&, Time now);
  Line load(const LoadEvent&) const;
  void close(const CloseEvent&, Time now);

 private:
  struct Connection {
    std::shared_ptr<ServiceBalancer> balancer;  // its service may be gone
    ProxySlot slot;
  };

  void tell(ProxyChanges, Time now);
  void update(const std::string& service, Time now);
  void closeDrained(Time now);

  ProxyPlane plane_{Health::healthy};
  std::shared_ptr<const ProxyWorld> world_ = std::make_shared<ProxyWorld>();
  std::map<std::string, std::shared_ptr<ServiceBalancer>> balancers_;  // by service
  std::unordered_map<std::string, Connection> open_;
};

}  // namespace weir::cli
