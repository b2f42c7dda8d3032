// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/operations.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/engine/scene.h"

namespace weir::engine {
namespace {

using Json = nlohmann::json;
using test::Bytes;
using test::kNow;
using test::webPacket;

class OperationsTest : public testing::Test {
 protected:
  Json ask(const std::string& request, Time now = kNow) {
    const OperationContext context{world_.get(), &table_, now, [] { return R"({"a":1})"; }};
    const std::vector<std::uint8_t> bytes(request.begin(), request.end());
    return Json::parse(answerRequest(bytes, context));
  }
  std::string backendOf(const Bytes& packet) {
    const Decision decision = test::pass(*world_, table_, packet);
    return decision.service->describe(decision.backend)->endpoint;
  }

  std::shared_ptr<const World> world_ = test::webWorld(3);
  TrackingTable table_{test::smallTable()};
};

TEST_F(OperationsTest, CountsByServiceClientAndBackend) {
  std::size_t first = 0;
  for (std::uint16_t port = 1; port <= 30; ++port)
    if (backendOf(webPacket(port)) == "10.2.0.11") ++first;
  backendOf(webPacket(1, tcp_flag::ack, "10.1.0.8"));
  EXPECT_EQ(ask(R"({"op":"count"})")["count"], 31);
  EXPECT_EQ(ask(R"({"op":"count","service":"web"})")["count"], 31);
  EXPECT_EQ(ask(R"({"op":"count","client":"10.1.0.8"})")["count"], 1);
  EXPECT_EQ(ask(R"({"op":"count","client":"10.1.0.0/24"})")["count"], 31);
  EXPECT_EQ(ask(R"({"op":"count","client":"10.2.0.0/24"})")["count"], 0);
  EXPECT_EQ(ask(R"({"op":"count","client":"10.1.0.7","backend":"10.2.0.11"})")["count"], first);
}

TEST_F(OperationsTest, ListsWhatItCounts) {
  const std::string backend = backendOf(webPacket(40000, tcp_flag::syn));
  const Json answer = ask(R"({"op":"list"})", kNow + std::chrono::seconds(3));
  EXPECT_EQ(answer["truncated"], false);
  ASSERT_EQ(answer["connections"].size(), 1u);
  EXPECT_EQ(answer["connections"][0], (Json{{"service", "web"},
                                            {"tuple", "5-tuple"},
                                            {"source", "10.1.0.7"},
                                            {"destination", "10.9.9.9"},
                                            {"sourcePort", 40000},
                                            {"destinationPort", 80},
                                            {"protocol", 6},
                                            {"backend", backend},
                                            {"group", "web-a"},
                                            {"generation", 1},
                                            {"idleSec", 3},
                                            {"state", "new"}}));
}

TEST_F(OperationsTest, ListStopsAtItsLimit) {
  for (std::uint16_t port = 1; port <= 30; ++port) backendOf(webPacket(port));
  const Json answer = ask(R"({"op":"list","limit":7})");
  EXPECT_EQ(answer["connections"].size(), 7u);
  EXPECT_EQ(answer["truncated"], true);
  EXPECT_EQ(ask(R"({"op":"list","limit":30})")["truncated"], false);
}

TEST_F(OperationsTest, FlushRemovesWhatMatches) {
  for (std::uint16_t port = 1; port <= 30; ++port) backendOf(webPacket(port));
  backendOf(webPacket(1, tcp_flag::ack, "10.1.0.8"));
  EXPECT_EQ(ask(R"({"op":"flush","client":"10.1.0.7"})")["flushed"], 30);
  EXPECT_EQ(ask(R"({"op":"count"})")["count"], 1);
  EXPECT_EQ(ask(R"({"op":"flush"})")["flushed"], 1);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(OperationsTest, IdleEntriesAreNotCounted) {
  backendOf(webPacket(1));
  EXPECT_EQ(ask(R"({"op":"count"})", kNow + std::chrono::seconds(599))["count"], 1);
  EXPECT_EQ(ask(R"({"op":"count"})", kNow + std::chrono::seconds(600))["count"], 0);
}

// N6: the key of a flow behind a route is symmetric, its client may stand on either side.
TEST_F(OperationsTest, N6_ClientOfARoutedFlowIsFoundOnEitherSide) {
  RulesSnapshot rules = test::webRules();
  rules.routes.push_back({"r", *Prefix::parse("192.0.2.0/24"), 1000, "web-vip", test::kWeb});
  world_ = test::worldOf({test::webService(3), rules});
  backendOf(test::ipv4(
      {.source = test::address("198.51.100.1"), .destination = test::address("192.0.2.9")},
      test::udp({.sourcePort = 1, .destinationPort = 2})));
  EXPECT_EQ(ask(R"({"op":"count","client":"198.51.100.1"})")["count"], 1);
  EXPECT_EQ(ask(R"({"op":"count","client":"203.0.113.0/24"})")["count"], 0);
}

TEST_F(OperationsTest, WhatIsNotUnderstoodIsRefusedInWords) {
  for (const char* request :
       {"", "{", "[]", "7", "\xff\xfe", R"({"op":7})", R"({"op":"reboot"})", "{}",
        R"({"op":"count","service":"nope"})", R"({"op":"count","client":"10.1.0.7/8"})",
        R"({"op":"count","client":5})", R"({"op":"list","limit":-1})", R"({"op":"explain"})",
        R"({"op":"explain","packet":{"src":"x","dst":"10.9.9.9"}})"}) {
    const Json answer = ask(request);
    ASSERT_TRUE(answer.contains("error")) << request;
    EXPECT_FALSE(answer["error"].get<std::string>().empty());
  }
}

TEST_F(OperationsTest, BeforeTheFirstSynchronisationThereAreOnlyStatistics) {
  const OperationContext context{world_.get(), nullptr, kNow, [] { return R"({"a":1})"; }};
  const auto answer = [&](std::string_view request) {
    const std::vector<std::uint8_t> bytes(request.begin(), request.end());
    return Json::parse(answerRequest(bytes, context));
  };
  EXPECT_EQ(answer(R"({"op":"stats"})"), (Json{{"a", 1}}));
  EXPECT_TRUE(answer(R"({"op":"count"})").contains("error"));
}

}  // namespace
}  // namespace weir::engine
