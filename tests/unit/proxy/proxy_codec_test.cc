// SPDX-License-Identifier: GPL-2.0-or-later
//
// The wire form of the proxy's messages: whole, strict, and of one form.
#include <gtest/gtest.h>

#include <limits>

#include "support/proxy_service.h"
#include "weir/snapshot.h"

namespace weir {
namespace {

using namespace test;

ProxySnapshot richNode() {
  ProxySnapshot node;
  node.generation = Generation(9);
  node.hashSeed = 0x0123456789abcdef;
  node.settings.sourceAddresses = {Address::ipv4(0x0a000001), *Address::parse("fd00::9")};
  node.settings.threads = 4;
  node.zone = "za";
  node.region = "r1";
  node.zones = {{"za", "r1"}, {"zb", "r1"}, {"zc", "r2"}};
  node.fronts = {{"f", Address::ipv4(0xc0000201), 443, "tls"},
                 {"g", *Address::parse("2001:db8::1"), 80, "plain"}};
  node.targetProxies = {
      {"tls", "", TargetTcpProxy::ProxyHeader::proxyV2, {*Prefix::parse("10.0.0.0/8")}},
      {"plain", "shop", TargetTcpProxy::ProxyHeader::proxyV1, {}}};
  TlsRule rule;
  rule.matches = {{{"a.example.com", "*.example.org"}, {"h2", "http/1.1"}},
                  {{"b.example.com"}, {}}};
  rule.destinations = {{"shop", 3}, {"other", 0}};
  rule.idleTimeout = std::chrono::seconds(0);
  node.tlsRoutes = {{"t", {"tls"}, {rule, rule}}};
  return node;
}

ProxyServiceSnapshot richService() {
  auto service = serviceOf({groupOf(0, 2, 7), groupOf(1, 3, 1, "zc", "r2"), groupOf(2, 0, 1)},
                           LocalityPolicy::weightedRoundRobin, SessionAffinity::clientIpProto);
  service.policy = {"p", LbAlgorithm::sprayToRegion, true, 99, Isolation::nearest};
  service.generation = Generation(0xffffffff);
  service.maxConnections = 100;
  service.addressSelection = AddressSelection::preferIpv6;
  service.logEnable = true;
  service.logSampleRate = 0.25;
  service.groups[0].drained = true;
  service.groups[0].endpoints[0].drainDeadline = atMs(12'345);
  service.groups[0].endpoints[1].ipv6 = Address::parse("fd00::1");
  service.groups[1].endpoints[0].ipv4.reset();
  service.groups[1].endpoints[0].fqdn = "db.example.com";
  service.groups[1].endpoints[1].utilization = {0.5, atMs(99)};
  service.groups[1].endpoints[2].weight = 1000;
  service.groups[1].capacity = {};
  service.groups[1].capacity.mode = BalancingMode::utilization;
  service.groups[1].capacity.preference = Preference::preferred;
  service.groups[2].capacity = {};
  service.groups[2].capacity.mode = BalancingMode::rate;
  service.groups[2].capacity.maxRatePerEndpoint = 0.001;
  service.groups[2].capacity.capacityScaler = 0;
  return service;
}

ProxyLoadReport richReport() {
  return {"shop",
          Generation(4),
          {{"g0", "10.0.0.1:80", {0.75, atMs(1)}}, {"g1", "10.0.0.2:80", {0, atMs(2)}}}};
}

std::vector<SnapshotMessage> all() {
  return {richNode(),   richService(),   ProxyServiceRemoved{"shop"},
          richReport(), ProxySnapshot{}, ProxyServiceSnapshot{}};
}

TEST(ProxyCodec, EveryMessageComesBackAsItWas) {
  for (const SnapshotMessage& message : all()) {
    const auto decoded = decode(encode(message));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, message) << message.index();
  }
}

TEST(ProxyCodec, TruncatedAndTrailingBytesAreRefused) {
  for (const SnapshotMessage& message : all()) {
    auto bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode(std::span(bytes).first(size)).ok()) << message.index() << ' ' << size;
    bytes.push_back(0);
    EXPECT_FALSE(decode(bytes).ok()) << message.index();
  }
}

TEST(ProxyCodec, WhatIsAcceptedHasOneForm) {
  for (const SnapshotMessage& message : all()) {
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

template <class Message, class Change>
bool accepted(Message message, Change change) {
  change(message);
  return decode(encode(message)).ok();
}

TEST(ProxyCodec, InconsistentNodesAreRefused) {
  const auto good = [](auto change) { return accepted(richNode(), change); };
  EXPECT_TRUE(good([](auto&) {}));
  EXPECT_FALSE(good([](auto& n) { n.zones[1].name = "za"; }));
  EXPECT_FALSE(good([](auto& n) {
    n.zones[1].region = "r3";
    n.zones[2].region = "r1";
  }));
  EXPECT_FALSE(good([](auto& n) { n.fronts[1] = n.fronts[0]; }));
  EXPECT_FALSE(good([](auto& n) { n.fronts[0].port = 0; }));
  EXPECT_FALSE(good([](auto& n) { n.fronts[0].targetProxy = "gone"; }));
  EXPECT_FALSE(good([](auto& n) { n.targetProxies[1].name = "tls"; }));
  EXPECT_FALSE(good([](auto& n) { n.settings.threads = 257; }));
  EXPECT_FALSE(good([](auto& n) { n.settings.clientHelloTimeout = std::chrono::seconds(0); }));
  EXPECT_FALSE(good([](auto& n) { n.settings.keepaliveProbes = 0; }));
  EXPECT_FALSE(good([](auto& n) { n.settings.dnsMinTtl = std::chrono::seconds(3601); }));
  EXPECT_FALSE(good([](auto& n) { n.tlsRoutes[0].rules[0].destinations[0].weight = 1001; }));
  EXPECT_FALSE(good([](auto& n) { n.tlsRoutes[0].rules[0].destinations[0].weight = 0; }));
  EXPECT_FALSE(good([](auto& n) { n.tlsRoutes[0].rules[0].destinations.clear(); }));
}

TEST(ProxyCodec, InconsistentServicesAreRefused) {
  const auto good = [](auto change) { return accepted(richService(), change); };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(good([](auto&) {}));
  EXPECT_FALSE(good([](auto& s) { s.groups[1].name = "g0"; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[1].endpoint = "10.0.0.1:80"; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[0].port = 0; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[0].ipv4.reset(); }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[0].fqdn = "a.example.com"; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[0].ipv4 = Address::ipv6(1, 1); }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[1].ipv6 = Address::ipv4(1); }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].endpoints[1].weight = 1001; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[1].endpoints[1].utilization->value = -0.0; }));
  EXPECT_FALSE(good([&](auto& s) { s.groups[1].endpoints[1].utilization->value = kNan; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].capacity.maxConnections.reset(); }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].capacity.maxConnections = 0; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].capacity.maxConnectionsPerEndpoint = 1; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[0].capacity.maxRate = 1; }));
  EXPECT_FALSE(good([](auto& s) { s.groups[2].capacity.maxRatePerEndpoint.reset(); }));
  EXPECT_FALSE(good([](auto& s) { s.groups[1].capacity.maxUtilization = 1.5; }));
  EXPECT_FALSE(good([&](auto& s) { s.groups[1].capacity.capacityScaler = kNan; }));
  EXPECT_FALSE(good([](auto& s) { s.policy.failoverHealthThreshold = 0; }));
  EXPECT_FALSE(good([](auto& s) { s.policy.failoverHealthThreshold = 100; }));
  EXPECT_FALSE(good([](auto& s) { s.idleTimeout = std::chrono::seconds(0); }));
  EXPECT_FALSE(good([](auto& s) { s.logSampleRate = 1.01; }));
}

}  // namespace
}  // namespace weir
