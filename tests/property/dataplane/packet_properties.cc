// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the builder writes, the parser reads; what nobody wrote does no harm.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property/dataplane/generators.h"

namespace weir {
namespace {

using namespace test;

struct Sent {
  Tuple tuple;
  Bytes bytes;
};

// An unfragmented packet with options or extension headers, of any protocol.
Sent anySent() {
  const bool isIpv4 = *rc::gen::arbitrary<bool>();
  const auto addresses = [&] {
    return *rc::gen::suchThat(anyAddress(), [&](const Address& a) {
      const bool impossible = a.isIpv4() ? a.ipv4Bits() >> 28 == 0xe || a.ipv4Bits() == 0xffffffff
                                         : a.hi() >> 56 == 0xff;
      return a.isIpv4() == isIpv4 && !impossible;
    });
  };
  Sent sent;
  sent.tuple.source = addresses();
  sent.tuple.destination = addresses();
  sent.tuple.protocol =
      *rc::gen::element(Protocol::tcp, Protocol::udp, Protocol::gre, Protocol::esp, Protocol::sctp);
  const Bytes payload = *rc::gen::arbitrary<Bytes>();
  if (sent.tuple.hasPorts()) {
    sent.tuple.sourcePort = *rc::gen::arbitrary<std::uint16_t>();
    sent.tuple.destinationPort = *rc::gen::arbitrary<std::uint16_t>();
  }
  Segment segment = raw(sent.tuple.protocol, payload);
  if (sent.tuple.protocol == Protocol::tcp) {
    segment = tcp({.sourcePort = sent.tuple.sourcePort,
                   .destinationPort = sent.tuple.destinationPort,
                   .payload = payload});
  } else if (sent.tuple.protocol == Protocol::udp) {
    segment = udp({.sourcePort = sent.tuple.sourcePort,
                   .destinationPort = sent.tuple.destinationPort,
                   .payload = payload});
  }
  if (isIpv4) {
    sent.bytes = ipv4({.source = sent.tuple.source,
                       .destination = sent.tuple.destination,
                       .options = Bytes(*rc::gen::inRange(0u, 41u), 1)},
                      segment);
  } else {
    std::vector<Extension> extensions;
    if (*rc::gen::arbitrary<bool>()) extensions.push_back(hopByHop());
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      extensions.push_back(*rc::gen::arbitrary<bool>() ? destinationOptions(padding(16))
                                                       : routing());
    }
    sent.bytes = ipv6({.source = sent.tuple.source,
                       .destination = sent.tuple.destination,
                       .extensions = extensions},
                      segment);
  }
  return sent;
}

RC_GTEST_PROP(ParsePacket, ReadsWhatWasWritten, ()) {
  const Sent sent = anySent();
  Packet packet;
  RC_ASSERT(parsePacket(sent.bytes, sent.bytes.size(), packet) == Malformed::none);
  RC_ASSERT(packet.tuple == sent.tuple);
}

RC_GTEST_PROP(ParsePacket, P8_6_ReadsWhatIsQuoted, ()) {
  const Sent sent = anySent();
  const bool isIpv4 = sent.tuple.source.isIpv4();
  const Address router = isIpv4 ? address("192.0.2.1") : address("2001:db8::1");
  const Bytes error = isIpv4 ? ipv4({.source = router, .destination = sent.tuple.source},
                                    icmp({.type = 11, .payload = sent.bytes}))
                             : ipv6({.source = router, .destination = sent.tuple.source},
                                    icmpv6({.type = 3, .payload = sent.bytes}));
  Packet packet;
  RC_ASSERT(parsePacket(error, error.size(), packet) == Malformed::none);
  RC_ASSERT(packet.isIcmpError);
  RC_ASSERT(packet.quoted == sent.tuple);
}

RC_GTEST_PROP(ParsePacket, P8_7_DamageIsNeverMisread, ()) {
  Sent sent = anySent();
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    sent.bytes[*rc::gen::inRange<std::size_t>(0, sent.bytes.size())] =
        *rc::gen::arbitrary<std::uint8_t>();
  }
  sent.bytes.resize(*rc::gen::inRange<std::size_t>(0, sent.bytes.size() + 1));
  const auto trueLength = sent.bytes.size() + *rc::gen::inRange<std::size_t>(0, 100000);
  Packet packet;
  const Malformed result = parsePacket(sent.bytes, trueLength, packet);
  RC_ASSERT(static_cast<std::size_t>(result) < kMalformedKinds);
  if (result == Malformed::none) {
    RC_ASSERT(packet.tuple.source.family() == packet.tuple.destination.family());
    RC_ASSERT(packet.tuple.hasPorts() ||
              (packet.tuple.sourcePort == 0 && packet.tuple.destinationPort == 0));
  }
}

}  // namespace
}  // namespace weir
