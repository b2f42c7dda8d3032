// SPDX-License-Identifier: GPL-2.0-or-later
//
// The index against the rules read one by one.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "property/dataplane/generators.h"

namespace weir {
namespace {

using namespace test;

// Prefixes around the few addresses that packets have.
Prefix nearPrefix() {
  return Prefix(*nearAddress(), *rc::gen::element(0u, 8u, 29u, 30u, 31u, 32u));
}

bool catches(const SnapshotRule& rule, const Tuple& tuple) {
  if (rule.address != tuple.destination) return false;
  if (rule.protocol != Protocol::none && rule.protocol != tuple.protocol) return false;
  if (rule.ports.empty()) return true;
  if (!tuple.hasPorts()) return false;
  for (const PortRange range : rule.ports) {
    if (range.first <= tuple.destinationPort && tuple.destinationPort <= range.last) return true;
  }
  return false;
}

// P8.3: rules of one protocol at one address do not overlap.
std::vector<SnapshotRule> disjointRules() {
  std::vector<SnapshotRule> rules;
  for (unsigned i = 0; i < 6; ++i) {
    for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::none}) {
      const Address at = Address::ipv4(0x0a010000 + i);
      const int shape = *rc::gen::inRange(0, 4);
      if (shape == 0) continue;
      if (protocol == Protocol::none || shape == 1) {
        rules.push_back({"all", at, protocol, {}, serviceId(1)});
      } else {
        rules.push_back({"one", at, protocol, {{1, 1}}, serviceId(1)});
        if (shape == 3) rules.push_back({"two", at, protocol, {{2, 2}, {3, 9}}, serviceId(2)});
      }
    }
  }
  // Any of the rules may come first.
  if (!rules.empty()) {
    const auto first = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(rules));
    std::rotate(rules.begin(), rules.begin() + first, rules.end());
  }
  return rules;
}

RC_GTEST_PROP(Rules, MatchesAsReadOneByOne, ()) {
  RulesSnapshot snapshot;
  snapshot.rules = disjointRules();
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    snapshot.routes.push_back({*rc::gen::element<std::string>("a", "b", "c"), nearPrefix(),
                               *rc::gen::inRange<std::uint16_t>(0, 3), "rule", serviceId(1)});
  }
  const Rules rules(snapshot);

  for (int i = 0; i < 20; ++i) {
    const Tuple tuple = (*nearPacket()).tuple;
    const SnapshotRule* best = nullptr;
    for (const SnapshotRule& rule : snapshot.rules) {
      if (!catches(rule, tuple)) continue;
      if (best == nullptr || best->protocol == Protocol::none) best = &rule;
    }
    const SnapshotRoute* route = nullptr;
    const auto rank = [](const SnapshotRoute& r) {
      return std::tuple(128u - r.destination.length(), r.priority, r.name);
    };
    for (const SnapshotRoute& candidate : snapshot.routes) {
      if (!candidate.destination.contains(tuple.destination)) continue;
      if (route == nullptr || rank(candidate) < rank(*route)) route = &candidate;
    }

    const auto match = rules.match(tuple);
    RC_ASSERT(match.has_value() == (best != nullptr || route != nullptr));
    if (best != nullptr) {
      RC_ASSERT(!match->byRoute);
      RC_ASSERT(&snapshot.rules[match->index] == best);
      RC_ASSERT(match->service == best->service);
    } else if (route != nullptr) {
      RC_ASSERT(match->byRoute);
      RC_ASSERT(rank(snapshot.routes[match->index]) == rank(*route));
    }
  }
}

RC_GTEST_PROP(Rules, P3_ZoneIsThatOfTheLongestRange, ()) {
  RulesSnapshot snapshot;
  std::vector<Prefix> prefixes;
  for (std::uint16_t i = 0; i < 12; ++i) {
    const Prefix prefix = *rc::gen::arbitrary<bool>() ? nearPrefix() : *anyPrefix();
    if (std::find(prefixes.begin(), prefixes.end(), prefix) != prefixes.end()) continue;
    prefixes.push_back(prefix);
    snapshot.zones.push_back(std::to_string(i));
    snapshot.clientRanges.emplace_back(prefix, snapshot.zones.size() - 1);
  }
  const Rules rules(snapshot);
  for (int i = 0; i < 20; ++i) {
    const Address client = *rc::gen::oneOf(nearAddress(), anyAddress());
    ZoneIndex expected = kNoZone;
    unsigned length = 0;
    for (const auto& [prefix, zone] : snapshot.clientRanges) {
      if (!prefix.contains(client)) continue;
      if (expected != kNoZone && prefix.length() < length) continue;
      expected = zone;
      length = prefix.length();
    }
    RC_ASSERT(rules.zoneOf(client) == expected);
  }
}

}  // namespace
}  // namespace weir
