// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "managed.h"

namespace weir::manager {
namespace {

TEST(Manager, H2_ProbesDecideWhoIsHealthy) {
  LittleServer backend([](int) {});  // on 127.0.0.1; nobody listens on 127.0.0.2
  Managed managed(webConfiguration(backend.port()));
  managed.start();
  EXPECT_EQ(managed.health("127.0.0.1"), Health::unknown);
  runUntil(managed.io, [&] {
    return managed.health("127.0.0.1") == Health::healthy &&
           managed.health("127.0.0.2") == Health::unhealthy;
  });
  const auto view = managed.manager.controlPlane().view("web");
  EXPECT_EQ(view->eligibility.set.rule, "P2.1");
  EXPECT_EQ(view->eligibility.set.members.size(), 1u);
  const std::string reason = managed.manager.health().reason({"g", "127.0.0.2"}, "web");
  EXPECT_THAT(reason, testing::HasSubstr("connection refused"));
  EXPECT_EQ(managed.manager.health().reason({"g", "127.0.0.1"}, "web"), "");
}

TEST(Manager, C1_ARefusedReloadLeavesEverythingAsItWas) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::size_t calls = managed.kernel.calls().size();
  const Configuration running = managed.manager.controlPlane().configuration();

  managed.loaded.configuration = Configuration{};
  managed.loaded.diagnostics.push_back(
      {.file = "conf.d/a.yaml", .line = 3, .column = 7, .message = "bad", .sourceLine = {}});
  const auto refused = managed.manager.reload();
  EXPECT_FALSE(refused.accepted);
  EXPECT_THAT(refused.refusal, testing::StartsWith("conf.d/a.yaml:3:7: bad (the running"));
  EXPECT_EQ(refused.diagnostics.size(), 1u);
  EXPECT_EQ(managed.manager.controlPlane().configuration(), running);
  EXPECT_EQ(managed.kernel.calls().size(), calls);
  EXPECT_EQ(managed.manager.reloads().refused, 1u);
}

TEST(Manager, C1_ARefusalNamesTheFirstErrorAndCountsTheOthers) {
  using Severity = config::Diagnostic::Severity;
  Managed managed(webConfiguration(1));
  managed.start();
  const auto add = [&](Severity severity, unsigned line, std::string message) {
    managed.loaded.diagnostics.push_back({.severity = severity,
                                          .file = "a.yaml",
                                          .line = line,
                                          .column = 2,
                                          .message = std::move(message),
                                          .sourceLine = {}});
  };
  add(Severity::warning, 1, "odd");
  add(Severity::error, 4, "bad");
  add(Severity::error, 8, "worse");
  EXPECT_EQ(managed.manager.reload().refusal,
            "a.yaml:4:2: bad; and 1 more error (weirctl check shows all) (the running "
            "configuration goes on)");
  add(Severity::error, 9, "worst");
  EXPECT_THAT(managed.manager.reload().refusal, testing::HasSubstr("; and 2 more errors ("));
  EXPECT_THAT(managed.manager.lastReload(), testing::StartsWith("refused: a.yaml:4:2: bad; and 2"));
}

TEST(Manager, N5_ARouteThatThisHostCannotTakeIsNamedWithItsPlace) {
  Managed managed(webConfiguration(1));
  managed.start();
  managed.kernel.setConnected(*Prefix::parse("10.77.0.0/24"));
  managed.loaded.configuration.routes = {{"other", *Prefix::parse("10.78.0.0/24"), 1000, "web-vip"},
                                         {"via", *Prefix::parse("10.77.0.0/24"), 1000, "web-vip"}};
  EXPECT_EQ(managed.manager.reload().refusal, "route via is within a connected subnet");
  managed.loaded.definitions = {{"forwardingRules", "via", "conf.d/b.yaml", 2},
                                {"routes", "other", "conf.d/a.yaml", 3},
                                {"routes", "via", "conf.d/a.yaml", 9}};
  EXPECT_EQ(managed.manager.reload().refusal,
            "conf.d/a.yaml:9: route via is within a connected subnet");
  EXPECT_TRUE(managed.manager.controlPlane().configuration().routes.empty());
}

TEST(Manager, C1_AnUnchangedReloadHasNoEffect) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::size_t calls = managed.kernel.calls().size();
  const Generation generation = managed.manager.publisher().generation();
  const auto reload = managed.manager.reload();
  EXPECT_TRUE(reload.accepted);
  EXPECT_FALSE(reload.changed);
  EXPECT_EQ(managed.kernel.calls().size(), calls);
  EXPECT_EQ(managed.manager.publisher().generation(), generation);
}

