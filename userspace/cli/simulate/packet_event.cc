// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/packet_event.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "config/types.h"

namespace weir::cli {
namespace {

using config::Reader;
using config::Schema;
using config::Value;

struct Flow {
  Address source;
  Address destination;
  Protocol protocol = Protocol::none;
  std::optional<std::uint16_t> sourcePort;
  std::optional<std::uint16_t> destinationPort;
  Fragment fragment = Fragment::none;
};

struct Described : Flow {
  std::vector<std::uint8_t> flags;
  std::optional<std::uint8_t> type;
  std::optional<std::uint8_t> code;
  std::optional<Flow> inner;
};

struct NamedProtocol {
  std::string_view name;
  Protocol protocol;
};
constexpr std::array<NamedProtocol, 9> kProtocols{{{"TCP", Protocol::tcp},
                                                   {"UDP", Protocol::udp},
                                                   {"ICMP", Protocol::icmp},
                                                   {"ICMPv6", Protocol::icmpv6},
                                                   {"ICMPV6", Protocol::icmpv6},
                                                   {"SCTP", Protocol::sctp},
                                                   {"ESP", Protocol::esp},
                                                   {"AH", Protocol::ah},
                                                   {"GRE", Protocol::gre}}};

std::optional<Protocol> protocolOf(std::string_view text) noexcept {
  for (const NamedProtocol& named : kProtocols)
    if (named.name == text) return named.protocol;
  std::uint8_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && end == text.data() + text.size() && number != 0 &&
                    text.front() != '0';
  return good ? std::optional(static_cast<Protocol>(number)) : std::nullopt;
}

config::Type<Protocol> protocol() {
  config::Type<Protocol> type;
  type.allowed = "TCP, UDP, ICMP, ICMPv6, SCTP, ESP, AH, GRE or a number from 1 to 255";
  type.read = [allowed = type.allowed](const Value& value, Reader& reader) {
    std::optional<Protocol> read;
    if (value.kind == Value::Kind::scalar) read = protocolOf(value.text);
    if (!read) reader.mustBe(value, allowed);
    return read;
  };
  return type;
}

template <class T>
void addFlow(Schema<T>& schema) {
  schema.required("src", anyAddress(), &Flow::source)
      .required("dst", anyAddress(), &Flow::destination)
      .required("proto", protocol(), &Flow::protocol)
      .field("sport", config::integer(0, 65535), &Flow::sourcePort)
      .field("dport", config::integer(0, 65535), &Flow::destinationPort)
      .field("fragment",
             config::choice<Fragment>({{"first", Fragment::first}, {"later", Fragment::later}}),
             &Flow::fragment, "not a fragment");
}

const Schema<Flow>& flowSchema() {
  static const auto schema = [] {
    Schema<Flow> s("a quoted packet");
    addFlow(s);
    return s;
  }();
  return schema;
}

const Schema<Described>& packetSchema() {
  static const auto schema = [] {
    Schema<Described> s("a packet");
    addFlow(s);
    s.field("flags",
            config::listOf(config::choice<std::uint8_t>({{"FIN", tcp_flag::fin},
                                                         {"SYN", tcp_flag::syn},
                                                         {"RST", tcp_flag::rst},
                                                         {"PSH", tcp_flag::psh},
                                                         {"ACK", tcp_flag::ack},
                                                         {"URG", tcp_flag::urg},
                                                         {"ECE", tcp_flag::ece},
                                                         {"CWR", tcp_flag::cwr}})),
            &Described::flags, "none")
        .field("type", config::integer(0, 255), &Described::type)
        .field("code", config::integer(0, 255), &Described::code)
        .field("inner", config::mappingOf(flowSchema()), &Described::inner);
    return s;
  }();
  return schema;
}

bool isTcpOrUdp(Protocol protocol) noexcept {
  return protocol == Protocol::tcp || protocol == Protocol::udp;
}

// A flow as the parser of packets would give it: ports and fragments only where they count.
Tuple tupleOf(const Flow& flow) noexcept {
  Tuple tuple{flow.source, flow.destination, 0, 0, flow.protocol, Fragment::none};
  if (isTcpOrUdp(flow.protocol)) tuple.fragment = flow.fragment;
  if (tuple.hasPorts()) {
    tuple.sourcePort = flow.sourcePort.value_or(0);
    tuple.destinationPort = flow.destinationPort.value_or(0);
  }
  return tuple;
}

void checkFlow(const Flow& flow, const Value& value, Reader& reader) {
  if (flow.source.family() != flow.destination.family())
    reader.error(value.mark, "src and dst must be addresses of the same family");
  const bool needsPorts = isTcpOrUdp(flow.protocol) && flow.fragment != Fragment::later;
  if (needsPorts && (!flow.sourcePort || !flow.destinationPort))
    reader.error(value.mark,
                 "a TCP or UDP packet needs sport and dport, unless it is a later fragment");
}

void checkPacket(const Described& packet, const Value& value, Reader& reader) {
  checkFlow(packet, value, reader);
  const auto refuse = [&](std::string_view key, std::string_view why) {
    const auto* entry = value.find(key);
    reader.error(entry->mark, fmt::format("{} {}", key, why));
  };
  const bool isIcmp = packet.protocol == Protocol::icmp || packet.protocol == Protocol::icmpv6;
  if (packet.protocol != Protocol::tcp && !packet.flags.empty())
    refuse("flags", "are for TCP packets");
  if (!isIcmp && packet.type) refuse("type", "is for ICMP and ICMPv6 packets");
  if (!isIcmp && packet.code) refuse("code", "is for ICMP and ICMPv6 packets");
  if (!packet.inner) return;
  const Value& inner = *value.find("inner")->value;
  if (!isIcmp || !packet.type || !isIcmpErrorType(packet.protocol, *packet.type))
    refuse("inner",
           "is for ICMP errors (type 3, 11 or 12) and ICMPv6 errors (type 1 to 4), which quote a "
           "packet");
  else if ((packet.protocol == Protocol::icmp) != packet.source.isIpv4())
    refuse("inner", "is quoted by ICMP in IPv4 packets, by ICMPv6 in IPv6 packets");
  else if (packet.inner->source.family() != packet.source.family())
    reader.error(inner.mark, "a quoted packet has the family of the packet that quotes it");
  checkFlow(*packet.inner, inner, reader);
}

}  // namespace

config::Type<Address> anyAddress() {
  config::Type<Address> type;
  type.allowed = "an IPv4 or IPv6 address";
  type.read = [allowed = type.allowed](const Value& value, Reader& reader) {
    std::optional<Address> parsed;
    if (value.kind == Value::Kind::scalar) parsed = Address::parse(value.text);
    if (!parsed) reader.mustBe(value, allowed);
    return parsed;
  };
  return type;
}

std::optional<Packet> readPacket(const Value& value, Reader& reader) {
  const std::size_t before = reader.problems().errors();
  Described described;
  packetSchema().read(value, described, reader);
  if (reader.problems().errors() == before) checkPacket(described, value, reader);
  if (reader.problems().errors() != before) return std::nullopt;

  Packet packet;
  packet.tuple = tupleOf(described);
  if (packet.tuple.fragment == Fragment::none)
    for (const std::uint8_t flag : described.flags)
      packet.tcpFlags = static_cast<std::uint8_t>(packet.tcpFlags | flag);
  packet.isIcmpError = described.inner.has_value();
  if (described.inner) packet.quoted = tupleOf(*described.inner);
  return packet;
}

}  // namespace weir::cli
