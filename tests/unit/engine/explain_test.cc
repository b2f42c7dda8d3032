// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

using Json = nlohmann::ordered_json;
using test::kNow;
using test::webPacket;

class ExplainTest : public testing::Test {
 protected:
  Json ask(const std::string& packet, Time now = kNow) {
    const auto question = packetFromJson(Json::parse(packet));
    EXPECT_TRUE(question.ok()) << question.error().message;
    return explain(*world_, table_, *question, now);
  }
  static std::string tcpPacket(int port, const char* flags) {
    return R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"TCP","sport":)" + std::to_string(port) +
           R"(,"dport":80,"flags":)" + flags + "}";
  }

  std::shared_ptr<const World> world_ = test::webWorld(5);
  TrackingTable table_{test::smallTable()};
};

TEST_F(ExplainTest, NewConnectionIsSelectedAsDecided) {
  for (std::uint16_t port = 1; port < 200; ++port) {
    const Json answer = ask(tcpPacket(port, R"(["SYN"])"));
    EXPECT_EQ(answer["action"], "forward");
    EXPECT_EQ(answer["connection"], "new");
    EXPECT_EQ(answer["tracking"]["result"], "skipped");
    EXPECT_EQ(answer["selection"]["endpoint"], answer["backend"]["endpoint"]);
    const Decision decision = test::pass(*world_, table_, webPacket(port, tcp_flag::syn));
    EXPECT_EQ(answer["backend"]["endpoint"],
              decision.service->describe(decision.backend)->endpoint);
  }
}

TEST_F(ExplainTest, AskingChangesNothing) {
  ask(tcpPacket(1, R"(["ACK"])"));
  EXPECT_EQ(table_.size(), 0u);
  test::pass(*world_, table_, webPacket(1));
  ask(tcpPacket(1, R"(["ACK"])"), kNow + std::chrono::seconds(500));
  // Had the question refreshed the entry, it would live at 601 s.
  EXPECT_EQ(ask(tcpPacket(1, R"(["ACK"])"), kNow + std::chrono::seconds(601))["connection"], "new");
}

TEST_F(ExplainTest, MissThenHitWithAge) {
  EXPECT_EQ(ask(tcpPacket(1, "[]"))["tracking"]["result"], "miss");
  test::pass(*world_, table_, webPacket(1));
  const Json answer = ask(tcpPacket(1, "[]"), kNow + std::chrono::seconds(42));
  EXPECT_EQ(answer["connection"], "known");
  EXPECT_EQ(answer["tracking"]["result"], "hit");
  EXPECT_EQ(answer["tracking"]["entry"]["idleSec"], 42);
  EXPECT_EQ(answer["tracking"]["entry"]["endpoint"], answer["backend"]["endpoint"]);
  EXPECT_EQ(answer["tracking"]["entry"]["state"], "established");
}

TEST_F(ExplainTest, P6_3_EntryOfAnOlderGenerationIsStale) {
  test::pass(*world_, table_, webPacket(1));
  ServiceSnapshot newer = test::webService(5, 2);
  for (auto& backend : newer.backends) backend.validFrom.fill(Generation(2));
  world_ = world_->after(newer);
  const Json answer = ask(tcpPacket(1, "[]"));
  EXPECT_EQ(answer["connection"], "new");
  EXPECT_EQ(answer["tracking"]["result"], "stale");
}

TEST_F(ExplainTest, SaysWhatMadeTheChoice) {
  const Json answer = ask(tcpPacket(1, "[]"));
  EXPECT_EQ(answer["matched"], (Json{{"kind", "forwardingRule"}, {"name", "web-vip"}}));
  EXPECT_EQ(answer["service"], "web");
  EXPECT_EQ(answer["affinity"], "NONE");
  EXPECT_EQ(answer["trackingMode"], "PER_CONNECTION");
  EXPECT_EQ(answer["set"]["rule"], "P2.1");
  EXPECT_EQ(answer["set"]["members"].size(), 5u);
  EXPECT_EQ(answer["selection"]["tuple"], "5-tuple");
  EXPECT_EQ(answer["selection"]["sourcePort"], 1);
  EXPECT_EQ(answer["selection"]["slots"], 65537);
  EXPECT_EQ(answer["zone"], nullptr);
}

TEST_F(ExplainTest, SlotHoldsTheBackend) {
  const Json answer = ask(tcpPacket(1, "[]"));
  const auto& choice = world_->service(test::kWeb)->choiceFor(kNoZone);
  const auto at = choice.table.slots()[answer["selection"]["slot"].get<std::size_t>()];
  EXPECT_EQ(world_->service(test::kWeb)->describe(choice.set.members[at].slot)->endpoint,
            answer["backend"]["endpoint"]);
}

TEST_F(ExplainTest, P2_8_EmptySetDropsWithItsReason) {
  world_ = test::webWorld(0);
  const Json answer = ask(tcpPacket(1, "[]"));
  EXPECT_EQ(answer["action"], "drop");
  EXPECT_EQ(answer["reason"], "no_eligible_backend");
  EXPECT_EQ(answer["selection"], nullptr);
  EXPECT_EQ(answer["backend"], nullptr);
}

TEST_F(ExplainTest, OtherDestinationsPass) {
  const Json answer = ask(R"({"src":"10.1.0.7","dst":"10.9.9.8","proto":"TCP","dport":80})");
  EXPECT_EQ(answer["action"], "pass");
}

