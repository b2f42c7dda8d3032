// SPDX-License-Identifier: GPL-2.0-or-later
//
// A data plane in memory: snapshots go in through their wire form, packets as attributes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/packet_builder.h"
#include "weir/data_plane.h"

namespace weir::test {

inline BackendSlot slot(unsigned value) { return BackendSlot(static_cast<std::uint16_t>(value)); }
inline Generation generation(unsigned value) { return Generation(value); }
inline ServiceId serviceId(unsigned value) { return ServiceId(static_cast<std::uint16_t>(value)); }
inline ZoneIndex zoneIndex(unsigned value) { return ZoneIndex(static_cast<std::uint16_t>(value)); }
// The mark that the fixture's services give to a slot.
inline Mark markOf(unsigned slot) { return Mark((slot + 1) << 16); }

// A service whose backends 10.2.0.1, 10.2.0.2, ... in slots 0, 1, ... are all eligible.
inline ServiceSnapshot makeService(unsigned id, unsigned backends, unsigned madeIn = 1) {
  ServiceSnapshot service;
  service.id = serviceId(id);
  service.name = "service-" + std::to_string(id);
  service.generation = generation(madeIn);
  service.eligible.rule = "P2.1";
  for (unsigned i = 0; i < backends; ++i) {
    SnapshotBackend backend;
    backend.slot = slot(i);
    backend.mark = markOf(i);
    backend.group = "group";
    backend.endpoint = Address::ipv4(0x0a020001 + i).toString();
    service.backends.push_back(std::move(backend));
    service.eligible.members.push_back({slot(i), 1});
  }
  return service;
}

inline void setEligible(ServiceSnapshot& service, const std::vector<unsigned>& slots) {
  service.eligible.members.clear();
  for (const unsigned s : slots) service.eligible.members.push_back({slot(s), 1});
}

inline SnapshotRule makeRule(std::string_view vip, Protocol protocol, std::vector<PortRange> ports,
                             unsigned service = 1, std::string name = "rule") {
  return {std::move(name), address(vip), protocol, std::move(ports), serviceId(service)};
}

inline SnapshotRoute makeRoute(std::string_view destination, unsigned service = 1,
                               std::string name = "route", std::uint16_t priority = 1000) {
  return {std::move(name), Prefix::parse(destination).value(), priority, "rule",
          serviceId(service)};
}

struct Attributes {
  std::string_view source = "10.1.0.7";
  std::string_view destination = "10.9.9.9";
  std::uint16_t sourcePort = 40000, destinationPort = 80;
  Protocol protocol = Protocol::tcp;
  std::uint8_t flags = tcp_flag::ack;
  Fragment fragment = Fragment::none;
};
inline Packet makePacket(const Attributes& a) {
  Packet packet;
  packet.tuple = {address(a.source), address(a.destination),
                  a.sourcePort,      a.destinationPort,
                  a.protocol,        a.fragment};
  if (!packet.tuple.hasPorts()) packet.tuple.sourcePort = packet.tuple.destinationPort = 0;
  if (a.protocol == Protocol::tcp && a.fragment == Fragment::none) packet.tcpFlags = a.flags;
  return packet;
}
inline Packet reply(const Packet& packet) {
  Packet result = packet;
  result.tuple = packet.tuple.reversed();
  return result;
}
// An ICMP error from `router` to the source of the packet it is about.
inline Packet errorAbout(const Tuple& quoted, std::string_view router = "192.0.2.1") {
  Packet packet;
  packet.tuple.source = address(router);
  packet.tuple.destination = quoted.source;
  packet.tuple.protocol = quoted.source.isIpv4() ? Protocol::icmp : Protocol::icmpv6;
  packet.isIcmpError = true;
  packet.quoted = quoted;
  return packet;
}

class DataPlane {
 public:
  explicit DataPlane(std::size_t entries = 4096)
      : table_(TrackingTableOptions{.ipv4Entries = entries, .ipv6Entries = entries, .seed = 7}) {}

  DataPlane(const ServiceSnapshot& service, std::vector<SnapshotRule> rules,
            std::vector<SnapshotRoute> routes = {})
      : DataPlane() {
    hear(service);
    hear(std::move(rules), std::move(routes));
  }

  void hear(const SnapshotMessage& message) {
    world_ = world_->after(std::move(decode(encode(message))).value());
  }
  void hear(std::vector<SnapshotRule> rules, std::vector<SnapshotRoute> routes = {}) {
    RulesSnapshot snapshot;
    snapshot.rules = std::move(rules);
    snapshot.routes = std::move(routes);
    hear(snapshot);
  }

  Decision decide(const Packet& packet) {
    return weir::decide(*world_, table_, prepare(*world_, table_, packet), now_);
  }
  Decision foresee(const Packet& packet) {
    return weir::foresee(*world_, table_, prepare(*world_, table_, packet), now_);
  }

  void pass(std::chrono::seconds time) { now_ += time; }
  Time now() const { return now_; }
  const World& world() const { return *world_; }
  std::shared_ptr<const World> shared() const { return world_; }
  TrackingTable& table() { return table_; }

 private:
  std::shared_ptr<const World> world_ = std::make_shared<const World>();
  TrackingTable table_;
  Time now_{std::chrono::hours(1)};
};

}  // namespace weir::test
