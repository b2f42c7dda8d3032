// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small worlds for the engine's tests: service "web" (id 3) behind 10.9.9.9:80/TCP with backends
// 10.2.0.11, .12, ... in slots 0, 1, ... and marks 0x10000, 0x20000, ...
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/packet_builder.h"
#include "weir/data_plane.h"
#include "weir/snapshot.h"

namespace weir::test {

inline constexpr ServiceId kWeb{3};

inline ServiceSnapshot webService(std::size_t backends, std::uint32_t generation = 1) {
  ServiceSnapshot service;
  service.id = kWeb;
  service.name = "web";
  service.generation = Generation(generation);
  service.eligible.rule = "P2.1";
  for (std::size_t i = 0; i < backends; ++i) {
    const BackendSlot slot(static_cast<std::uint16_t>(i));
    service.backends.push_back({slot,
                                Mark(static_cast<std::uint32_t>(i + 1) << 16),
                                {},
                                "web-a",
                                "10.2.0." + std::to_string(11 + i)});
    service.eligible.members.push_back({slot, 1});
  }
  return service;
}

inline RulesSnapshot webRules(std::uint32_t generation = 1) {
  RulesSnapshot rules;
  rules.generation = Generation(generation);
  rules.rules.push_back({"web-vip", address("10.9.9.9"), Protocol::tcp, {{80, 80}}, kWeb});
  return rules;
}

inline std::shared_ptr<const World> worldOf(const std::vector<SnapshotMessage>& messages) {
  auto world = std::make_shared<const World>();
  for (const auto& message : messages) world = world->after(message);
  return world;
}

inline std::shared_ptr<const World> webWorld(std::size_t backends = 2) {
  return worldOf({webService(backends), webRules()});
}

inline Bytes webPacket(std::uint16_t sourcePort, std::uint8_t flags = tcp_flag::ack,
                       std::string_view source = "10.1.0.7") {
  return ipv4({.source = address(source), .destination = address("10.9.9.9")},
              tcp({.sourcePort = sourcePort, .destinationPort = 80, .flags = flags}));
}

inline TrackingTableOptions smallTable() {
  TrackingTableOptions options;
  options.ipv4Entries = 4096;
  options.ipv6Entries = 1024;
  return options;
}

inline constexpr Time kNow{std::chrono::hours(1)};

// Lets the core decide about a packet, as the engine would.
inline Decision pass(const World& world, TrackingTable& table, const Bytes& bytes,
                     Time now = kNow) {
  Packet packet;
  if (parsePacket(bytes, bytes.size(), packet) != Malformed::none) return {};
  return decide(world, table, prepare(world, table, packet), now);
}

}  // namespace weir::test
