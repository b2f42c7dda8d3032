// SPDX-License-Identifier: GPL-2.0-or-later
//
// parsePacket() on whole packets: what it reads and what it refuses (P4, P8.2, P8.4, P8.5, P8.7).
#include "weir/packet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/packet_builder.h"

namespace weir {
namespace {

using namespace test;

const Address kClient = address("10.1.0.7");
const Address kVip = address("10.9.9.9");
const Address kClient6 = address("2001:db8:1::7");
const Address kVip6 = address("2001:db8:9::9");

Malformed verdict(const Bytes& bytes, std::size_t trueLength = 0) {
  Packet packet;
  return parsePacket(bytes, std::max(trueLength, bytes.size()), packet);
}

Packet parsed(const Bytes& bytes, std::size_t trueLength = 0) {
  Packet packet;
  EXPECT_EQ(parsePacket(bytes, std::max(trueLength, bytes.size()), packet), Malformed::none);
  return packet;
}

Bytes tcp4(std::uint8_t flags = tcp_flag::syn) {
  return ipv4({.source = kClient, .destination = kVip},
              tcp({.sourcePort = 40000, .destinationPort = 80, .flags = flags}));
}
Bytes udp4(std::size_t payload = 10) {
  return ipv4({.source = kClient, .destination = kVip},
              udp({.sourcePort = 7, .destinationPort = 53, .payload = Bytes(payload)}));
}
Bytes tcp6(std::vector<Extension> extensions = {}) {
  return ipv6({.source = kClient6, .destination = kVip6, .extensions = std::move(extensions)},
              tcp({.sourcePort = 40000, .destinationPort = 80, .flags = tcp_flag::syn}));
}

const Tuple kTcpTuple{kClient, kVip, 40000, 80, Protocol::tcp, Fragment::none};
const Tuple kTcpTuple6{kClient6, kVip6, 40000, 80, Protocol::tcp, Fragment::none};

TEST(PacketIpv4, TcpTupleAndFlags) {
  const Packet packet = parsed(tcp4(tcp_flag::syn | tcp_flag::psh));
  EXPECT_EQ(packet.tuple, kTcpTuple);
  EXPECT_EQ(packet.tcpFlags, tcp_flag::syn | tcp_flag::psh);
  EXPECT_FALSE(packet.isIcmpError);
}

TEST(PacketIpv4, UdpTuple) {
  const Packet packet = parsed(udp4());
  EXPECT_EQ(packet.tuple, (Tuple{kClient, kVip, 7, 53, Protocol::udp, Fragment::none}));
  EXPECT_EQ(packet.tcpFlags, 0);
}

TEST(PacketIpv4, OptionsAreSkipped) {
  for (std::size_t bytes = 4; bytes <= 40; bytes += 4) {
    const auto packet = ipv4({.source = kClient, .destination = kVip, .options = Bytes(bytes, 1)},
                             tcp({.sourcePort = 40000, .destinationPort = 80}));
    EXPECT_EQ(parsed(packet).tuple, kTcpTuple) << bytes;
  }
}

TEST(Packet, P1_1_NewBySynIsSynWithoutAckUnfragmented) {
  EXPECT_TRUE(parsed(tcp4(tcp_flag::syn)).isNewBySyn());
  EXPECT_TRUE(parsed(tcp4(tcp_flag::syn | tcp_flag::rst | tcp_flag::fin)).isNewBySyn());
  EXPECT_FALSE(parsed(tcp4(tcp_flag::syn | tcp_flag::ack)).isNewBySyn());
  EXPECT_FALSE(parsed(tcp4(tcp_flag::ack)).isNewBySyn());
  EXPECT_FALSE(parsed(tcp4(0)).isNewBySyn());
  for (const Bytes& piece : fragments(tcp4(tcp_flag::syn), 8)) {
    EXPECT_FALSE(parsed(piece).isNewBySyn());
  }
}

TEST(PacketIpv4, P8_4_FirstFragmentHasPortsLaterOnesHaveNot) {
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    const Bytes whole =
        protocol == Protocol::tcp
            ? ipv4({.source = kClient, .destination = kVip},
                   tcp({.sourcePort = 7, .destinationPort = 53, .payload = Bytes(50)}))
            : udp4(50);
    const auto pieces = fragments(whole, 24);
    ASSERT_GE(pieces.size(), 3u);
    EXPECT_EQ(parsed(pieces[0]).tuple, (Tuple{kClient, kVip, 7, 53, protocol, Fragment::first}));
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      EXPECT_EQ(parsed(pieces[i]).tuple, (Tuple{kClient, kVip, 0, 0, protocol, Fragment::later}));
    }
  }
}

