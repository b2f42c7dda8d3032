// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/health/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>

#include "little_server.h"
#include "manager/health/probe_targets.h"
#include "support/controlled_plane.h"

namespace weir::manager {
namespace {

class Monitoring : public testing::Test {
 protected:
  ProbeTarget target(const std::string& endpoint, std::uint16_t port,
                     const std::string& address = "127.0.0.1") {
    HealthCheck check;
    check.name = "hc";
    check.checkInterval = check.timeout = std::chrono::seconds(1);
    ProbeTarget target;
    target.endpoint = {"g", endpoint};
    target.check = std::make_shared<const HealthCheck>(check);
    target.address = *Address::parse(address);
    target.port = port;
    target.services = {"shop", "web"};
    return target;
  }
  // The same target with an HTTP check.
  static ProbeTarget overHttp(ProbeTarget target) {
    HealthCheck check = *target.check;
    check.type = HealthCheck::Type::http;
    target.check = std::make_shared<const HealthCheck>(check);
    return target;
  }
  Health reported(const std::string& endpoint) {
    const auto found = states_.find({"g", endpoint});
    return found == states_.end() ? Health::unknown : found->second;
  }

  boost::asio::io_context io_;
  std::map<EndpointRef, Health> states_;
  std::map<std::string, Health> ofServices_;  // "service/endpoint"
  std::vector<std::size_t> reportSizes_;
  std::vector<HealthMonitor::UtilizationUpdate> utilizations_;
  Health known_ = Health::unknown;
  HealthMonitor monitor_{io_, [this](const EndpointRef&, const std::string&) { return known_; },
                         [this](HealthMonitor::Report report) {
                           reportSizes_.push_back(report.health.size());
                           for (const auto& update : report.utilizations)
                             utilizations_.push_back(update);
                           for (const auto& update : report.health)
                             states_[update.endpoint] = update.health;
                           for (const auto& update : report.health)
                             ofServices_[update.service + "/" + update.endpoint.endpoint] =
                                 update.health;
                         }};
};

TEST_F(Monitoring, H9_UnhealthyIfOneOfTwoAddressesFails) {
  LittleServer fine([](int) {});
  monitor_.setTargets(
      {target("a", fine.port()), target("a", fine.port(), "127.0.0.2"), target("b", fine.port())});
  runUntil(io_,
           [&] { return reported("a") == Health::unhealthy && reported("b") == Health::healthy; });
  // Without the address that fails, the other one decides.
  monitor_.setTargets({target("a", fine.port()), target("b", fine.port())});
  runUntil(io_, [&] { return reported("a") == Health::healthy; });
}

TEST_F(Monitoring, H1_AServicesCheckDecidesForThatServiceAlone) {
  LittleServer fine([](int) {});
  ProbeTarget ofWeb = overHttp(target("a", fine.port()));  // no HTTP answer comes
  ofWeb.services = {"web"};
  ProbeTarget ofShop = target("a", fine.port());
  ofShop.services = {"shop"};
  ProbeTarget renamed = ofShop;
  HealthCheck check = *ofShop.check;
  check.name = "another";
  renamed.check = std::make_shared<const HealthCheck>(check);
  monitor_.setTargets({ofWeb, renamed});
  runUntil(io_, [&] {
    return ofServices_["web/a"] == Health::unhealthy && ofServices_["shop/a"] == Health::healthy;
  });
  EXPECT_EQ(monitor_.reason({"g", "a"}, "shop"), "");
  EXPECT_NE(monitor_.reason({"g", "a"}, "web"), "");
}

TEST_F(Monitoring, AServiceThatComesToShareAProberHearsItsStateAtOnce) {
  LittleServer fine([](int) {});
  ProbeTarget shared = target("a", fine.port());
  shared.services = {"web"};
  monitor_.setTargets({shared});
  runUntil(io_, [&] { return ofServices_["web/a"] == Health::healthy; });
  EXPECT_FALSE(ofServices_.contains("shop/a"));
  shared.services = {"shop", "web"};
  monitor_.setTargets({shared});
  runUntil(io_, [&] { return ofServices_["shop/a"] == Health::healthy; });
  EXPECT_EQ(monitor_.probers(), 1u);
}

TEST_F(Monitoring, AKnownStateIsNotReportedAgain) {
  LittleServer fine([](int) {});
  known_ = Health::healthy;
  monitor_.setTargets({target("a", fine.port())});
  runUntil(io_, [&] { return monitor_.counters().succeeded >= 2; });
  EXPECT_TRUE(reportSizes_.empty());
}

TEST_F(Monitoring, ChangesOfAMomentAreReportedTogether) {
  LittleServer fine([](int) {});
  std::vector<ProbeTarget> targets;
  for (int i = 0; i < 200; ++i) targets.push_back(target("e" + std::to_string(i), fine.port()));
  monitor_.setTargets(targets);
  runUntil(io_, [&] { return states_.size() == 200; });
  EXPECT_LE(reportSizes_.size(), 15u);  // within about a second, every 100 ms
}

TEST_F(Monitoring, NothingIsReportedOfATargetThatIsGone) {
  LittleServer fine([](int) {});
  monitor_.setTargets({target("a", fine.port())});
  monitor_.setTargets({});
  runFor(io_, std::chrono::milliseconds(1300));
  EXPECT_TRUE(states_.empty());
  EXPECT_EQ(fine.connections(), 0);
}

TEST_F(Monitoring, H2_StartToStartAtTheInterval) {
  LittleServer fine([](int) {});
  monitor_.setTargets({target("a", fine.port())});
  runFor(io_, std::chrono::milliseconds(3600));
  EXPECT_GE(fine.connections(), 3);
  EXPECT_LE(fine.connections(), 4);
}

TEST_F(Monitoring, H10_ASilentBackendTimesOut) {
  LittleServer silent([](int fd) { receiveAll(fd); });
  ProbeTarget asked = target("a", silent.port());
  HealthCheck check = *asked.check;
  check.response = "PONG";
  asked.check = std::make_shared<const HealthCheck>(check);
  monitor_.setTargets({asked});
  runUntil(io_, [&] { return reported("a") == Health::timeout; });
  EXPECT_THAT(monitor_.reason({"g", "a"}, "web"), testing::HasSubstr("no answer within 1 s"));
}

// No file descriptor can be opened as long as this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 3, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Monitoring, WhatThisMachineLacksSaysNothingOfABackend) {
  known_ = Health::healthy;
  LittleServer fine([](int) {});
  monitor_.setTargets({target("a", fine.port())});
  {
    const NoDescriptors none;
    runUntil(io_, [&] { return monitor_.counters().notMade >= 3; });
  }
  EXPECT_TRUE(reportSizes_.empty());
  EXPECT_EQ(monitor_.counters().failed + monitor_.counters().timedOut, 0u);
  EXPECT_THAT(monitor_.reason({"g", "a"}, "web"),
              testing::HasSubstr("the probe could not be made: Too many open files"));
  runUntil(io_, [&] { return monitor_.counters().succeeded > 0; });
  EXPECT_EQ(monitor_.reason({"g", "a"}, "web"), "");
}

TEST_F(Monitoring, H13_EveryReadingOfTheLoadIsReportedWithItsTime) {
  std::atomic<int> asked{0};
  LittleServer loaded([&](int fd) {
    receiveUntil(fd, "\r\n\r\n");
    // The second answer has nothing to say of its load.
    sendText(fd, ++asked == 2 ? "HTTP/1.1 200 OK\r\n\r\n"
                              : "HTTP/1.1 200 OK\r\n"
                                "endpoint-load-metrics: TEXT cpu_utilization=0.4\r\n\r\n");
  });
  monitor_.setTargets({overHttp(target("a", loaded.port()))});
  runUntil(io_, [&] { return utilizations_.size() == 2; });
  EXPECT_GE(asked, 3);
  for (const auto& update : utilizations_) {
    EXPECT_EQ(update.endpoint, (EndpointRef{"g", "a"}));
    EXPECT_EQ(update.utilization.value, 0.4);
  }
  EXPECT_GE(utilizations_[1].utilization.at - utilizations_[0].utilization.at,
            Clock::duration(std::chrono::milliseconds(1500)));
}

TEST_F(Monitoring, S1_RoundTripsAreMeasured) {
  LittleServer fine([](int) {});
  EXPECT_FALSE(monitor_.roundTrip({"g", "a"}));
  monitor_.setTargets({target("a", fine.port()), target("b", LittleServer([](int) {}).port())});
  runUntil(io_,
           [&] { return monitor_.counters().succeeded > 0 && monitor_.counters().failed > 0; });
  ASSERT_TRUE(monitor_.roundTrip({"g", "a"}));
  EXPECT_LT(*monitor_.roundTrip({"g", "a"}), std::chrono::seconds(1));
  EXPECT_FALSE(monitor_.roundTrip({"g", "b"}));  // refused: no connection came up
}

TEST_F(Monitoring, DurationsAreKeptForEachServiceThatIsProbed) {
  LittleServer fine([](int) {});
  ProbeTarget other = target("b", LittleServer([](int) {}).port());
  other.services = {"web"};
  monitor_.setTargets({target("a", fine.port()), other});
  runUntil(io_,
           [&] { return monitor_.counters().succeeded > 0 && monitor_.counters().failed > 0; });
  const auto& durations = monitor_.durations();
  ASSERT_EQ(durations.size(), 2u);
  EXPECT_GT(durations.at("shop").succeeded.count(), 0u);
  EXPECT_EQ(durations.at("shop").failed.count(), 0u);
  EXPECT_GT(durations.at("web").succeeded.count(), 0u);
  EXPECT_GT(durations.at("web").failed.count(), 0u);
  EXPECT_GT(durations.at("web").succeeded.sum().count(), 0);
  monitor_.setTargets({other});
  EXPECT_EQ(monitor_.durations().count("shop"), 0u);
}

TEST(Durations, BucketsHaveInclusiveUpperBounds) {
  DurationHistogram histogram;
  histogram.add(std::chrono::microseconds(250));
  histogram.add(std::chrono::microseconds(251));
  histogram.add(std::chrono::seconds(300));
  EXPECT_EQ(histogram.counts().front(), 1u);
  EXPECT_EQ(histogram.counts()[1], 1u);
  EXPECT_EQ(histogram.counts().back(), 1u);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_EQ(histogram.sum(), std::chrono::microseconds(300'000'501));
}

TEST(ProbeTargets, H9_VirtualAddressesWithTheBackendsMark) {
  Configuration configuration;
  HealthCheck check;
  check.name = "hc";
  check.port = 8080;
  configuration.healthChecks.push_back(check);
  configuration.groups.push_back(group("g", {"10.2.0.11", "10.2.0.12"}));
  configuration.services.push_back(service("web", {{"g", false}}, 300));
  configuration.services.push_back(service("unchecked", {{"g", false}}));
  configuration.services[1].healthCheck = "";
  for (const char* address : {"10.9.9.9", "10.9.9.10", "10.9.9.9", "fd00::9"}) {
    ForwardingRule rule;
    rule.name = "r" + std::to_string(configuration.rules.size());
    rule.address = *Address::parse(address);
    rule.backendService = "web";
    configuration.rules.push_back(rule);
  }
  ControlPlane plane;
  ASSERT_TRUE(plane.apply(configuration, at(0)).ok());
  // Two backends at two IPv4 addresses, for one service; none has an IPv6 address.
  auto targets = probeTargets(plane, ProxyPlane());
  ASSERT_EQ(targets.size(), 4u);
  const auto routes = plane.routes();
  for (const auto& target : targets) {
    EXPECT_EQ(target.port, 8080);
    EXPECT_TRUE(target.address.toString().starts_with("10.9.9.")) << target.address.toString();
    const auto& route = routes[target.endpoint.endpoint == "10.2.0.11" ? 0 : 1];
    EXPECT_EQ(route.ipv4->toString(), target.endpoint.endpoint);
    EXPECT_EQ(target.mark, route.mark);
  }

  configuration.healthChecks[0].target = HealthCheck::Target::endpoint;
  ASSERT_TRUE(plane.apply(configuration, at(1)).ok());
  targets = probeTargets(plane, ProxyPlane());
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[0].address.toString(), targets[0].endpoint.endpoint);
  EXPECT_EQ(targets[0].mark, Mark{});

  ASSERT_TRUE(plane.drain("web", "10.2.0.11", std::nullopt, at(2)).ok());
  EXPECT_EQ(probeTargets(plane, ProxyPlane()).size(), 1u);
}

TEST(ProbeTargets, ABackendOfTwoServicesIsProbedOnceForBoth) {
  Configuration configuration;
  HealthCheck check;
  check.name = "hc";
  check.target = HealthCheck::Target::endpoint;
  configuration.healthChecks.push_back(check);
  configuration.groups.push_back(group("g", {"10.2.0.11"}));
  configuration.services.push_back(service("web", {{"g", false}}));
  configuration.services.push_back(service("shop", {{"g", false}}));
  for (auto& service : configuration.services) service.healthCheck = "hc";
  ControlPlane plane;
  ASSERT_TRUE(plane.apply(configuration, at(0)).ok());
  const auto targets = probeTargets(plane, ProxyPlane());
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].services, (std::vector<std::string>{"shop", "web"}));
}

}  // namespace
}  // namespace weir::manager
