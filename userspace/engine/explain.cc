// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace weir::engine {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, Protocol>, 8> kProtocols{{
    {"TCP", Protocol::tcp},
    {"UDP", Protocol::udp},
    {"ICMP", Protocol::icmp},
    {"ICMPV6", Protocol::icmpv6},
    {"SCTP", Protocol::sctp},
    {"ESP", Protocol::esp},
    {"AH", Protocol::ah},
    {"GRE", Protocol::gre},
}};

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 8> kFlags{{
    {"FIN", tcp_flag::fin},
    {"SYN", tcp_flag::syn},
    {"RST", tcp_flag::rst},
    {"PSH", tcp_flag::psh},
    {"ACK", tcp_flag::ack},
    {"URG", tcp_flag::urg},
    {"ECE", tcp_flag::ece},
    {"CWR", tcp_flag::cwr},
}};

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

template <class Table>
auto byName(const Table& table, std::string_view name)
    -> std::optional<typename Table::value_type::second_type> {
  for (const auto& [known, value] : table)
    if (known == name) return value;
  return std::nullopt;
}

Result<Address> addressIn(const Json& packet, const char* name) {
  const auto found = packet.find(name);
  if (found == packet.end() || !found->is_string())
    return Error{fmt::format("'{}' must be an address", name)};
  const auto address = Address::parse(found->get<std::string>());
  if (!address)
    return Error{fmt::format("'{}' is not an address: '{}'", name, found->get<std::string>())};
  return *address;
}

// Absent: 0.
Result<std::uint16_t> portIn(const Json& packet, const char* name) {
  const auto found = packet.find(name);
  if (found == packet.end() || found->is_null()) return std::uint16_t{0};
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > 0xffff)
    return Error{fmt::format("'{}' must be a port, 0 to 65535", name)};
  return found->get<std::uint16_t>();
}

Result<Protocol> protocolIn(const Json& packet) {
  const auto found = packet.find("proto");
  if (found == packet.end() || found->is_null()) return Protocol::tcp;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= 0xff)
    return static_cast<Protocol>(found->get<std::uint8_t>());
  if (found->is_string())
    if (const auto known = byName(kProtocols, upper(found->get<std::string>()))) return *known;
  return Error{"'proto' must be TCP, UDP, ICMP, ICMPv6, SCTP, ESP, AH, GRE or a number up to 255"};
}

Result<std::uint8_t> flagsIn(const Json& packet) {
  const auto found = packet.find("flags");
  if (found == packet.end() || found->is_null()) return std::uint8_t{0};
  if (!found->is_array()) return Error{"'flags' must be a list"};
  unsigned flags = 0;
  for (const auto& item : *found) {
    const auto flag =
        item.is_string() ? byName(kFlags, upper(item.get<std::string>())) : std::nullopt;
    if (!flag) return Error{"'flags' may hold FIN, SYN, RST, PSH, ACK, URG, ECE, CWR"};
    flags |= *flag;
  }
  return static_cast<std::uint8_t>(flags);
}

Result<Fragment> fragmentIn(const Json& packet) {
  const auto found = packet.find("fragment");
  if (found == packet.end() || found->is_null()) return Fragment::none;
  if (*found == "first") return Fragment::first;
  if (*found == "later") return Fragment::later;
  return Error{"'fragment' must be first or later"};
}

// What a packet's object says of one flow: the packet itself, or the one that it quotes.
Result<Tuple> tupleIn(const Json& json) {
  const auto source = addressIn(json, "src");
  if (!source) return source.error();
  const auto destination = addressIn(json, "dst");
  if (!destination) return destination.error();
  if (source->family() != destination->family())
    return Error{"'src' and 'dst' must be of the same address family"};
  const auto protocol = protocolIn(json);
  if (!protocol) return protocol.error();
  const auto sourcePort = portIn(json, "sport");
  if (!sourcePort) return sourcePort.error();
  const auto destinationPort = portIn(json, "dport");
  if (!destinationPort) return destinationPort.error();
  const auto fragment = fragmentIn(json);
  if (!fragment) return fragment.error();

  Tuple tuple;
  tuple.source = *source;
  tuple.destination = *destination;
  tuple.protocol = *protocol;
  if (*protocol == Protocol::tcp || *protocol == Protocol::udp) tuple.fragment = *fragment;
  if (tuple.hasPorts()) {
    tuple.sourcePort = *sourcePort;
    tuple.destinationPort = *destinationPort;
  }
  return tuple;
}

// Makes `packet` an ICMP error about the flow in "inner", if there is one (P8.6).
Status takeQuoted(const Json& json, Packet& packet) {
  const auto found = json.find("inner");
  if (found == json.end() || found->is_null()) return success();
  const bool isIpv4 = packet.tuple.source.isIpv4();
  if (packet.tuple.protocol != (isIpv4 ? Protocol::icmp : Protocol::icmpv6))
    return Error{"'inner' is quoted by ICMP in IPv4 packets, by ICMPv6 in IPv6 packets"};
  if (!found->is_object()) return Error{"'inner' must be an object"};
  const auto quoted = tupleIn(*found);
  if (!quoted) return Error{"in 'inner': " + quoted.error().message};
  if (quoted->source.isIpv4() != isIpv4)
    return Error{"'inner' must be of the family of the packet that quotes it"};
  packet.isIcmpError = true;
  packet.quoted = *quoted;
  return success();
}

Json backendJson(const SnapshotBackend& backend) {
  return {{"endpoint", backend.endpoint}, {"group", backend.group}};
}