TEST_F(ExplainTest, N6_RouteIsNamedAndItsKeyIsTheReplysToo) {
  RulesSnapshot rules = test::webRules();
  rules.routes.push_back({"to-fw", *Prefix::parse("0.0.0.0/0"), 1000, "web-vip", test::kWeb});
  world_ = test::worldOf({test::webService(5), rules});
  const Json there = ask(R"({"src":"10.1.0.7","dst":"192.0.2.1","sport":5,"dport":6})");
  const Json back = ask(R"({"src":"192.0.2.1","dst":"10.1.0.7","sport":6,"dport":5})");
  EXPECT_EQ(there["matched"], (Json{{"kind", "route"}, {"name", "to-fw"}}));
  EXPECT_EQ(there["selection"]["symmetric"], true);
  EXPECT_EQ(there["selection"], back["selection"]);
  EXPECT_EQ(there["backend"], back["backend"]);
  EXPECT_EQ(there["selection"]["endpoint"], there["backend"]["endpoint"]);
}

TEST_F(ExplainTest, ZoneOfTheClientIsNamed) {
  RulesSnapshot rules = test::webRules();
  rules.zones = {"zone-a"};
  rules.clientRanges.emplace_back(*Prefix::parse("10.1.0.0/16"), ZoneIndex(0));
  ServiceSnapshot service = test::webService(5);
  service.zonal.emplace_back(ZoneIndex(0), EligibleSet{"P2.1", "P3.4", {{BackendSlot(2), 1}}});
  world_ = test::worldOf({service, rules});
  const Json answer = ask(tcpPacket(1, "[]"));
  EXPECT_EQ(answer["zone"], "zone-a");
  EXPECT_EQ(answer["set"]["zonalRule"], "P3.4");
  EXPECT_EQ(answer["backend"]["endpoint"], "10.2.0.13");
}

TEST_F(ExplainTest, P8_6_AnIcmpErrorFollowsTheConnectionItQuotes) {
  test::pass(*world_, table_, webPacket(40000));
  const Json known = ask(tcpPacket(40000, "[]"));
  const Json answer = ask(R"({"src":"10.3.0.1","dst":"10.9.9.9","proto":"ICMP",
      "inner":{"src":"10.9.9.9","dst":"10.1.0.7","sport":80,"dport":40000}})");
  EXPECT_EQ(answer["connection"], "related");
  EXPECT_EQ(answer["tracking"]["result"], "hit");
  EXPECT_EQ(answer["backend"], known["backend"]);
}

TEST(PacketFromJson, P8_6_WhatCanBeQuoted) {
  const auto complaint = [](const char* text) {
    const auto packet = packetFromJson(Json::parse(text));
    return packet ? std::string() : packet.error().message;
  };
  EXPECT_THAT(complaint(R"({"src":"10.3.0.1","dst":"10.9.9.9","proto":"TCP","inner":{}})"),
              testing::HasSubstr("quoted by ICMP in IPv4"));
  EXPECT_THAT(complaint(R"({"src":"10.3.0.1","dst":"10.9.9.9","proto":"ICMP","inner":{}})"),
              testing::HasSubstr("in 'inner': 'src'"));
  EXPECT_THAT(complaint(R"({"src":"10.3.0.1","dst":"10.9.9.9","proto":"ICMP",
                            "inner":{"src":"fd00::1","dst":"fd00::2"}})"),
              testing::HasSubstr("family"));
}

TEST(PacketFromJson, ReadsProtocolsByNameAndNumber) {
  const auto protocolOf = [](const char* text) {
    const auto packet = packetFromJson(
        Json::parse(std::string(R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":)") + text + "}"));
    return packet ? static_cast<int>(packet.value().tuple.protocol) : -1;
  };
  EXPECT_EQ(protocolOf("\"udp\""), 17);
  EXPECT_EQ(protocolOf("\"ICMPv6\""), 58);
  EXPECT_EQ(protocolOf("132"), 132);
  EXPECT_EQ(protocolOf("256"), -1);
  EXPECT_EQ(protocolOf("\"IPX\""), -1);
  EXPECT_EQ(protocolOf("null"), 6);
}

TEST(PacketFromJson, FragmentsAndFlags) {
  const auto later = packetFromJson(Json::parse(
      R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"UDP","sport":1,"dport":2,"fragment":"later"})"));
  EXPECT_EQ(later.value().tuple.fragment, Fragment::later);
  EXPECT_EQ(later.value().tuple.sourcePort, 0);
  const auto syn =
      packetFromJson(Json::parse(R"({"src":"10.1.0.7","dst":"10.9.9.9","flags":["SYN","ack"]})"));
  EXPECT_EQ(syn.value().tcpFlags, tcp_flag::syn | tcp_flag::ack);
}

TEST(PacketFromJson, ErrorNamesTheMember) {
  const auto complaint = [](const char* text) {
    const auto packet = packetFromJson(Json::parse(text));
    return packet ? std::string() : packet.error().message;
  };
  EXPECT_THAT(complaint(R"({"dst":"10.9.9.9"})"), testing::HasSubstr("'src'"));
  EXPECT_THAT(complaint(R"({"src":"10.1.0.7","dst":"fd00::1"})"), testing::HasSubstr("family"));
  EXPECT_THAT(complaint(R"({"src":"10.1.0.7","dst":"10.9.9.9","sport":65536})"),
              testing::HasSubstr("'sport'"));
  EXPECT_THAT(complaint(R"({"src":"10.1.0.7","dst":"10.9.9.9","flags":["X"]})"),
              testing::HasSubstr("'flags'"));
  EXPECT_THAT(complaint(R"({"src":"10.1.0.7","dst":"10.9.9.9","fragment":3})"),
              testing::HasSubstr("'fragment'"));
  EXPECT_THAT(complaint("[]"), testing::HasSubstr("'packet'"));
}

}  // namespace
}  // namespace weir::engine
