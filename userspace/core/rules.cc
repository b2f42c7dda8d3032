// SPDX-License-Identifier: GPL-2.0-or-later
//
// From a packet's destination to a rule or a route. Virtual addresses lie in a hash table with one
// cache line each; the line leads to the ports of TCP and of UDP, sorted.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "core/prefix_map.h"
#include "weir/data_plane.h"

namespace weir {
namespace {

constexpr std::uint32_t kNoIndex = 0xffffffff;
constexpr Rules::Match kNoMatch{ServiceId{}, false, kNoIndex};

bool exists(const Rules::Match& match) noexcept { return match.index != kNoIndex; }

struct Interval {
  PortRange ports;
  Rules::Match match;
};

// The rules of one protocol at one address.
struct ProtocolRules {
  std::uint32_t begin = 0;  // of its intervals, sorted and disjoint
  std::uint32_t count = 0;
  Rules::Match allPorts = kNoMatch;
};

struct alignas(64) VirtualAddress {
  Address address;
  ProtocolRules tcp;
  ProtocolRules udp;
  Rules::Match everyProtocol = kNoMatch;
  bool used = false;
};
static_assert(sizeof(VirtualAddress) == 64);

}  // namespace

struct Rules::Index {
  std::vector<VirtualAddress> addresses;  // a power of two, at most half full
  unsigned shift = 0;
  std::vector<Interval> intervals;
  PrefixMap<Match> routes;
  PrefixMap<ZoneIndex> zones;

  const VirtualAddress* find(Address address) const noexcept {
    for (std::size_t at = start(address); addresses[at].used; at = next(at)) {
      if (addresses[at].address == address) return &addresses[at];
    }
    return nullptr;
  }

  const Match* findPort(const ProtocolRules& rules, const Tuple& tuple) const noexcept {
    if (rules.count != 0 && tuple.hasPorts()) {
      const auto begin = intervals.begin() + rules.begin;
      const auto after = std::upper_bound(
          begin, begin + rules.count, tuple.destinationPort,
          [](std::uint16_t port, const Interval& i) { return port < i.ports.first; });
      if (after != begin && tuple.destinationPort <= std::prev(after)->ports.last) {
        return &std::prev(after)->match;
      }
    }
    return exists(rules.allPorts) ? &rules.allPorts : nullptr;
  }

  void build(const RulesSnapshot& snapshot);
  void addRules(const std::vector<SnapshotRule>& rules, const std::vector<std::uint32_t>& indices,
                Protocol protocol, ProtocolRules& out);

  std::size_t start(Address address) const noexcept {
    return std::hash<Address>{}(address) >> shift;
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (addresses.size() - 1); }
};

void Rules::Index::addRules(const std::vector<SnapshotRule>& rules,
                            const std::vector<std::uint32_t>& indices, Protocol protocol,
                            ProtocolRules& out) {
  out.begin = static_cast<std::uint32_t>(intervals.size());
  for (const std::uint32_t index : indices) {
    const SnapshotRule& rule = rules[index];
    if (rule.protocol != protocol) continue;
    const Match match{rule.service, false, index};
    if (rule.ports.empty() && !exists(out.allPorts)) out.allPorts = match;
    for (const PortRange range : rule.ports) intervals.push_back({range, match});
  }
  out.count = static_cast<std::uint32_t>(intervals.size()) - out.begin;
  std::stable_sort(intervals.begin() + out.begin, intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.ports < b.ports; });
}

void Rules::Index::build(const RulesSnapshot& snapshot) {
  std::map<Address, std::vector<std::uint32_t>> byAddress;
  for (std::uint32_t i = 0; i < snapshot.rules.size(); ++i) {
    byAddress[snapshot.rules[i].address].push_back(i);
  }
  addresses.resize(std::bit_ceil(std::max<std::size_t>(byAddress.size() * 2, 2)));
  shift = 64 - static_cast<unsigned>(std::countr_zero(addresses.size()));
  for (const auto& [address, indices] : byAddress) {
    VirtualAddress entry;
    entry.address = address;
    entry.used = true;
    addRules(snapshot.rules, indices, Protocol::tcp, entry.tcp);
    addRules(snapshot.rules, indices, Protocol::udp, entry.udp);
    for (const std::uint32_t i : indices) {
      const SnapshotRule& rule = snapshot.rules[i];
      if (rule.protocol == Protocol::none && !exists(entry.everyProtocol)) {
        entry.everyProtocol = {rule.service, false, i};
      }
    }
    std::size_t at = start(address);
    while (addresses[at].used) at = next(at);
    addresses[at] = entry;
  }

  // Of equal prefixes the first counts: the lowest priority, then the first name (N1, N4).
  std::vector<std::uint32_t> order(snapshot.routes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const SnapshotRoute& left = snapshot.routes[a];
    const SnapshotRoute& right = snapshot.routes[b];
    return std::tie(left.priority, left.name, a) < std::tie(right.priority, right.name, b);
  });
  std::vector<std::pair<Prefix, Match>> destinations;
  for (const std::uint32_t i : order) {
    destinations.emplace_back(snapshot.routes[i].destination,
                              Match{snapshot.routes[i].service, true, i});
  }
  routes = PrefixMap<Match>(destinations);
  zones = PrefixMap<ZoneIndex>(snapshot.clientRanges);
}

Rules::Rules(RulesSnapshot snapshot) : snapshot_(std::move(snapshot)) {
  auto index = std::make_shared<Index>();
  index->build(snapshot_);
  index_ = std::move(index);
}

const Rules::Match* Rules::find(const Tuple& tuple) const noexcept {
  if (const VirtualAddress* address = index_->find(tuple.destination)) {
    const Match* match = nullptr;
    if (tuple.protocol == Protocol::tcp) {
      match = index_->findPort(address->tcp, tuple);
    } else if (tuple.protocol == Protocol::udp) {
      match = index_->findPort(address->udp, tuple);
    }
    if (match == nullptr && exists(address->everyProtocol)) match = &address->everyProtocol;
    if (match != nullptr) return match;
  }
  return findRoute(tuple.destination);
}

const Rules::Match* Rules::findRoute(Address destination) const noexcept {
  return index_->routes.find(destination);
}

std::optional<Rules::Match> Rules::match(const Tuple& tuple) const noexcept {
  const Match* match = find(tuple);
  return match != nullptr ? std::optional(*match) : std::nullopt;
}

ZoneIndex Rules::zoneOf(Address client) const noexcept {
  const ZoneIndex* zone = index_->zones.find(client);
  return zone != nullptr ? *zone : kNoZone;
}

bool Rules::isVirtual(Address address) const noexcept { return index_->find(address) != nullptr; }

}  // namespace weir
