// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/proxy_header.h"

#include <gtest/gtest.h>

#include "support/client_hello_builder.h"

namespace weir {
namespace {

using namespace test;
using Progress = ProxyHeaderParser::Progress;

ProxyHeaderParser parsed(const Bytes& bytes, std::size_t segment = 1u << 20) {
  ProxyHeaderParser parser;
  for (std::size_t at = 0; at < bytes.size(); at += segment)
    parser.feed(std::span(bytes).subspan(at, std::min(segment, bytes.size() - at)));
  return parser;
}

std::string shown(const ProxyHeaderParser& parser) {
  if (parser.progress() == Progress::refused) return "refused: " + std::string(parser.problem());
  if (parser.progress() == Progress::needsMore) return "needs more";
  const auto& ends = parser.header().ends;
  if (!ends) return "itself";
  return ends->client.address.toString() + " " + std::to_string(ends->client.port) + " " +
         ends->server.address.toString() + " " + std::to_string(ends->server.port);
}
std::string shown(std::string_view text) { return shown(parsed(bytesOf(text))); }
bool isRefused(const Bytes& bytes) { return parsed(bytes).progress() == Progress::refused; }
bool isRefused(std::string_view text) { return isRefused(bytesOf(text)); }

TEST(ProxyHeaderV1, X2_3_Addresses) {
  EXPECT_EQ(shown("PROXY TCP4 192.0.2.1 198.51.100.1 40000 443\r\n"),
            "192.0.2.1 40000 198.51.100.1 443");
  EXPECT_EQ(shown("PROXY TCP6 2001:db8::1 2001:db8::2 0 65535\r\n"),
            "2001:db8::1 0 2001:db8::2 65535");
  EXPECT_EQ(shown("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 1 2\r\n"),
            "192.0.2.1 1 192.0.2.2 2");
}

TEST(ProxyHeaderV1, X2_3_UnknownStandsForItself) {
  EXPECT_EQ(shown("PROXY UNKNOWN\r\n"), "itself");
  EXPECT_EQ(shown("PROXY UNKNOWN ffff:f...f:ffff and anything else 65535\r\n"), "itself");
  // The longest line that there is: 107 bytes.
  const std::string longest =
      "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  ASSERT_EQ(longest.size(), 107u);
  EXPECT_EQ(shown(longest), "itself");
  EXPECT_TRUE(isRefused("PROXY UNKNOWN" + std::string(100, ' ') + "\r\n"));
}

TEST(ProxyHeaderV1, X2_3_MalformedLines) {
  for (const std::string_view line :
       {"PROXY\r\n", "PROXY \r\n", "PROXY TCP4\r\n", "PROXY TCP4 192.0.2.1 198.51.100.1 1\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n", "PROXY TCP4  192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 \r\n", "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 01 2\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1 65536\r\n",
        "PROXY TCP4 192.0.2.1 198.51.100.1 -1 2\r\n", "PROXY TCP4 192.0.2.01 198.51.100.1 1 2\r\n",
        "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n", "PROXY TCP6 192.0.2.1 198.51.100.1 1 2\r\n",
        "PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n", "PROXY UNKNOWNS\r\n", "proxy TCP4\r\n",
        "GET / HTTP/1.1\r\n", "PROXY TCP6 ::ffff:999.0.2.1 ::1 1 2\r\n"})
    EXPECT_TRUE(isRefused(line)) << line << shown(line);
}

Bytes version2(std::uint8_t command, std::uint8_t family, const Bytes& body) {
  Bytes bytes{0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
  append(bytes, {command, family});
  append(bytes, counted(2, body));
  return bytes;
}
const Bytes kIpv4Ends{192, 0, 2, 1, 198, 51, 100, 1, 0x9c, 0x40, 1, 0xbb};

Bytes extra(std::uint8_t type, const Bytes& value) {
  Bytes bytes{type};
  append(bytes, counted(2, value));
  return bytes;
}
Bytes with(Bytes body, const Bytes& more) {
  append(body, more);
  return body;
}

TEST(ProxyHeaderV2, X2_3_Addresses) {
  EXPECT_EQ(shown(parsed(version2(0x21, 0x11, kIpv4Ends))), "192.0.2.1 40000 198.51.100.1 443");
  Bytes ipv6{0x20, 0x01, 0x0d, 0xb8};
  ipv6.resize(16);
  ipv6.insert(ipv6.end(), 16, 0xff);
  append(ipv6, {0, 1, 0, 2});
  EXPECT_EQ(shown(parsed(version2(0x21, 0x21, ipv6))),
            "2001:db8:: 1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2");
}

TEST(ProxyHeaderV2, X2_3_LocalUnspecifiedAndUnixStandForThemselves) {
  EXPECT_EQ(shown(parsed(version2(0x20, 0x00, {}))), "itself");
  EXPECT_EQ(shown(parsed(version2(0x20, 0x11, kIpv4Ends))), "itself");
  EXPECT_EQ(shown(parsed(version2(0x20, 0x11, {}))), "itself");
  EXPECT_EQ(shown(parsed(version2(0x21, 0x00, {}))), "itself");
  EXPECT_EQ(shown(parsed(version2(0x21, 0x31, Bytes(216, 'x')))), "itself");
}

TEST(ProxyHeaderV2, X2_3_Malformed) {
  for (const Bytes& bytes :
       {version2(0x22, 0x11, kIpv4Ends), version2(0x11, 0x11, kIpv4Ends),
        version2(0x21, 0x41, kIpv4Ends), version2(0x21, 0x13, kIpv4Ends),
        version2(0x21, 0x11, Bytes(11)), version2(0x21, 0x21, Bytes(35)),
        version2(0x21, 0x31, Bytes(215)), version2(0x21, 0x11, with(kIpv4Ends, {4, 0})),
        version2(0x21, 0x11, with(kIpv4Ends, {4, 0, 1})),
        version2(0x21, 0x11, with(kIpv4Ends, extra(2, Bytes(256, 'a')))),
        Bytes{0x0d, 0x0a, 0x0d, 0x0a, 0x01}})
    EXPECT_TRUE(isRefused(bytes)) << shown(parsed(bytes));
}

TEST(ProxyHeaderV2, ExtrasAreWalkedAndTheAuthorityIsKept) {
  const Bytes extras =
      with(with(extra(4, {0, 0}), extra(2, bytesOf("a.example.com"))), extra(5, {}));
  const auto parser = parsed(version2(0x21, 0x11, with(kIpv4Ends, extras)), 1);
  ASSERT_EQ(parser.progress(), Progress::complete);
  EXPECT_EQ(parser.header().authority, "a.example.com");
  const auto largest = parsed(version2(0x21, 0x00, extra(4, Bytes(65'532))));
  EXPECT_EQ(largest.progress(), Progress::complete);
}

// A second implementation, from the polynomial's other end.
std::uint32_t checksum(const Bytes& bytes) {
  const auto reflected = [](std::uint32_t value, int bits) {
    std::uint32_t result = 0;
    for (int i = 0; i < bits; ++i)
      if (value >> i & 1) result |= 1u << (bits - 1 - i);
    return result;
  };
  std::uint32_t crc = ~0u;
  for (const std::uint8_t byte : bytes) {
    crc ^= reflected(byte, 8) << 24;
    for (int i = 0; i < 8; ++i) crc = crc << 1 ^ (crc >> 31 ? 0x1edc6f41u : 0);
  }
  return ~reflected(crc, 32);
}

TEST(ProxyHeaderV2, X2_3_ChecksumIsCheckedWhenPresent) {
  ASSERT_EQ(checksum(bytesOf("123456789")), 0xe3069283u);  // RFC 3720's check value
  Bytes bytes =
      version2(0x21, 0x11, with(with(kIpv4Ends, extra(3, {0, 0, 0, 0})), extra(2, bytesOf("a.b"))));
  Bytes sum;
  put32(sum, checksum(bytes));
  std::copy(sum.begin(), sum.end(), bytes.begin() + 16 + 12 + 3);
  EXPECT_EQ(shown(parsed(bytes)), "192.0.2.1 40000 198.51.100.1 443");
  for (const std::size_t at : {16u, 31u, 40u}) {
    Bytes wrong = bytes;
    wrong[at] ^= 1;
    EXPECT_TRUE(isRefused(wrong)) << at;
  }
  EXPECT_TRUE(isRefused(version2(0x21, 0x11, with(kIpv4Ends, extra(3, {0, 0})))));
}

TEST(ProxyHeader, AnySegmentsAndNoByteBeyondTheHeader) {
  for (const Bytes& header : {bytesOf("PROXY TCP4 192.0.2.1 198.51.100.1 40000 443\r\n"),
                              version2(0x21, 0x11, kIpv4Ends)}) {
    for (std::size_t size = 0; size < header.size(); ++size)
      EXPECT_EQ(shown(parsed({header.begin(), header.begin() + static_cast<std::ptrdiff_t>(size)})),
                "needs more");
    EXPECT_EQ(shown(parsed(header, 1)), "192.0.2.1 40000 198.51.100.1 443");
    ProxyHeaderParser parser;
    EXPECT_EQ(parser.feed(with(header, bytesOf("\n\nGET"))), header.size());
    EXPECT_EQ(parser.feed(bytesOf("more")), 0u);
  }
}

TEST(ProxyHeader, X2_2_WhatIsWrittenIsReadBack) {
  const ProxyHeader::Ends v4{{address("192.0.2.1"), 40000}, {address("198.51.100.1"), 443}};
  const ProxyHeader::Ends v6{{address("2001:db8::1"), 1}, {address("2001:db8::2"), 65535}};
  const ProxyHeader::Ends mixed{{address("2001:db8::1"), 1}, {address("198.51.100.1"), 2}};
  EXPECT_EQ(writeProxyV1(v4), "PROXY TCP4 192.0.2.1 198.51.100.1 40000 443\r\n");
  EXPECT_EQ(writeProxyV1(mixed), "PROXY TCP6 2001:db8::1 ::ffff:198.51.100.1 1 2\r\n");
  for (const auto& ends : {v4, v6, mixed}) {
    EXPECT_EQ(parsed(bytesOf(writeProxyV1(ends))).header().ends, ends);
    const auto binary = parsed(bytesOf(writeProxyV2(ends, "a.example.com")));
    EXPECT_EQ(binary.header().ends, ends);
    EXPECT_EQ(binary.header().authority, "a.example.com");
    EXPECT_EQ(parsed(bytesOf(writeProxyV2(ends, ""))).header().authority, std::nullopt);
  }
}

}  // namespace
}  // namespace weir