TEST(Manager, C1_AReloadCannotChangeWhatTheRunningEngineIsLaidOutBy) {
  Managed managed(webConfiguration(1));
  managed.start();
  const std::size_t calls = managed.kernel.calls().size();
  const auto refusal = [&](auto change) {
    const Configuration running = managed.loaded.configuration;
    change(managed.loaded.configuration.node);
    const auto reload = managed.manager.reload();
    EXPECT_FALSE(reload.accepted);
    managed.loaded.configuration = running;
    return reload.refusal;
  };
  EXPECT_THAT(refusal([](Node& node) { node.queues = 2; }),
              testing::StartsWith("queues cannot change while weir runs"));
  EXPECT_THAT(refusal([](Node& node) { node.queueBase = 9000; }), testing::HasSubstr("queueBase"));
  EXPECT_THAT(refusal([](Node& node) { node.fwmarkMask = 0xff; }),
              testing::HasSubstr("fwmarkMask"));
  EXPECT_THAT(refusal([](Node& node) { node.trackedIpv4 = 4096; }),
              testing::HasSubstr("trackingTable.ipv4Entries"));
  EXPECT_EQ(managed.kernel.calls().size(), calls);
  EXPECT_TRUE(managed.manager.reload().accepted);
}

TEST(Manager, C1_AChangedReloadReachesTheKernel) {
  Managed managed(webConfiguration(1));
  managed.start();
  managed.loaded.configuration.groups[0].endpoints.push_back(endpointAt("127.0.0.3"));
  const auto reload = managed.manager.reload();
  EXPECT_TRUE(reload.changed);
  EXPECT_EQ(managed.kernel.lastWish().backends.size(), 3u);
  EXPECT_EQ(managed.manager.health().probers(), 3u);
}

TEST(Manager, P7_5_ADrainingBackendIsNotProbed) {
  LittleServer backend([](int) {});
  Managed managed(webConfiguration(backend.port()));
  managed.start();
  EXPECT_EQ(managed.manager.health().probers(), 2u);
  ASSERT_TRUE(managed.manager.drain("web", "127.0.0.1", std::nullopt).ok());
  EXPECT_EQ(managed.manager.health().probers(), 1u);
  ASSERT_TRUE(managed.manager.undrain("web", "127.0.0.1").ok());
  EXPECT_EQ(managed.manager.health().probers(), 2u);
  EXPECT_FALSE(managed.manager.drain("web", "127.0.0.9", std::nullopt).ok());
}

TEST(Manager, P7_1_DrainsEndAtTheirDeadline) {
  Managed managed(webConfiguration(1));
  managed.start();
  ASSERT_TRUE(managed.manager.drain("web", "127.0.0.1", std::chrono::seconds(1)).ok());
  EXPECT_TRUE(managed.manager.controlPlane().nextDeadline());
  runUntil(managed.io, [&] { return !managed.manager.controlPlane().nextDeadline(); });
}