TEST(Packet, P4_FragmentOfAnotherProtocolIsAnOrdinaryPacket) {
  for (const Bytes& piece : fragments(
           ipv4({.source = kClient, .destination = kVip}, icmp({.payload = Bytes(40)})), 16)) {
    EXPECT_EQ(parsed(piece).tuple, (Tuple{kClient, kVip, 0, 0, Protocol::icmp, Fragment::none}));
  }
  for (const Bytes& piece : fragments(
           ipv6({.source = kClient6, .destination = kVip6}, raw(Protocol::sctp, Bytes(40))), 16)) {
    EXPECT_EQ(parsed(piece).tuple, (Tuple{kClient6, kVip6, 0, 0, Protocol::sctp, Fragment::none}));
  }
}

TEST(Packet, P8_1_OtherProtocolsHaveNoPorts) {
  for (const Protocol protocol :
       {Protocol::gre, Protocol::esp, Protocol::ah, Protocol::sctp, Protocol::icmpv6,
        static_cast<Protocol>(0), static_cast<Protocol>(43), static_cast<Protocol>(60)}) {
    const auto packet =
        ipv4({.source = kClient, .destination = kVip}, raw(protocol, Bytes(16, 0xff)));
    EXPECT_EQ(parsed(packet).tuple, (Tuple{kClient, kVip, 0, 0, protocol, Fragment::none}));
  }
}

TEST(PacketIpv6, P8_5_ExtensionHeadersAreWalkedToTheTransport) {
  EXPECT_EQ(parsed(tcp6()).tuple, kTcpTuple6);
  EXPECT_EQ(parsed(tcp6({hopByHop()})).tuple, kTcpTuple6);
  EXPECT_EQ(parsed(tcp6({routing()})).tuple, kTcpTuple6);
  EXPECT_EQ(parsed(tcp6({destinationOptions(padding(64))})).tuple, kTcpTuple6);
  const Packet all = parsed(tcp6({hopByHop(padding(24)), destinationOptions(), routing(Bytes(22)),
                                  fragmentHeader(0, false), destinationOptions(padding(16))}));
  EXPECT_EQ(all.tuple, kTcpTuple6);
  EXPECT_EQ(all.tcpFlags, tcp_flag::syn);
}

TEST(PacketIpv6, P8_5_AtomicFragmentIsAnOrdinaryPacket) {
  const Packet packet = parsed(tcp6({fragmentHeader(0, false)}));
  EXPECT_EQ(packet.tuple, kTcpTuple6);
  EXPECT_TRUE(packet.isNewBySyn());
}

TEST(PacketIpv6, P8_5_Fragments) {
  const auto pieces =
      fragments(ipv6({.source = kClient6, .destination = kVip6},
                     udp({.sourcePort = 7, .destinationPort = 53, .payload = Bytes(100)})),
                48);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(parsed(pieces[0]).tuple,
            (Tuple{kClient6, kVip6, 7, 53, Protocol::udp, Fragment::first}));
  EXPECT_EQ(parsed(pieces[1]).tuple,
            (Tuple{kClient6, kVip6, 0, 0, Protocol::udp, Fragment::later}));
  EXPECT_EQ(parsed(pieces[2]).tuple,
            (Tuple{kClient6, kVip6, 0, 0, Protocol::udp, Fragment::later}));
}

TEST(PacketIpv6, P8_5_ALaterFragmentIsNotWalkedBeyondItsFragmentHeader) {
  // Its bytes are the middle of something, even when they look like a header.
  const auto packet = tcp6({fragmentHeader(64, true), destinationOptions()});
  EXPECT_EQ(parsed(packet).tuple,
            (Tuple{kClient6, kVip6, 0, 0, static_cast<Protocol>(60), Fragment::none}));
}

