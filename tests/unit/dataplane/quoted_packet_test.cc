// SPDX-License-Identifier: GPL-2.0-or-later
//
// parsePacket() on ICMP errors: the flow that they quote (P8.6).
#include <gtest/gtest.h>

#include "support/packet_builder.h"
#include "weir/packet.h"

namespace weir {
namespace {

using namespace test;

const Address kClient = address("10.1.0.7");
const Address kVip = address("10.9.9.9");
const Address kRouter = address("192.0.2.1");
const Address kClient6 = address("2001:db8:1::7");
const Address kVip6 = address("2001:db8:9::9");
const Address kRouter6 = address("2001:db8:ff::1");

Packet parsed(const Bytes& bytes, std::size_t trueLength = 0) {
  Packet packet;
  EXPECT_EQ(parsePacket(bytes, std::max(trueLength, bytes.size()), packet), Malformed::none);
  return packet;
}

Bytes reply4() {
  return ipv4({.source = kVip, .destination = kClient, .dontFragment = true},
              tcp({.sourcePort = 80, .destinationPort = 40000, .payload = Bytes(1400)}));
}
Bytes reply6(std::vector<Extension> extensions = {}) {
  return ipv6({.source = kVip6, .destination = kClient6, .extensions = std::move(extensions)},
              tcp({.sourcePort = 80, .destinationPort = 40000, .payload = Bytes(1400)}));
}
Bytes error4(Bytes quotation, std::uint8_t type = 3, std::uint8_t code = 4) {
  return ipv4({.source = kRouter, .destination = kVip},
              icmp({.type = type, .code = code, .rest = 1400, .payload = std::move(quotation)}));
}
Bytes error6(Bytes quotation, std::uint8_t type = 2) {
  return ipv6({.source = kRouter6, .destination = kVip6},
              icmpv6({.type = type, .rest = 1400, .payload = std::move(quotation)}));
}

const Tuple kReply{kVip, kClient, 80, 40000, Protocol::tcp, Fragment::none};
const Tuple kReply6{kVip6, kClient6, 80, 40000, Protocol::tcp, Fragment::none};

TEST(QuotedPacket, P8_6_EightBytesOfTransportAreEnough) {
  const Packet packet = parsed(error4(quote(reply4(), 28)));
  EXPECT_TRUE(packet.isIcmpError);
  EXPECT_EQ(packet.quoted, kReply);
  EXPECT_EQ(packet.tuple, (Tuple{kRouter, kVip, 0, 0, Protocol::icmp, Fragment::none}));
  EXPECT_EQ(parsed(error6(quote(reply6(), 48))).quoted, kReply6);
}

TEST(QuotedPacket, P8_6_ErrorTypesOnly) {
  for (unsigned type = 0; type < 256; ++type) {
    const bool error4Expected = type == 3 || type == 11 || type == 12;
    EXPECT_EQ(parsed(error4(quote(reply4(), 28), static_cast<std::uint8_t>(type))).isIcmpError,
              error4Expected)
        << type;
    const bool error6Expected = type >= 1 && type <= 4;
    EXPECT_EQ(parsed(error6(quote(reply6(), 48), static_cast<std::uint8_t>(type))).isIcmpError,
              error6Expected)
        << type;
  }
}

TEST(QuotedPacket, P8_6_QuotedOptionsAndExtensionHeadersAreWalked) {
  const auto withOptions = ipv4({.source = kVip, .destination = kClient, .options = Bytes(40, 1)},
                                tcp({.sourcePort = 80, .destinationPort = 40000}));
  EXPECT_EQ(parsed(error4(quote(withOptions, 68))).quoted, kReply);
  const auto packet = parsed(error6(
      quote(reply6({hopByHop(), destinationOptions(padding(16)), fragmentHeader(0, false)}), 100)));
  EXPECT_TRUE(packet.isIcmpError);
  EXPECT_EQ(packet.quoted, kReply6);
}

TEST(QuotedPacket, P8_6_QuotedFragments) {
  const auto pieces =
      fragments(ipv4({.source = kVip, .destination = kClient},
                     udp({.sourcePort = 53, .destinationPort = 7, .payload = Bytes(64)})),
                40);
  EXPECT_EQ(parsed(error4(quote(pieces[0], 28), 11)).quoted,
            (Tuple{kVip, kClient, 53, 7, Protocol::udp, Fragment::first}));
  EXPECT_EQ(parsed(error4(quote(pieces[1], 28), 11)).quoted,
            (Tuple{kVip, kClient, 0, 0, Protocol::udp, Fragment::later}));
  const auto pieces6 = fragments(reply6(), 800);
  EXPECT_EQ(parsed(error6(quote(pieces6[1], 56), 3)).quoted,
            (Tuple{kVip6, kClient6, 0, 0, Protocol::tcp, Fragment::later}));
}

TEST(QuotedPacket, P8_6_QuotedPacketWithoutPorts) {
  const auto ping = ipv4({.source = kVip, .destination = kClient}, icmp({.type = 0}));
  EXPECT_EQ(parsed(error4(quote(ping, 28))).quoted,
            (Tuple{kVip, kClient, 0, 0, Protocol::icmp, Fragment::none}));
}

TEST(QuotedPacket, P8_6_AnUnreadableQuotationIsAPlainIcmpPacket) {
  for (std::size_t size = 0; size < 24; ++size) {
    const Packet packet = parsed(error4(quote(reply4(), size)));
    EXPECT_FALSE(packet.isIcmpError) << size;
    EXPECT_EQ(packet.tuple.protocol, Protocol::icmp);
  }
  EXPECT_TRUE(parsed(error4(quote(reply4(), 24))).isIcmpError);
  for (std::size_t size = 0; size < 44; ++size) {
    EXPECT_FALSE(parsed(error6(quote(reply6(), size))).isIcmpError) << size;
  }
  EXPECT_TRUE(parsed(error6(quote(reply6(), 44))).isIcmpError);
  EXPECT_FALSE(parsed(error4(quote(reply6(), 48))).isIcmpError);  // families do not mix
  EXPECT_FALSE(parsed(error6(quote(reply4(), 28))).isIcmpError);
  Bytes badHeader = quote(reply4(), 28);
  badHeader[0] = 0x43;
  EXPECT_FALSE(parsed(error4(badHeader)).isIcmpError);
  Bytes mapped = quote(ipv6({.source = kVip, .destination = kClient6}, udp({})), 48);
  EXPECT_FALSE(parsed(error6(mapped)).isIcmpError);
}

TEST(QuotedPacket, P8_6_QuotationBeyondTheCopiedBytesIsAPlainIcmpPacket) {
  const Bytes error = error6(reply6({destinationOptions(padding(64))}));
  EXPECT_FALSE(parsed(quote(error, 128), error.size()).isIcmpError);
  EXPECT_TRUE(parsed(quote(error, 200), error.size()).isIcmpError);
}

TEST(QuotedPacket, LengthsInsideTheQuotationAreNotJudged) {
  Bytes quotation = quote(reply4(), 28);
  for (const std::size_t length : {0u, 20u, 65535u}) {
    set16(quotation, 2, length);
    EXPECT_EQ(parsed(error4(quotation)).quoted, kReply) << length;
  }
}

TEST(QuotedPacket, P8_7_IcmpHeaderCutShort) {
  Packet packet;
  const auto cut = ipv4({.source = kRouter, .destination = kVip}, raw(Protocol::icmp, Bytes(7, 3)));
  EXPECT_EQ(parsePacket(cut, cut.size(), packet), Malformed::truncated);
}

TEST(QuotedPacket, FragmentOfAnErrorIsAPlainIcmpPacket) {
  const auto pieces = fragments(error4(reply4()), 600);
  EXPECT_FALSE(parsed(pieces[0]).isIcmpError);
}

TEST(QuotedPacket, IcmpOfTheOtherFamilyIsAnotherProtocol) {
  const auto packet =
      ipv4({.source = kRouter, .destination = kVip},
           raw(Protocol::icmpv6, icmp({.type = 3, .payload = quote(reply4(), 28)}).bytes));
  EXPECT_FALSE(parsed(packet).isIcmpError);
}

}  // namespace
}  // namespace weir
