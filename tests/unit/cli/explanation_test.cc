// SPDX-License-Identifier: GPL-2.0-or-later
//
// `weirctl explain` in ten situations: the control plane makes the snapshots, the engine explains,
// weirctl words it. The texts are in tests/golden/explain; with WEIR_WRITE_GOLDEN set they are
// written anew, to be read before they are committed.
#include "cli/explanation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/explain.h"
#include "manager/api/views.h"
#include "support/controlled_plane.h"
#include "unit/engine/scene.h"

namespace weir::cli {
namespace {

class Explanation : public testing::Test {
 protected:
  Explanation() {
    configuration_.groups = {group("web-a", {"10.2.0.11", "10.2.0.12"}, "zone-a"),
                             group("web-b", {"10.2.1.11"}, "zone-b")};
    configuration_.services = {service("web", {{"web-a", false}, {"web-b", false}}, 300)};
    ForwardingRule rule;
    rule.name = "web-vip";
    rule.address = *Address::parse("10.9.9.9");
    rule.ports = {{80, 80}};
    rule.backendService = "web";
    configuration_.rules = {rule};
  }

  BackendService& web() { return configuration_.services.front(); }

  void apply() { hear(plane_.plane.apply(configuration_, at(0)).value()); }
  void hear(Changes changes) {
    const Changes taken = plane_.take(std::move(changes));
    for (const ServiceSnapshot& snapshot : taken.services) world_ = world_->after(snapshot);
    if (taken.rules) world_ = world_->after(*taken.rules);
  }
  void turn(const std::string& endpoint, Health health) {
    for (const auto& group : configuration_.groups)
      for (const Endpoint& member : group.endpoints)
        if (member.identity() == endpoint)
          hear(plane_.plane
                   .setHealth(
                       std::vector<ControlPlane::HealthUpdate>{{{group.name, endpoint}, health}},
                       at(1))
                   .value());
  }

  Json packet(const std::string& text) { return Json::parse(text); }
  // A packet passes and leaves its entry.
  void pass(const Json& described) {
    const Packet parsed = *engine::packetFromJson(described);
    decide(*world_, table_, prepare(*world_, table_, parsed), test::kNow);
  }

  // What weirctl says of it, 42 s later.
  std::string explained(const Json& described) {
    Json answer = engine::explain(*world_, table_, *engine::packetFromJson(described),
                                  test::kNow + std::chrono::seconds(42));
    answer["packet"] = described;
    manager::completeExplanation(plane_.plane, answer);
    std::ostringstream out;
    printExplanation(answer, out);
    return out.str();
  }

  void expectGolden(const std::string& name, const Json& described) {
    const std::string path = WEIR_SOURCE_DIR "/tests/golden/explain/" + name + ".txt";
    const std::string text = explained(described);
    if (std::getenv("WEIR_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
    std::ifstream in(path);
    EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
  }

  const Json syn_ = packet(
      R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"TCP","sport":40000,"dport":80,"flags":["SYN"]})");
  const Json ack_ = packet(
      R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"TCP","sport":40000,"dport":80,"flags":["ACK"]})");
  Configuration configuration_;
  Controlled plane_{Health::healthy};
  std::shared_ptr<const World> world_ = std::make_shared<const World>();
  TrackingTable table_{test::smallTable()};
};

TEST_F(Explanation, P1_1_NewConnection) {
  apply();
  turn("10.2.0.12", Health::timeout);
  expectGolden("new-connection", syn_);
}

TEST_F(Explanation, P1_2_KnownConnection) {
  web().affinity = SessionAffinity::clientIp;
  web().tracking = TrackingMode::perSession;
  apply();
  pass(syn_);
  expectGolden("known-connection", ack_);
}

TEST_F(Explanation, P2_2_AllUnhealthy) {
  apply();
  for (const char* endpoint : {"10.2.0.11", "10.2.0.12", "10.2.1.11"})
    turn(endpoint, Health::unhealthy);
  expectGolden("all-unhealthy", syn_);
}

TEST_F(Explanation, P2_7_FailoverActive) {
  web().backends.back().failover = true;
  web().failover.failoverRatio = 0.75;
  apply();
  turn("10.2.0.12", Health::unhealthy);
  expectGolden("failover-active", syn_);
}

TEST_F(Explanation, P7_1_DrainedBackend) {
  apply();
  pass(syn_);
  const auto first = engine::explain(*world_, table_, *engine::packetFromJson(ack_), test::kNow);
  const std::string backend = first["backend"]["endpoint"].get<std::string>();
  hear(plane_.plane.drain("web", backend, std::nullopt, at(2)).value());
  expectGolden("drained-backend", ack_);
}

TEST_F(Explanation, P3_3_StayWithinTheZone) {
  web().spillover = Spillover::stayWithinZone;
  configuration_.node.zones = {{"zone-a", "r1", {*Prefix::parse("10.1.0.0/16")}},
                               {"zone-b", "r1", {}}};
  apply();
  turn("10.2.0.11", Health::unhealthy);
  turn("10.2.0.12", Health::unhealthy);
  expectGolden("stay-within-zone", syn_);
}

TEST_F(Explanation, P4_LaterFragment) {
  configuration_.rules.front().protocol = Protocol::udp;
  configuration_.rules.front().ports.clear();
  web().protocol = ServiceProtocol::udp;
  apply();
  expectGolden("later-fragment",
               packet(R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"UDP","fragment":"later"})"));
}

TEST_F(Explanation, P8_6_IcmpError) {
  apply();
  pass(syn_);
  expectGolden("icmp-error", packet(R"({"src":"10.3.0.1","dst":"10.9.9.9","proto":"ICMP",
      "inner":{"src":"10.9.9.9","dst":"10.1.0.7","proto":"TCP","sport":80,"dport":40000}})"));
}

TEST_F(Explanation, P8_2_NoRuleMatches) {
  apply();
  expectGolden("no-rule", packet(R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"TCP",
      "sport":40000,"dport":443,"flags":["SYN"]})"));
}

TEST_F(Explanation, N1_NextHopRoute) {
  configuration_.routes = {{"to-internet", *Prefix::parse("0.0.0.0/0"), 1000, "web-vip"}};
  apply();
  expectGolden("next-hop-route", packet(R"({"src":"10.1.0.7","dst":"192.0.2.1","proto":"TCP",
      "sport":40000,"dport":443,"flags":["SYN"]})"));
}

TEST_F(Explanation, P2_8_DroppedBecauseNothingIsHealthy) {
  web().backends.back().failover = true;
  web().failover.dropTrafficIfUnhealthy = true;
  apply();
  for (const char* endpoint : {"10.2.0.11", "10.2.0.12", "10.2.1.11"})
    turn(endpoint, Health::unhealthy);
  expectGolden("dropped", syn_);
}

}  // namespace
}  // namespace weir::cli