TEST(PacketIpv6, P8_5_AhEspAndNoNextHeaderAreTransports) {
  for (const auto protocol : {Protocol::ah, Protocol::esp, static_cast<Protocol>(59)}) {
    for (const auto& extensions :
         {std::vector<Extension>{}, std::vector<Extension>{hopByHop(), destinationOptions()}}) {
      const auto packet = ipv6({.source = kClient6, .destination = kVip6, .extensions = extensions},
                               raw(protocol, Bytes(24, 6)));
      EXPECT_EQ(parsed(packet).tuple, (Tuple{kClient6, kVip6, 0, 0, protocol, Fragment::none}));
    }
  }
  EXPECT_EQ(
      verdict(ipv6({.source = kClient6, .destination = kVip6}, raw(static_cast<Protocol>(59), {}))),
      Malformed::none);
}

TEST(PacketIpv6, P8_7_ImpossibleExtensionChains) {
  EXPECT_EQ(verdict(tcp6({destinationOptions(), hopByHop()})), Malformed::badExtension);
  EXPECT_EQ(verdict(tcp6({hopByHop(), hopByHop()})), Malformed::badExtension);
  EXPECT_EQ(verdict(tcp6({fragmentHeader(0, true), fragmentHeader(0, true)})),
            Malformed::badExtension);
  EXPECT_EQ(verdict(tcp6(std::vector<Extension>(16, destinationOptions()))), Malformed::none);
  EXPECT_EQ(verdict(tcp6(std::vector<Extension>(17, destinationOptions()))),
            Malformed::badExtension);
  Bytes tooLong = tcp6({destinationOptions()});
  tooLong[41] = 200;  // header length beyond the packet
  EXPECT_EQ(verdict(tooLong), Malformed::truncated);
}

TEST(Packet, P8_7_VersionAndEmptiness) {
  EXPECT_EQ(verdict({}), Malformed::truncated);
  for (const unsigned version : {0u, 1u, 5u, 7u, 15u}) {
    Bytes packet = tcp4();
    packet[0] = static_cast<std::uint8_t>(version << 4 | 5);
    EXPECT_EQ(verdict(packet), Malformed::badVersion);
  }
}

TEST(PacketIpv4, P8_7_HeaderAndTotalLength) {
  Bytes packet = tcp4();
  packet[0] = 0x44;
  EXPECT_EQ(verdict(packet), Malformed::badHeaderLength);
  packet[0] = 0x4f;  // 60 bytes of header in a packet of 40
  EXPECT_EQ(verdict(packet), Malformed::badHeaderLength);
  packet = tcp4();
  set16(packet, 2, 19);
  EXPECT_EQ(verdict(packet), Malformed::badTotalLength);
  set16(packet, 2, packet.size() + 1);
  EXPECT_EQ(verdict(packet), Malformed::truncated);
  set16(packet, 2, 39);  // the TCP header does not fit
  EXPECT_EQ(verdict(packet), Malformed::truncated);
}

TEST(Packet, P8_7_TcpDataOffset) {
  Bytes packet = tcp4();
  packet[32] = 0x40;
  EXPECT_EQ(verdict(packet), Malformed::badHeaderLength);
  packet[32] = 0x60;
  EXPECT_EQ(verdict(packet), Malformed::badHeaderLength);
  EXPECT_EQ(verdict(ipv4({.source = kClient, .destination = kVip}, tcp({.options = Bytes(40)}))),
            Malformed::none);
}

TEST(Packet, P8_7_UdpLength) {
  Bytes packet = udp4(10);
  set16(packet, 24, 7);
  EXPECT_EQ(verdict(packet), Malformed::badTotalLength);
  set16(packet, 24, 0);
  EXPECT_EQ(verdict(packet), Malformed::badTotalLength);
  set16(packet, 24, 19);
  EXPECT_EQ(verdict(packet), Malformed::truncated);
  set16(packet, 24, 17);  // shorter than the packet: padding, as the kernel accepts
  EXPECT_EQ(verdict(packet), Malformed::none);
}

TEST(Packet, P8_7_ImpossibleSources) {
  for (const char* source : {"224.0.0.1", "239.255.255.255", "255.255.255.255"}) {
    EXPECT_EQ(verdict(ipv4({.source = address(source), .destination = kVip}, udp({}))),
              Malformed::badAddress)
        << source;
  }
  EXPECT_EQ(verdict(ipv6({.source = address("ff02::1"), .destination = kVip6}, udp({}))),
            Malformed::badAddress);
  // A mapped address would be taken for an IPv4 flow.
  EXPECT_EQ(verdict(ipv6({.source = kClient, .destination = kVip6}, udp({}))),
            Malformed::badAddress);
  EXPECT_EQ(verdict(ipv6({.source = kClient6, .destination = kVip}, udp({}))),
            Malformed::badAddress);
}

