// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "support/data_plane_fixture.h"
#include "weir/snapshot.h"

namespace weir {
namespace {

using namespace test;

ServiceSnapshot richService() {
  ServiceSnapshot service = makeService(3, 5, 77);
  service.affinity = SessionAffinity::clientIpProto;
  service.tracking = TrackingMode::perSession;
  service.idleTimeout = std::chrono::seconds(57600);
  service.backends[2].validFrom = {generation(1), generation(0xffffffff), generation(3)};
  service.eligible.zonalRule = "P3.4";
  service.eligible.members = {{slot(1), 0}, {slot(4), 1000}};
  service.zonal = {{zoneIndex(0), service.eligible}, {zoneIndex(9), EligibleSet{"P2.8", "", {}}}};
  return service;
}

RulesSnapshot richRules() {
  RulesSnapshot rules;
  rules.generation = generation(8);
  rules.hashSeed = 0x0123456789abcdef;
  rules.rules = {makeRule("10.9.9.9", Protocol::tcp, {{80, 80}, {8000, 8999}}),
                 makeRule("2001:db8::1", Protocol::udp, {{0, 65535}}, 2, ""),
                 makeRule("10.9.9.9", Protocol::none, {}, 65535)};
  rules.routes = {makeRoute("0.0.0.0/0"), makeRoute("2001:db8::/32", 2, "v6", 0)};
  rules.zones = {"zone-a", "zone-b"};
  rules.clientRanges = {{*Prefix::parse("10.1.0.0/16"), zoneIndex(1)},
                        {*Prefix::parse("fd00::/8"), zoneIndex(0)}};
  return rules;
}

std::vector<SnapshotMessage> oneOfEach() {
  return {NodeSnapshot{.queueBase = 9000, .queues = 4, .ipv4Entries = 1, .ipv6Entries = 1u << 27},
          SyncBegin{},
          richService(),
          ServiceRemoved{serviceId(513)},
          richRules(),
          SyncEnd{}};
}

std::string refusal(const SnapshotMessage& message) {
  const auto decoded = decode(encode(message));
  return decoded.ok() ? "accepted" : decoded.error().message;
}

TEST(SnapshotCodec, EveryMessageComesBackAsItWas) {
  for (const SnapshotMessage& message : oneOfEach()) {
    const auto decoded = decode(encode(message));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, message) << message.index();
  }
}

TEST(SnapshotCodec, TheWireFormIsLittleEndianAndBeginsWithTheVersion) {
  const std::vector<std::uint8_t> expected{2, 0, 3, 0x01, 0x02};
  EXPECT_EQ(encode(ServiceRemoved{serviceId(0x0201)}), expected);
  EXPECT_EQ(kSnapshotVersion, 2);
}

TEST(SnapshotCodec, AnotherVersionIsRefusedByNumber) {
  auto bytes = encode(SyncBegin{});
  bytes[0] = 1;
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.error().message.find("version is 1"), std::string::npos);
}

TEST(SnapshotCodec, TruncatedAndTrailingBytesAreRefused) {
  for (const SnapshotMessage& message : oneOfEach()) {
    auto bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(std::span(bytes).first(size)).ok()) << message.index() << ' ' << size;
    }
    bytes.push_back(0);
    EXPECT_FALSE(decode(bytes).ok()) << message.index();
  }
}

TEST(SnapshotCodec, UnknownMessageTypeIsRefused) {
  for (unsigned type = 10; type < 256; ++type) {
    EXPECT_FALSE(decode(std::vector<std::uint8_t>{1, 0, static_cast<std::uint8_t>(type)}).ok());
  }
}

TEST(SnapshotCodec, WhatIsAcceptedHasOneForm) {
  for (const SnapshotMessage& message : oneOfEach()) {
    const auto original = encode(message);
    for (std::size_t at = 0; at < original.size(); ++at) {
      auto bytes = original;
      for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
        bytes[at] = static_cast<std::uint8_t>(original[at] ^ change);
        const auto decoded = decode(bytes);
        if (decoded.ok()) {
          EXPECT_EQ(encode(*decoded), bytes) << message.index() << ' ' << at;
        }
      }
    }
  }
}

TEST(SnapshotCodec, HugeCountsAreRefusedBeforeRoomIsMade) {
  // The count of backends behind id, name, generation, affinity, tracking and timeout.
  ServiceSnapshot service;
  service.idleTimeout = std::chrono::seconds(600);
  auto bytes = encode(service);
  for (const std::size_t at : {17u, 21u + 4u, 29u}) {
    auto damaged = bytes;
    for (std::size_t i = 0; i < 4; ++i) damaged.at(at + i) = 0xff;
    EXPECT_FALSE(decode(damaged).ok()) << at;
  }
}

TEST(SnapshotCodec, InconsistentServicesAreRefused) {
  const auto broken = [](auto change) {
    ServiceSnapshot service = richService();
    change(service);
    return refusal(service);
  };
  EXPECT_EQ(broken([](auto&) {}), "accepted");
  EXPECT_NE(broken([](auto& s) { s.backends[1].slot = s.backends[0].slot; }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.backends[1].mark = Mark{}; }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.eligible.members[0].slot = slot(99); }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.eligible.members[0].slot = slot(4); }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.eligible.members[0].weight = 1001; }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.zonal[0].first = s.zonal[1].first; }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.zonal[0].first = kNoZone; }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.idleTimeout = std::chrono::seconds(0); }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.idleTimeout = std::chrono::seconds(57601); }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.affinity = static_cast<SessionAffinity>(5); }), "accepted");
  EXPECT_NE(broken([](auto& s) { s.tracking = static_cast<TrackingMode>(2); }), "accepted");
}

TEST(SnapshotCodec, InconsistentRulesAreRefused) {
  const auto broken = [](auto change) {
    RulesSnapshot rules = richRules();
    change(rules);
    return refusal(rules);
  };
  EXPECT_EQ(broken([](auto&) {}), "accepted");
  EXPECT_NE(broken([](auto& r) { r.rules[0].protocol = Protocol::gre; }), "accepted");
  EXPECT_NE(broken([](auto& r) { r.rules[2].ports = {{1, 2}}; }), "accepted");
  EXPECT_NE(broken([](auto& r) { r.rules[0].ports = {{2, 1}}; }), "accepted");
  EXPECT_NE(broken([](auto& r) { r.clientRanges[0].second = zoneIndex(2); }), "accepted");
  EXPECT_NE(broken([](auto& r) { r.zones.clear(); }), "accepted");
}

TEST(SnapshotCodec, PrefixesAreStrict) {
  RulesSnapshot rules;
  rules.zones = {"z"};
  rules.clientRanges = {{*Prefix::parse("10.1.0.0/16"), zoneIndex(0)}};
  auto bytes = encode(rules);
  const std::size_t length = bytes.size() - 3;
  ASSERT_EQ(bytes[length], 16);
  for (const unsigned bad : {33u, 128u, 255u, 15u}) {  // 15: a host bit is set
    bytes[length] = static_cast<std::uint8_t>(bad);
    EXPECT_FALSE(decode(bytes).ok()) << bad;
  }
}

TEST(SnapshotCodec, NodeValuesAreChecked) {
  EXPECT_EQ(refusal(NodeSnapshot{}), "accepted");
  EXPECT_NE(refusal(NodeSnapshot{.queues = 0}), "accepted");
  EXPECT_NE(refusal(NodeSnapshot{.queueBase = 65535, .queues = 2}), "accepted");
  EXPECT_NE(refusal(NodeSnapshot{.ipv4Entries = (1u << 27) + 1}), "accepted");
}

}  // namespace
}  // namespace weir
