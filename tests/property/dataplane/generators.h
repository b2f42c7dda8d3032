// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arbitrary addresses, snapshots and packets. Small ranges are preferred, so that things meet.
#pragma once

#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "support/data_plane_fixture.h"

namespace weir::test {

inline rc::Gen<Address> anyAddress() {
  return rc::gen::exec([] {
    if (*rc::gen::arbitrary<bool>()) return Address::ipv4(*rc::gen::arbitrary<std::uint32_t>());
    // Sparse words make runs of zeros, which the text form is about.
    const auto word = [] {
      std::uint64_t value = 0;
      for (int i = 0; i < 4; ++i) {
        const auto group = *rc::gen::weightedOneOf<std::uint16_t>(
            {{1, rc::gen::just<std::uint16_t>(0)}, {1, rc::gen::arbitrary<std::uint16_t>()}});
        value = value << 16 | group;
      }
      return value;
    };
    const std::uint64_t hi = word();
    const Address address = Address::ipv6(hi, word());
    return address.isIpv4() ? Address::ipv6(1, 0) : address;
  });
}

// One of a few hosts, of one family.
inline rc::Gen<Address> nearAddress() {
  return rc::gen::map(rc::gen::inRange(0u, 6u),
                      [](unsigned i) { return Address::ipv4(0x0a010000 + i); });
}

inline rc::Gen<Packet> nearPacket() {
  return rc::gen::exec([] {
    Packet packet;
    packet.tuple.source = *nearAddress();
    packet.tuple.destination = *nearAddress();
    packet.tuple.protocol = *rc::gen::element(Protocol::tcp, Protocol::udp, Protocol::icmp);
    if (packet.tuple.protocol != Protocol::icmp) {
      packet.tuple.fragment = *rc::gen::weightedElement<Fragment>(
          {{4, Fragment::none}, {1, Fragment::first}, {1, Fragment::later}});
    }
    if (packet.tuple.hasPorts()) {
      packet.tuple.sourcePort = *rc::gen::inRange<std::uint16_t>(1, 4);
      packet.tuple.destinationPort = *rc::gen::inRange<std::uint16_t>(1, 4);
    }
    if (packet.tuple.protocol == Protocol::tcp && packet.tuple.fragment == Fragment::none) {
      packet.tcpFlags = *rc::gen::element(tcp_flag::syn, tcp_flag::ack,
                                          static_cast<std::uint8_t>(tcp_flag::syn | tcp_flag::ack),
                                          tcp_flag::rst);
    }
    return packet;
  });
}

inline rc::Gen<SessionAffinity> anyAffinity() {
  return rc::gen::element(SessionAffinity::none, SessionAffinity::clientIpPortProto,
                          SessionAffinity::clientIpProto, SessionAffinity::clientIp,
                          SessionAffinity::clientIpNoDestination);
}
inline rc::Gen<TrackingMode> anyTracking() {
  return rc::gen::element(TrackingMode::perConnection, TrackingMode::perSession);
}

inline EligibleSet subsetOf(const std::vector<SnapshotBackend>& backends) {
  EligibleSet set{"P2.1", *rc::gen::element<std::string>("", "P3.4"), {}};
  for (const SnapshotBackend& backend : backends) {
    if (*rc::gen::arbitrary<bool>()) {
      set.members.push_back({backend.slot, *rc::gen::inRange(0u, 1001u)});
    }
  }
  return set;
}

inline rc::Gen<ServiceSnapshot> anyService() {
  return rc::gen::exec([] {
    ServiceSnapshot service;
    service.id = serviceId(*rc::gen::inRange(0u, 65536u));
    service.name = *rc::gen::arbitrary<std::string>();
    service.generation = generation(*rc::gen::arbitrary<std::uint32_t>());
    service.affinity = *anyAffinity();
    service.tracking = *anyTracking();
    service.idleTimeout = std::chrono::seconds(*rc::gen::inRange(1, 57601));
    const auto slots = *rc::gen::arbitrary<std::set<std::uint16_t>>();
    for (const std::uint16_t value : slots) {
      SnapshotBackend backend;
      backend.slot = BackendSlot(value);
      backend.mark = Mark(*rc::gen::nonZero<std::uint32_t>());
      for (Generation& g : backend.validFrom) g = generation(*rc::gen::arbitrary<std::uint32_t>());
      backend.group = *rc::gen::arbitrary<std::string>();
      backend.endpoint = (*anyAddress()).toString();
      service.backends.push_back(std::move(backend));
    }
    service.eligible = subsetOf(service.backends);
    for (const std::uint16_t zone : *rc::gen::arbitrary<std::set<std::uint16_t>>()) {
      if (ZoneIndex(zone) == kNoZone) continue;
      service.zonal.emplace_back(zone, subsetOf(service.backends));
    }
    return service;
  });
}

inline rc::Gen<Prefix> anyPrefix() {
  return rc::gen::exec([] {
    const Address address = *anyAddress();
    return Prefix(address, *rc::gen::inRange(0u, address.isIpv4() ? 33u : 129u));
  });
}

inline rc::Gen<RulesSnapshot> anyRules() {
  return rc::gen::exec([] {
    RulesSnapshot rules;
    rules.generation = generation(*rc::gen::arbitrary<std::uint32_t>());
    rules.hashSeed = *rc::gen::arbitrary<std::uint64_t>();
    rules.zones = *rc::gen::arbitrary<std::vector<std::string>>();
    const auto count = [] { return *rc::gen::inRange(0, 5); };
    for (int i = count(); i > 0; --i) {
      SnapshotRule rule;
      rule.name = *rc::gen::arbitrary<std::string>();
      rule.address = *anyAddress();
      rule.protocol = *rc::gen::element(Protocol::none, Protocol::tcp, Protocol::udp);
      if (rule.protocol != Protocol::none) {
        for (int j = count(); j > 0; --j) {
          const auto first = *rc::gen::arbitrary<std::uint16_t>();
          const auto width = *rc::gen::inRange(0, 65536 - first);
          rule.ports.push_back({first, static_cast<std::uint16_t>(first + width)});
        }
      }
      rule.service = serviceId(*rc::gen::inRange(0u, 65536u));
      rules.rules.push_back(std::move(rule));
    }
    for (int i = count(); i > 0; --i) {
      rules.routes.push_back({*rc::gen::arbitrary<std::string>(), *anyPrefix(),
                              *rc::gen::arbitrary<std::uint16_t>(),
                              *rc::gen::arbitrary<std::string>(), serviceId(1)});
    }
    for (int i = rules.zones.empty() ? 0 : count(); i > 0; --i) {
      rules.clientRanges.emplace_back(
          *anyPrefix(),
          *rc::gen::inRange<std::uint16_t>(0, static_cast<std::uint16_t>(rules.zones.size())));
    }
    return rules;
  });
}

}  // namespace weir::test
