// SPDX-License-Identifier: GPL-2.0-or-later
//
// Random packets against random changes, compared with a model that keeps its entries in a map.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "property/dataplane/generators.h"

namespace weir {
namespace {

using namespace test;

// Everything that tells two flows apart, the service first.
using ModelKey =
    std::tuple<ServiceId, TupleKind, Address, Address, std::uint16_t, std::uint16_t, Protocol>;
struct ModelEntry {
  BackendSlot backend;
  Generation madeIn;
  Time lastUsed;
};

ModelKey modelKey(const ServiceSnapshot& service, const Packet& packet) {
  const FlowKey key =
      makeKey(trackingTuple(service.tracking, service.affinity, packet.tuple), packet.tuple);
  return {service.id,          key.kind,    key.source, key.destination, key.sourcePort,
          key.destinationPort, key.protocol};
}

// A service with changes of every kind from one snapshot to the next.
ServiceSnapshot changed(ServiceSnapshot service, unsigned madeIn) {
  service.generation = generation(madeIn);
  for (auto& backend : service.backends) {
    for (Generation& from : backend.validFrom) {
      if (*rc::gen::inRange(0, 4) == 0) from = generation(madeIn);
    }
  }
  if (!service.backends.empty() && *rc::gen::inRange(0, 3) == 0) {
    service.backends.erase(
        service.backends.begin() +
        *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(service.backends.size())));
  }
  for (unsigned i = 0; i < 5; ++i) {
    const bool present = std::any_of(service.backends.begin(), service.backends.end(),
                                     [&](const auto& b) { return b.slot == slot(i); });
    if (present || *rc::gen::inRange(0, 3) != 0) continue;
    SnapshotBackend backend{slot(i), markOf(i), {}, "group", "10.2.0." + std::to_string(i)};
    backend.validFrom.fill(generation(madeIn));
    service.backends.push_back(std::move(backend));
  }
  std::vector<unsigned> eligible;
  for (const auto& backend : service.backends) {
    if (*rc::gen::inRange(0, 3) != 0) eligible.push_back(backend.slot.value());
  }
  setEligible(service, eligible);
  return service;
}

RC_GTEST_PROP(Decide, KnownConnectionsMoveOnlyWhenTheyMust, ()) {
  DataPlane plane;
  std::map<ServiceId, ServiceSnapshot> services;
  std::vector<SnapshotRule> rules;
  for (unsigned id = 1; id <= 2; ++id) {
    ServiceSnapshot service = makeService(id, 4);
    service.affinity = *anyAffinity();
    service.tracking = *anyTracking();
    services[service.id] = service;
    plane.hear(service);
    for (unsigned host = 0; host < 3; ++host) {
      rules.push_back({"rule",
                       Address::ipv4(0x0a010000 + 3 * (id - 1) + host),
                       Protocol::none,
                       {},
                       service.id});
    }
  }
  plane.hear(rules);

  std::map<ModelKey, ModelEntry> model;
  unsigned madeIn = 1;
  for (int step = *rc::gen::inRange(1, 200); step > 0; --step) {
    const int what = *rc::gen::inRange(0, 12);
    if (what == 0) {
      ServiceSnapshot& service = services[serviceId(*rc::gen::inRange(1u, 3u))];
      service = changed(service, ++madeIn);
      plane.hear(service);
      continue;
    }
    if (what == 1) plane.pass(std::chrono::seconds(*rc::gen::inRange(0, 700)));

    const Packet packet = *nearPacket();
    const Decision foreseen = plane.foresee(packet);
    const Decision decision = plane.decide(packet);
    RC_ASSERT(foreseen.action == decision.action);
    RC_ASSERT(foreseen.connection == decision.connection);
    RC_ASSERT(foreseen.backend == decision.backend);

    const ServiceSnapshot& service = services.at(decision.match.service);
    const auto present = [&](BackendSlot wanted) {
      return std::find_if(service.backends.begin(), service.backends.end(),
                          [&](const auto& b) { return b.slot == wanted; });
    };
    const ModelKey key = modelKey(service, packet);
    const auto entry = model.find(key);
    bool live = entry != model.end() &&
                !(packet.isNewBySyn() && synIsAlwaysNew(service.tracking, service.affinity)) &&
                plane.now() - entry->second.lastUsed < service.idleTimeout;
    if (live) {
      const auto backend = present(entry->second.backend);
      const auto protocol = static_cast<std::size_t>(protocolClass(std::get<Protocol>(key)));
      live =
          backend != service.backends.end() && entry->second.madeIn >= backend->validFrom[protocol];
    }
    if (live) {
      RC_ASSERT(decision.connection == ConnectionState::known);
      RC_ASSERT(decision.backend == entry->second.backend);
      entry->second.lastUsed = plane.now();
    } else if (service.eligible.members.empty()) {
      RC_ASSERT(decision.action == Action::drop);
      RC_ASSERT(decision.reason == DropReason::noEligibleBackend);
    } else {
      RC_ASSERT(decision.connection == ConnectionState::fresh);
      const auto chosen =
          std::find_if(service.eligible.members.begin(), service.eligible.members.end(),
                       [&](const auto& member) { return member.slot == decision.backend; });
      RC_ASSERT(chosen != service.eligible.members.end());
      model[key] = {decision.backend, service.generation, plane.now()};
    }
    if (decision.action == Action::forward) {
      RC_ASSERT(decision.mark == present(decision.backend)->mark);
    }
  }
}

RC_GTEST_PROP(Decide, N6_PacketAndReplyHaveOneBackendUnderRoutes, ()) {
  ServiceSnapshot service = makeService(1, *rc::gen::inRange(1u, 20u));
  service.affinity = *rc::gen::element(SessionAffinity::none, SessionAffinity::clientIpPortProto,
                                       SessionAffinity::clientIpProto, SessionAffinity::clientIp);
  service.tracking = *anyTracking();
  DataPlane there(service, {}, {makeRoute("0.0.0.0/0"), makeRoute("::/0")});
  DataPlane back(service, {}, {makeRoute("0.0.0.0/0"), makeRoute("::/0")});

  Packet packet = *nearPacket();
  packet.tuple.source = *anyAddress();
  packet.tuple.destination = *rc::gen::suchThat(anyAddress(), [&](const Address& address) {
    return address.family() == packet.tuple.source.family();
  });
  const Decision first = there.decide(packet);
  RC_ASSERT(back.decide(reply(packet)).backend == first.backend);
  Packet answer = reply(packet);
  answer.tcpFlags = static_cast<std::uint8_t>(answer.tcpFlags | tcp_flag::ack);
  const Decision second = there.decide(answer);
  RC_ASSERT(second.connection == ConnectionState::known);
  RC_ASSERT(second.backend == first.backend);
}

RC_GTEST_PROP(Decide, P8_6_ErrorsFollowTheConnectionAndChangeNothing, ()) {
  ServiceSnapshot service = makeService(1, 5);
  service.affinity = *anyAffinity();
  service.tracking = *anyTracking();
  DataPlane plane(service, {makeRule("10.9.9.9", Protocol::none, {})});
  Packet packet = *nearPacket();
  packet.tuple.destination = address("10.9.9.9");
  if (*rc::gen::arbitrary<bool>()) plane.decide(packet);
  const auto size = plane.table().size();
  Packet ordinary = packet;
  ordinary.tcpFlags = tcp_flag::ack;
  const BackendSlot expected = plane.foresee(ordinary).backend;
  const Decision related = plane.decide(errorAbout(packet.tuple.reversed()));
  RC_ASSERT(related.connection == ConnectionState::related);
  RC_ASSERT(related.backend == expected);
  RC_ASSERT(plane.table().size() == size);
}

}  // namespace
}  // namespace weir