TEST(Packet, P8_7_FirstFragmentWithoutItsPorts) {
  Bytes packet = udp4();
  packet.resize(23);
  set16(packet, 2, 23);
  set16(packet, 6, 0x2000);
  EXPECT_EQ(verdict(packet), Malformed::badFragment);
  packet.push_back(53);
  set16(packet, 2, 24);
  EXPECT_EQ(parsed(packet).tuple.fragment, Fragment::first);
  // IPv6: the chain of headers itself is cut (RFC 7112).
  Bytes cut =
      ipv6({.source = kClient6, .destination = kVip6, .extensions = {fragmentHeader(0, true)}},
           raw(static_cast<Protocol>(60), {6, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(verdict(cut), Malformed::badFragment);
}

TEST(Packet, P8_7_FragmentBeyondTheLargestDatagram) {
  Bytes packet = udp4(100);
  const std::size_t last = (65535 - packet.size()) / 8;
  set16(packet, 6, last);
  EXPECT_EQ(verdict(packet), Malformed::none);
  set16(packet, 6, last + 1);
  EXPECT_EQ(verdict(packet), Malformed::badFragment);
  const auto lastOf65536 = [](std::size_t payload) {
    return ipv6(
        {.source = kClient6, .destination = kVip6, .extensions = {fragmentHeader(65528, false)}},
        raw(Protocol::udp, Bytes(payload)));
  };
  EXPECT_EQ(verdict(lastOf65536(7)), Malformed::none);
  EXPECT_EQ(verdict(lastOf65536(8)), Malformed::badFragment);
}

TEST(Packet, OnlyAPrefixOfThePacketIsNeeded) {
  const auto big = ipv4({.source = kClient, .destination = kVip},
                        tcp({.sourcePort = 40000, .destinationPort = 80, .payload = Bytes(1400)}));
  EXPECT_EQ(parsed(quote(big, 128), big.size()).tuple, kTcpTuple);
  EXPECT_EQ(parsed(quote(big, 40), big.size()).tuple, kTcpTuple);
  EXPECT_EQ(verdict(quote(big, 39), big.size()), Malformed::truncated);
  // The headers lie beyond the copied bytes.
  const Bytes chain = tcp6({destinationOptions(padding(256))});
  EXPECT_EQ(verdict(quote(chain, 128), chain.size()), Malformed::truncated);
}

TEST(Packet, PaddingBehindThePacketIsIgnored) {
  Bytes packet = tcp4();
  packet.resize(46);  // the shortest Ethernet payload
  EXPECT_EQ(parsed(packet).tuple, kTcpTuple);
  Bytes datagram = udp4(0);
  datagram.resize(46);
  EXPECT_EQ(parsed(datagram).tuple.destinationPort, 53);
  set16(datagram, 24, 20);  // padding is no payload
  EXPECT_EQ(verdict(datagram), Malformed::truncated);
}

TEST(Packet, SegmentsJoinedBeyond65535BytesHaveNoLengthField) {
  Bytes packet = tcp4();
  set16(packet, 2, 0);
  EXPECT_EQ(verdict(packet, 65535), Malformed::badTotalLength);
  EXPECT_EQ(parsed(packet, 65536).tuple, kTcpTuple);
  EXPECT_EQ(parsed(packet, 200000).tuple, kTcpTuple);
  for (Bytes packet6 : {tcp6(), tcp6({hopByHop({0xc2, 4, 0, 1, 0, 0})})}) {
    set16(packet6, 4, 0);
    EXPECT_EQ(verdict(packet6, 65535), Malformed::truncated);
    EXPECT_EQ(parsed(packet6, 200000).tuple, kTcpTuple6);
  }
}

TEST(Malformed, EveryKindHasALabelOfItsOwn) {
  std::set<std::string_view> labels;
  for (std::size_t i = 0; i < kMalformedKinds; ++i) {
    labels.insert(toString(static_cast<Malformed>(i)));
  }
  EXPECT_EQ(labels.size(), kMalformedKinds);
}

}  // namespace
}  // namespace weir