Json matchedJson(const Rules& rules, const Rules::Match& match) {
  if (match.byRoute)
    return {{"kind", "route"}, {"name", rules.snapshot().routes[match.index].name}};
  return {{"kind", "forwardingRule"}, {"name", rules.snapshot().rules[match.index].name}};
}

Json trackingJson(TrackingTable& table, const Prepared& prepared, const Decision& decision,
                  Time now) {
  const Service& service = *prepared.service;
  const ServiceSnapshot& snapshot = service.snapshot();
  Json answer;
  putKey(answer, prepared.key.key);
  const bool skipped = prepared.packet.isNewBySyn() && !prepared.related &&
                       synIsAlwaysNew(snapshot.tracking, snapshot.affinity);
  const auto entry = table.lookup(
      prepared.key, {.now = now, .idleTimeout = snapshot.idleTimeout, .refresh = false});
  const bool followed = !skipped && entry && decision.backend == entry->backend &&
                        decision.set == nullptr && decision.action == Action::forward;
  answer["result"] = skipped ? "skipped" : followed ? "hit" : entry ? "stale" : "miss";
  answer["entry"] = nullptr;
  if (!entry) return answer;
  const SnapshotBackend* backend = service.describe(entry->backend);
  answer["entry"] = {
      {"endpoint", backend == nullptr ? Json(nullptr) : Json(backend->endpoint)},
      {"idleSec", std::chrono::duration_cast<std::chrono::seconds>(now - entry->lastUsed).count()},
      {"generation", entry->madeIn.value()},
      {"state", entry->onlySynSeen ? "new" : "established"}};
  return answer;
}

// What a new connection of this flow would choose.
Json selectionJson(const Service& service, const Selection& selection) {
  if (!selection.backend) return nullptr;
  Json answer;
  putKey(answer, selection.key);
  answer["symmetric"] = selection.symmetric;
  answer["hash"] = fmt::format("{:#018x}", selection.hash);
  answer["slot"] = selection.choice->table.slotOf(selection.hash);
  answer["slots"] = selection.choice->table.slots().size();
  const SnapshotBackend* backend = service.describe(*selection.backend);
  if (backend != nullptr) answer["endpoint"] = backend->endpoint;
  return answer;
}

Json setJson(const Service& service, const EligibleSet& set) {
  Json members = Json::array();
  for (const auto& member : set.members) {
    const SnapshotBackend* backend = service.describe(member.slot);
    if (backend == nullptr) continue;
    Json item = backendJson(*backend);
    item["weight"] = member.weight;
    members.push_back(std::move(item));
  }
  return {{"rule", set.rule}, {"zonalRule", set.zonalRule}, {"members", std::move(members)}};
}

}  // namespace

Result<Packet> packetFromJson(const Json& json) {
  if (!json.is_object()) return Error{"'packet' must be an object"};
  const auto tuple = tupleIn(json);
  if (!tuple) return tuple.error();
  const auto flags = flagsIn(json);
  if (!flags) return flags.error();
  Packet packet;
  packet.tuple = *tuple;
  if (tuple->protocol == Protocol::tcp && tuple->fragment == Fragment::none)
    packet.tcpFlags = *flags;
  if (const Status taken = takeQuoted(json, packet); !taken) return taken.error();
  return packet;
}

void putKey(Json& object, const FlowKey& key) {
  object["tuple"] = toString(key.kind);
  object["source"] = key.source.toString();
  if (key.kind != TupleKind::one) object["destination"] = key.destination.toString();
  if (key.kind == TupleKind::five) {
    object["sourcePort"] = key.sourcePort;
    object["destinationPort"] = key.destinationPort;
  }
  if (key.kind == TupleKind::five || key.kind == TupleKind::three)
    object["protocol"] = static_cast<unsigned>(key.protocol);
}

Json explain(const World& world, TrackingTable& table, const Packet& packet, Time now) {
  const Prepared prepared = prepare(world, table, packet);
  const Decision decision = foresee(world, table, prepared, now);
  Json answer{{"action", toString(decision.action)}, {"connection", toString(decision.connection)}};
  if (decision.action == Action::pass) return answer;

  answer["reason"] = decision.reason == DropReason::none ? "" : toString(decision.reason);
  answer["matched"] = matchedJson(world.rules(), decision.match);
  if (prepared.service == nullptr) return answer;
  const Service& service = *prepared.service;
  const ServiceSnapshot& snapshot = service.snapshot();
  answer["service"] = snapshot.name;
  answer["generation"] = snapshot.generation.value();
  answer["affinity"] = toString(snapshot.affinity);
  answer["trackingMode"] = toString(snapshot.tracking);
  answer["tracking"] = trackingJson(table, prepared, decision, now);

  const ZoneIndex zone = world.rules().zoneOf(prepared.flow().source);
  const Selection selection = selectionOf(world, prepared);
  answer["selection"] = selectionJson(service, selection);
  const auto& zones = world.rules().snapshot().zones;
  answer["zone"] = zone.value() < zones.size() ? Json(zones[zone.value()]) : Json(nullptr);
  answer["set"] = setJson(service, selection.choice->set);
  answer["backend"] = nullptr;
  if (decision.action != Action::forward) return answer;
  if (const SnapshotBackend* backend = service.describe(decision.backend)) {
    answer["backend"] = backendJson(*backend);
    answer["backend"]["mark"] = fmt::format("{:#010x}", decision.mark.value());
  }
  return answer;
}

}  // namespace weir::engine
