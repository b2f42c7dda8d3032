// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/client_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/client_hello_builder.h"

namespace weir {
namespace {

using namespace test;
using Progress = ClientHelloParser::Progress;
using testing::ElementsAre;

ClientHelloParser parsed(const Bytes& bytes, std::size_t segment = 1u << 20) {
  ClientHelloParser parser;
  for (std::size_t at = 0; at < bytes.size(); at += segment)
    parser.feed(std::span(bytes).subspan(at, std::min(segment, bytes.size() - at)));
  return parser;
}

std::string routedName(const Bytes& bytes, std::size_t segment = 1u << 20) {
  const auto parser = parsed(bytes, segment);
  return parser.progress() == Progress::complete
             ? parser.serverName()
             : "refused: " + std::string(toString(parser.problem()));
}

HelloProblem problemOf(const Bytes& bytes) {
  const auto parser = parsed(bytes);
  EXPECT_NE(parser.progress(), Progress::complete) << parser.serverName();
  return parser.problem();
}
HelloProblem problemOfName(std::string_view name) {
  return problemOf(records(clientHello({serverName(name)})));
}

TEST(ClientHello, X6_4_AnySegmentsAndRecords) {
  const Bytes hello = clientHello({grease(), protocols({"h2", "http/1.1"}), serverName("a.b.c")});
  for (const std::size_t record : {1u, 2u, 3u, 4u, 5u, 16u, 64u, 16384u})
    for (const std::size_t segment : {1u, 2u, 5u, 7u, 1000u}) {
      const auto parser = parsed(records(hello, record), segment);
      ASSERT_EQ(parser.progress(), Progress::complete) << record << ' ' << segment;
      EXPECT_EQ(parser.serverName(), "a.b.c");
      EXPECT_THAT(parser.protocols(), ElementsAre("h2", "http/1.1"));
    }
}

TEST(ClientHello, X6_4_SizesUpTo64KiBWithTheNameLast) {
  for (const std::size_t size : {1'800u, 8'000u, 15'900u, 16'300u, 17'000u, 40'000u, 65'000u})
    for (const std::size_t record : {1u, 1000u, 16'384u})
      EXPECT_EQ(routedName(records(clientHello({helloPadding(size), serverName("big.example.com")}),
                                   record)),
                "big.example.com")
          << size;
}

TEST(ClientHello, X6_4_TheLargestAndOneMore) {
  const std::size_t rest = clientHello({helloPadding(0), serverName("a.b")}).size() - 4;
  const auto ofSize = [&](std::size_t size) {
    return records(clientHello({helloPadding(size - rest), serverName("a.b")}));
  };
  EXPECT_EQ(routedName(ofSize(ClientHelloParser::kMaxHello - 1)), "a.b");
  // 65,535 bytes is what the length of the extensions can say; more cannot be a hello at all.
  Bytes larger{1, 1, 0, 1};
  EXPECT_EQ(problemOf(record(larger)), HelloProblem::tooLarge);
}

TEST(ClientHello, X6_4_GreaseEncryptedHelloAndEarlyDataAreOrdinary) {
  const HelloExtension encryptedHello{0xfe0d, Bytes(250, 0x7f)};
  const HelloExtension earlyData{42, {}};
  const HelloExtension keyShares{51, Bytes(1'216 + 1'184, 0x33)};
  Bytes bytes = records(clientHello(
      {grease(), keyShares, encryptedHello, serverName("outer.example.com"), earlyData, grease()}));
  append(bytes, record({1}, 20));
  append(bytes, record(Bytes(300, 0xee), 23));
  EXPECT_EQ(routedName(bytes), "outer.example.com");
}

TEST(ClientHello, X6_3_LowerCaseWithoutTheTrailingDot) {
  EXPECT_EQ(routedName(records(clientHello({serverName("WWW.Example.COM.")}))), "www.example.com");
}

TEST(ClientHello, UnderscoresAreRouted) {
  EXPECT_EQ(routedName(records(clientHello({serverName("_sip._tcp.example.com")}))),
            "_sip._tcp.example.com");
}

TEST(ClientHello, X6_2_NoServerName) {
  EXPECT_EQ(problemOf(records(clientHello({grease()}))), HelloProblem::noServerName);
  EXPECT_EQ(problemOf(records(clientHello(HelloParts{.hasExtensions = false}))),
            HelloProblem::noServerName);
  EXPECT_EQ(problemOf(records(clientHello(HelloParts{}))), HelloProblem::noServerName);
}

TEST(ClientHello, X6_2_NamesThatAreNoDnsNames) {
  using namespace std::string_view_literals;
  const std::string label63(63, 'a');
  EXPECT_EQ(routedName(records(clientHello({serverName(label63 + ".com")}))), label63 + ".com");
  const std::string name253 = label63 + "." + label63 + "." + label63 + "." + std::string(61, 'b');
  EXPECT_EQ(routedName(records(clientHello({serverName(name253)}))), name253);
  for (const std::string_view name :
       {""sv, "."sv, "a..b"sv, ".a.b"sv, "a.b.."sv, "-a.b"sv, "a-.b"sv, "a b.c"sv, "a/b.c"sv,
        "b\xc3\xbc"
        "cher.de"sv,
        "*.foo.com"sv, "192.0.2.1"sv, "::1"sv, "[2001:db8::1]"sv, "2001:db8::1"sv,
        "a.example.com\0.evil.com"sv, "a.example.com\n"sv, "a.b:443"sv, "1.2.3"sv})
    EXPECT_EQ(problemOfName(name), HelloProblem::badServerName) << name;
  EXPECT_EQ(problemOfName(label63 + "a.com"), HelloProblem::badServerName);
  EXPECT_EQ(problemOfName(name253 + "c"), HelloProblem::badServerName);
}

TEST(ClientHello, X6_2_NameListsThatRfc6066Forbids) {
  Bytes two = nameEntry("a.b");
  append(two, nameEntry("c.d"));
  for (const HelloExtension& extension :
       {serverNameList({}), serverNameList(two), serverNameList(nameEntry("a.b", 1))})
    EXPECT_EQ(problemOf(records(clientHello({extension}))), HelloProblem::badServerName);
  EXPECT_EQ(problemOf(records(clientHello({serverName("a.b"), serverName("a.b")}))),
            HelloProblem::badServerName);
}

TEST(ClientHello, LengthsMustAgree) {
  const Bytes name = nameEntry("a.b");
  Bytes longer = counted(2, name), shorter = counted(2, name), inner = counted(2, name);
  ++longer[1];   // the list ends beyond the extension
  --shorter[1];  // and before it
  ++inner[4];    // the name ends beyond the list
  for (const Bytes& body : {longer, shorter, inner, Bytes{}, Bytes{0}})
    EXPECT_EQ(problemOf(records(clientHello({HelloExtension{0, body}}))), HelloProblem::malformed);

  const Bytes good = clientHello({serverName("a.b")});
  Bytes extensionBeyond = good;
  extensionBeyond[good.size() - 9] = 0xff;
  EXPECT_EQ(problemOf(records(extensionBeyond)), HelloProblem::malformed);
  for (const int by : {-1, 1}) {  // the message's length against what is in it
    Bytes bytes = good;
    bytes[3] = static_cast<std::uint8_t>(bytes[3] + by);
    EXPECT_EQ(problemOf(records(bytes)), HelloProblem::malformed) << by;
  }
  EXPECT_EQ(problemOf(records(clientHello(HelloParts{{serverName("a.b")}, 33}))),
            HelloProblem::malformed);
  EXPECT_EQ(problemOf(records(clientHello(HelloParts{{serverName("a.b")}, 0, 0}))),
            HelloProblem::malformed);
}

TEST(ClientHello, ProtocolListsMustBeWhole) {
  for (const Bytes& body : {Bytes{}, Bytes{0, 0}, Bytes{0, 1, 0}, Bytes{0, 3, 5, 'h', '2'}})
    EXPECT_EQ(problemOf(records(clientHello({serverName("a.b"), HelloExtension{16, body}}))),
              HelloProblem::malformed);
  EXPECT_EQ(
      problemOf(records(clientHello({serverName("a.b"), protocols({"h2"}), protocols({"h3"})}))),
      HelloProblem::malformed);
}

TEST(ClientHello, X6_2_WhatIsNotTls) {
  using namespace std::string_view_literals;
  const Bytes ssl2{0x80, 0x2e, 1, 3, 1, 0, 0x15};
  for (const Bytes& bytes :
       {bytesOf("GET / HTTP/1.1\r\n"), bytesOf("SSH-2.0-OpenSSH_9.2\r\n"), ssl2, Bytes{22, 2},
        record({2, 40}, 21), record({1}, 20), record(clientHello({grease()}), 23),
        records(clientHello(HelloParts{.type = 2}))})
    EXPECT_EQ(problemOf(bytes), HelloProblem::notTls);
}

TEST(ClientHello, RecordsThatMustNotBe) {
  EXPECT_EQ(problemOf({22, 3, 1, 0x40, 0x01}), HelloProblem::malformed);  // 16,385 bytes
  EXPECT_EQ(problemOf({22, 3, 1, 0, 0}), HelloProblem::malformed);        // empty
  const Bytes hello = clientHello({serverName("a.b")});
  for (const std::uint8_t type : {std::uint8_t{20}, std::uint8_t{21}, std::uint8_t{23}}) {
    Bytes bytes = record({hello.begin(), hello.begin() + 20});
    append(bytes, record({hello.begin() + 20, hello.end()}, type));
    EXPECT_EQ(problemOf(bytes), HelloProblem::malformed) << int{type};
  }
}

TEST(ClientHello, HalfAHelloNeedsMore) {
  const Bytes bytes = records(clientHello({serverName("a.b")}), 16);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto parser = parsed({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_EQ(parser.progress(), Progress::needsMore) << size;
    EXPECT_EQ(parser.problem(), HelloProblem::none);
  }
}

TEST(ClientHello, NothingChangesAfterTheVerdict) {
  ClientHelloParser refused;
  refused.feed(bytesOf("GET"));
  EXPECT_EQ(refused.feed(records(clientHello({serverName("a.b")}))), Progress::refused);
  EXPECT_EQ(refused.problem(), HelloProblem::notTls);
  auto complete = parsed(records(clientHello({serverName("a.b")})));
  EXPECT_EQ(complete.feed(bytesOf("anything")), Progress::complete);
  EXPECT_EQ(complete.serverName(), "a.b");
}

}  // namespace
}  // namespace weir
