// SPDX-License-Identifier: GPL-2.0-or-later
//
// A manager over a kernel in memory, with a configuration that tests change by hand.
#pragma once

#include "little_server.h"
#include "manager/kernel/fake_kernel_state.h"
#include "manager/manager.h"
#include "support/controlled_plane.h"

namespace weir::manager {

// One service "web" of two backends on loopback, probed by TCP at their own addresses.
inline Configuration webConfiguration(std::uint16_t probedPort) {
  Configuration configuration;
  HealthCheck check;
  check.name = "hc";
  check.target = HealthCheck::Target::endpoint;
  check.port = probedPort;
  check.checkInterval = std::chrono::seconds(1);
  check.timeout = std::chrono::seconds(1);
  configuration.healthChecks.push_back(check);
  configuration.groups.push_back(group("g", {"127.0.0.1", "127.0.0.2"}));
  configuration.services.push_back(service("web", {{"g", false}}, 300));
  ForwardingRule rule;
  rule.name = "web-vip";
  rule.address = *Address::parse("10.9.9.9");
  rule.backendService = "web";
  configuration.rules.push_back(rule);
  configuration.node.metricsAddress = "";
  return configuration;
}

struct Managed {
  explicit Managed(Configuration initial) { loaded.configuration = std::move(initial); }

  void start() {
    const Status started = manager.start(loaded.configuration);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  Health health(const std::string& endpoint) const {
    return *manager.controlPlane().health({"g", endpoint}, "web");
  }

  TemporaryDirectory directory;
  boost::asio::io_context io;
  FakeKernelState kernel;
  config::Loaded loaded;  // what the next reload reads
  Manager manager{io, kernel, directory.path(), [this] { return loaded; }};
};

}  // namespace weir::manager