TEST(Manager, AnUnreachableNextHopIsUnhealthyWithItsReason) {
  LittleServer backend([](int) {});
  Configuration configuration = webConfiguration(backend.port());
  configuration.groups[0].endpoints.resize(1);
  Managed managed(configuration);
  managed.start();
  runUntil(managed.io, [&] { return managed.health("127.0.0.1") == Health::healthy; });
  const Mark mark = managed.manager.controlPlane().routes().front().mark;
  managed.kernel.setUnreachable({{mark, Family::ipv4, "no route to 127.0.0.1"}});
  runUntil(
      managed.io, [&] { return managed.health("127.0.0.1") == Health::unhealthy; },
      std::chrono::seconds(8));
  EXPECT_THAT(managed.manager.health().reason({"g", "127.0.0.1"}, "web"),
              testing::HasSubstr("no route to 127.0.0.1"));
  managed.kernel.setUnreachable({});
  runUntil(
      managed.io, [&] { return managed.health("127.0.0.1") == Health::healthy; },
      std::chrono::seconds(8));
}

TEST(Manager, ASuccessorTakesOverHealthDrainsAndNumbers) {
  LittleServer backend([](int) {});
  const Configuration configuration = webConfiguration(backend.port());
  Managed first(configuration);
  first.start();
  runUntil(first.io, [&] { return first.health("127.0.0.1") == Health::healthy; });
  ASSERT_TRUE(first.manager.drain("web", "127.0.0.2", std::chrono::seconds(300)).ok());
  const auto routes = first.manager.controlPlane().routes();
  const Generation generation = first.manager.publisher().generation();
  first.manager.stop();
  EXPECT_TRUE(first.kernel.kernel().divert.empty()) << "N9";

  Managed second(configuration);
  std::filesystem::copy(first.directory.path() / "manager.state",
                        second.directory.path() / "manager.state");
  second.start();
  EXPECT_EQ(second.health("127.0.0.1"), Health::healthy);
  EXPECT_EQ(second.manager.controlPlane().routes(), routes);
  EXPECT_TRUE(second.manager.controlPlane().nextDeadline());
  EXPECT_GE(second.manager.publisher().generation(), generation);
}

TEST(Manager, LeavingForASuccessorKeepsWhatPacketsMeet) {
  LittleServer backend([](int) {});
  Managed first(webConfiguration(backend.port()));
  first.start();
  runUntil(first.io, [&] { return first.health("127.0.0.1") == Health::healthy; });
  const auto diverted = first.kernel.kernel().divert;
  ASSERT_FALSE(diverted.empty());
  first.manager.leave();
  EXPECT_EQ(first.kernel.kernel().divert, diverted);
  std::ifstream file(first.directory.path() / "manager.state");
  auto written = nlohmann::json::parse(file);
  for (const char* part : {"proxy", "host"}) written.erase(part);
  EXPECT_EQ(written.dump(), first.manager.controlPlane().save());
}

TEST(Manager, GenerationsAreWrittenBeforeTheyAreSent) {
  Managed managed(webConfiguration(1));
  managed.start();
  ASSERT_TRUE(managed.manager.drain("web", "127.0.0.2", std::chrono::seconds(300)).ok());
  // Killed here: no timer has run.
  std::ifstream file(managed.directory.path() / "manager.state");
  auto written = nlohmann::json::parse(file);
  EXPECT_EQ(written.at("proxy").dump(), managed.manager.proxyPlane().save());
  for (const char* part : {"proxy", "host"}) written.erase(part);
  EXPECT_EQ(written.dump(), managed.manager.controlPlane().save());
}

TEST(Manager, AnUnreadableStateIsNoReasonNotToStart) {
  Managed managed(webConfiguration(1));
  std::ofstream(managed.directory.path() / "manager.state") << "{\"version\": 99, garbage";
  managed.start();
  EXPECT_EQ(managed.kernel.lastWish().backends.size(), 2u);
}

TEST(Manager, TheKernelIsReconciledRegularly) {
  Managed managed(webConfiguration(1));
  managed.start();
  managed.kernel.disturb();
  runUntil(
      managed.io, [&] { return managed.kernel.reconciliations() > 0; }, std::chrono::seconds(8));
  EXPECT_EQ(managed.manager.publisher().counters().repairs, 1u);
}

}  // namespace
}  // namespace weir::manager
