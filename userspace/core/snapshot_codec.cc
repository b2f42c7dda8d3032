// SPDX-License-Identifier: GPL-2.0-or-later
//
// The wire form of snapshots: a 16-bit version, an 8-bit message type, then the message's fields in
// the order of their declaration; snapshot_wire.h says how values are written. The comments at the
// put functions name the fields.
#include <type_traits>
#include <unordered_set>

#include "snapshot_wire.h"
#include "weir/tracking_table.h"

namespace weir {

using wire::put;
using wire::Reader;
using wire::Writer;

namespace {

constexpr std::uint32_t kMaxWeight = 1000;         // P9.1
constexpr std::size_t kMaxMembers = 65535;         // what a lookup table can index
constexpr std::uint64_t kMaxEntries = 1ull << 27;  // of one family, see tracking_table.h

// The type byte of each message is its index in the variant.
template <class Message>
constexpr std::uint8_t kType = [] {
  std::uint8_t index = 0;
  const bool found = [&]<class... All>(std::type_identity<std::variant<All...>>) {
    return ((std::is_same_v<Message, All> || (++index, false)) || ...);
  }(std::type_identity<SnapshotMessage>{});
  static_cast<void>(found);
  return index;
}();

// NodeSnapshot: queueBase, queues, ipv4Entries, ipv6Entries, fwmarkMask, flowCache.
void put(Writer& out, const NodeSnapshot& node) {
  out.put(node.queueBase);
  out.put(node.queues);
  out.put(node.ipv4Entries);
  out.put(node.ipv6Entries);
  out.put(node.fwmarkMask);
  out.put(static_cast<std::uint8_t>(node.flowCache));
}

NodeSnapshot takeNode(Reader& in) {
  NodeSnapshot node;
  node.queueBase = in.take<std::uint16_t>();
  node.queues = in.take<std::uint16_t>();
  node.ipv4Entries = in.take<std::uint64_t>();
  node.ipv6Entries = in.take<std::uint64_t>();
  node.fwmarkMask = in.take<std::uint32_t>();
  node.flowCache = in.takeEnum(FlowCache::require, "flow cache");
  in.check(node.queues != 0 && node.queueBase + node.queues - 1 <= 0xffff, "queues");
  in.check(node.ipv4Entries <= kMaxEntries && node.ipv6Entries <= kMaxEntries, "table entries");
  return node;
}

// EligibleSet: rule, zonalRule, list of (slot, weight).
void put(Writer& out, const EligibleSet& set) {
  out.put(set.rule);
  out.put(set.zonalRule);
  out.putList(set.members, [&](const EligibleSet::Member& member) {
    out.put(member.slot);
    out.put(member.weight);
  });
}

constexpr std::size_t kMemberBytes = 2 + 4;
constexpr std::size_t kSetBytes = 2 + 2 + 4;

EligibleSet takeSet(Reader& in, const std::unordered_set<BackendSlot>& known) {
  EligibleSet set;
  set.rule = in.takeString();
  set.zonalRule = in.takeString();
  std::unordered_set<BackendSlot> seen;
  set.members = in.takeList<EligibleSet::Member>(kMemberBytes, [&] {
    EligibleSet::Member member;
    member.slot = in.takeId<BackendSlot>();
    member.weight = in.take<std::uint32_t>();
    in.check(member.weight <= kMaxWeight, "weight");
    in.check(known.contains(member.slot) && seen.insert(member.slot).second, "slot of a member");
    return member;
  });
  in.check(set.members.size() <= kMaxMembers, "number of members");
  return set;
}

// ServiceSnapshot: id, name, generation, affinity, tracking, idle timeout in seconds (32 bits),
// list of (slot, mark, validFrom of each class, group, endpoint), the set, list of (zone, set).
void put(Writer& out, const ServiceSnapshot& service) {
  out.put(service.id);
  out.put(service.name);
  out.put(service.generation);
  out.put(static_cast<std::uint8_t>(service.affinity));
  out.put(static_cast<std::uint8_t>(service.tracking));
  out.put(static_cast<std::uint32_t>(service.idleTimeout.count()));
  out.putList(service.backends, [&](const SnapshotBackend& backend) {
    out.put(backend.slot);
    out.put(backend.mark);
    for (const Generation generation : backend.validFrom) out.put(generation);
    out.put(backend.group);
    out.put(backend.endpoint);
  });
  put(out, service.eligible);
  out.putList(service.zonal, [&](const std::pair<ZoneIndex, EligibleSet>& zonal) {
    out.put(zonal.first);
    put(out, zonal.second);
  });
}

constexpr std::size_t kBackendBytes = 2 + 4 + 4 * kProtocolClasses + 2 + 2;

ServiceSnapshot takeService(Reader& in) {
  ServiceSnapshot service;
  service.id = in.takeId<ServiceId>();
  service.name = in.takeString();
  service.generation = in.takeId<Generation>();
  service.affinity = in.takeEnum(SessionAffinity::clientIpNoDestination, "affinity");
  service.tracking = in.takeEnum(TrackingMode::perSession, "tracking mode");
  service.idleTimeout = std::chrono::seconds(in.take<std::uint32_t>());
  in.check(service.idleTimeout.count() > 0 && service.idleTimeout <= kMaxIdleTimeout,
           "idle timeout");
  std::unordered_set<BackendSlot> slots;
  service.backends = in.takeList<SnapshotBackend>(kBackendBytes, [&] {
    SnapshotBackend backend;
    backend.slot = in.takeId<BackendSlot>();
    backend.mark = in.takeId<Mark>();
    for (Generation& generation : backend.validFrom) generation = in.takeId<Generation>();
    backend.group = in.takeString();
    backend.endpoint = in.takeString();
    in.check(slots.insert(backend.slot).second, "slot of a backend");
    in.check(backend.mark != Mark{}, "mark");
    return backend;
  });
  service.eligible = takeSet(in, slots);
  std::unordered_set<ZoneIndex> zones;
  service.zonal =
      in.takeList<std::pair<ZoneIndex, EligibleSet>>(sizeof(std::uint16_t) + kSetBytes, [&] {
        const auto zone = in.takeId<ZoneIndex>();
        in.check(zone != kNoZone && zones.insert(zone).second, "zone of a set");
        return std::pair(zone, takeSet(in, slots));
      });
  return service;
}

// RulesSnapshot: generation, hashSeed, list of rules (name, address, protocol, list of port ranges
// (first, last), service), list of routes (name, destination, priority, rule, service), list of
// zone names, list of (prefix, zone).
void put(Writer& out, const RulesSnapshot& rules) {
  out.put(rules.generation);
  out.put(rules.hashSeed);
  out.putList(rules.rules, [&](const SnapshotRule& rule) {
    out.put(rule.name);
    out.put(rule.address);
    out.put(static_cast<std::uint8_t>(rule.protocol));
    out.putList(rule.ports, [&](const PortRange& range) {
      out.put(range.first);
      out.put(range.last);
    });
    out.put(rule.service);
  });
  out.putList(rules.routes, [&](const SnapshotRoute& route) {
    out.put(route.name);
    out.put(route.destination);
    out.put(route.priority);
    out.put(route.rule);
    out.put(route.service);
  });
  out.putList(rules.zones, [&](const std::string& zone) { out.put(zone); });
  out.putList(rules.clientRanges, [&](const std::pair<Prefix, ZoneIndex>& range) {
    out.put(range.first);
    out.put(range.second);
  });
}

constexpr std::size_t kRuleBytes = 2 + 16 + 1 + 4 + 2;
constexpr std::size_t kPrefixBytes = 16 + 1;
constexpr std::size_t kRouteBytes = 2 + kPrefixBytes + 2 + 2 + 2;

SnapshotRule takeRule(Reader& in) {
  SnapshotRule rule;
  rule.name = in.takeString();
  rule.address = in.takeAddress();
  rule.protocol = static_cast<Protocol>(in.take<std::uint8_t>());
  rule.ports = in.takeList<PortRange>(4, [&] {
    PortRange range;
    range.first = in.take<std::uint16_t>();
    range.last = in.take<std::uint16_t>();
    in.check(range.first <= range.last, "port range");
    return range;
  });
  rule.service = in.takeId<ServiceId>();
  const bool l3Default = rule.protocol == Protocol::none;
  in.check(l3Default || rule.protocol == Protocol::tcp || rule.protocol == Protocol::udp,
           "protocol of a rule");
  in.check(!l3Default || rule.ports.empty(), "ports of a rule for every protocol");
  return rule;
}

RulesSnapshot takeRules(Reader& in) {
  RulesSnapshot rules;
  rules.generation = in.takeId<Generation>();
  rules.hashSeed = in.take<std::uint64_t>();
  rules.rules = in.takeList<SnapshotRule>(kRuleBytes, [&] { return takeRule(in); });
  rules.routes = in.takeList<SnapshotRoute>(kRouteBytes, [&] {
    std::string name = in.takeString();
    const Prefix destination = in.takePrefix();
    const auto priority = in.take<std::uint16_t>();
    std::string rule = in.takeString();
    const auto service = in.takeId<ServiceId>();
    return SnapshotRoute{std::move(name), destination, priority, std::move(rule), service};
  });
  rules.zones = in.takeList<std::string>(2, [&] { return in.takeString(); });
  in.check(rules.zones.size() <= kNoZone.value(), "number of zones");
  rules.clientRanges = in.takeList<std::pair<Prefix, ZoneIndex>>(kPrefixBytes + 2, [&] {
    const Prefix prefix = in.takePrefix();
    const auto zone = in.takeId<ZoneIndex>();
    in.check(zone.value() < rules.zones.size(), "zone of a client range");
    return std::pair(prefix, zone);
  });
  return rules;
}

}  // namespace

std::vector<std::uint8_t> encode(const SnapshotMessage& message) {
  Writer out;
  out.put(kSnapshotVersion);
  out.put(static_cast<std::uint8_t>(message.index()));
  std::visit(
      [&]<class Message>(const Message& body) {
        if constexpr (std::is_same_v<Message, ServiceRemoved>) {
          out.put(body.id);
        } else if constexpr (!std::is_empty_v<Message>) {
          put(out, body);
        }
      },
      message);
  return std::move(out).finish();
}

Result<SnapshotMessage> decode(std::span<const std::uint8_t> bytes) {
  Reader in(bytes);
  const auto version = in.take<std::uint16_t>();
  const auto type = in.take<std::uint8_t>();
  if (!in.failed() && version != kSnapshotVersion) {
    return Error{fmt::format(
        "snapshot refused: its version is {}, this program reads version {}; restart the older one",
        version, kSnapshotVersion)};
  }
  SnapshotMessage message;
  switch (type) {
    case kType<NodeSnapshot>:
      message = takeNode(in);
      break;
    case kType<SyncBegin>:
      message = SyncBegin{};
      break;
    case kType<ServiceSnapshot>:
      message = takeService(in);
      break;
    case kType<ServiceRemoved>:
      message = ServiceRemoved{in.takeId<ServiceId>()};
      break;
    case kType<RulesSnapshot>:
      message = takeRules(in);
      break;
    case kType<SyncEnd>:
      message = SyncEnd{};
      break;
    case kType<ProxySnapshot>:
      message = wire::takeProxy(in);
      break;
    case kType<ProxyServiceSnapshot>:
      message = wire::takeProxyService(in);
      break;
    case kType<ProxyServiceRemoved>:
      message = wire::takeProxyServiceRemoved(in);
      break;
    case kType<ProxyLoadReport>:
      message = wire::takeProxyLoadReport(in);
      break;
    default:  // a number from the wire
      in.check(false, "message type");
  }
  return std::move(in).finish(std::move(message));
}

}  // namespace weir
