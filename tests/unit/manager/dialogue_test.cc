// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the dialogues make of an answer must not depend on how the network cuts it into pieces.
#include <gtest/gtest.h>

#include <functional>

#include "manager/health/grpc_dialogue.h"
#include "manager/health/grpc_message.h"
#include "manager/health/http2_dialogue.h"
#include "manager/health/http_dialogue.h"
#include "manager/health/text_dialogue.h"

namespace weir::manager {
namespace {

using Kind = Outcome::Kind;
using namespace std::string_literals;
using Make = std::function<std::unique_ptr<Dialogue>()>;

// The verdict on `answer` in pieces of `size` bytes, after which the peer closes.
Outcome inPieces(const Make& make, std::string_view answer, std::size_t size) {
  const auto dialogue = make();
  dialogue->takeOutput();
  for (; !answer.empty(); answer.remove_prefix(std::min(size, answer.size())))
    if (auto verdict = dialogue->receive(answer.substr(0, size))) return *verdict;
  return dialogue->ended(Dialogue::End::closed);
}

void expectAlike(const Make& make, const std::string& answer, Kind kind,
                 const std::string& reason = "") {
  for (const std::size_t size :
       std::initializer_list<std::size_t>{answer.size(), 1, 2, 3, 7, 100}) {
    const Outcome outcome = inPieces(make, answer, size);
    EXPECT_EQ(outcome.kind, kind) << "pieces of " << size << ": " << outcome.reason;
    EXPECT_EQ(outcome.reason, reason) << "pieces of " << size;
  }
}

Make http(const std::string& expected = "") {
  return [=] { return std::make_unique<HttpDialogue>(HttpRequest{"/", "h", expected}); };
}
Make http2(const std::string& expected = "") {
  return [=] { return std::make_unique<Http2Dialogue>(HttpRequest{"/", "h", expected}); };
}
Make grpc(const std::string& service = "") {
  return [=] { return std::make_unique<GrpcDialogue>(GrpcRequest{"h:1", service, false}); };
}

// An HTTP/2 frame of stream 1; flags: 1 ends the stream, 4 ends the headers.
std::string frame(unsigned type, unsigned flags, const std::string& payload) {
  std::string bytes;
  for (const std::size_t byte : {payload.size() >> 16, payload.size() >> 8, payload.size()})
    bytes += static_cast<char>(byte & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  return bytes + "\0\0\0\1"s + payload;
}
// A header field of HPACK, as a literal that is not indexed.
std::string field(const std::string& name, const std::string& value) {
  return "\0"s + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}
const std::string kSettings = "\0\0\0\4\0\0\0\0\0"s;
const std::string kStatus200 = "\x88";
constexpr unsigned kData = 0, kHeaders = 1, kEndStream = 1, kEndHeaders = 4;

const std::string kGrpcHeaders =
    frame(kHeaders, kEndHeaders, kStatus200 + field("content-type", "application/grpc"));
std::string grpcTrailers(const std::string& fields) {
  return frame(kHeaders, kEndHeaders | kEndStream, fields);
}

TEST(HttpDialogue, H4_AnyPiecesGiveTheSameVerdict) {
  const std::string head = "HTTP/1.1 200 OK\r\nServer: x\r\n";
  expectAlike(http(), head + "\r\n", Kind::success);
  expectAlike(http("good"), head + "Content-Length: 8\r\n\r\nall good", Kind::success);
  expectAlike(http("good"), head + "\r\nall good", Kind::success);
  const std::string absent = "the expected response is not in the first 1024 bytes of the body";
  expectAlike(http("good"), head + "Content-Length: 7\r\n\r\nall good", Kind::wrongAnswer, absent);
  expectAlike(http("good"), head + "\r\nall goo", Kind::wrongAnswer, absent);
  expectAlike(http("good"), head + "Content-Length: 0\r\n\r\n", Kind::wrongAnswer, absent);
  expectAlike(http("good"), head + "Content-Length: 9\r\n\r\nall goo", Kind::wrongAnswer,
              "connection closed in the middle of the body, without the expected response");
}

TEST(HttpDialogue, H4_Chunks) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
  const std::string absent = "the expected response is not in the first 1024 bytes of the body";
  const std::string malformed = "malformed chunk in the body";
  expectAlike(http("good"), head + "2\r\ngo\r\n2;x=\"y\"\r\nod\r\n0\r\n\r\n", Kind::success);
  expectAlike(http("good"), head + "000a \r\nall good!!\r\n", Kind::success);
  expectAlike(http("good"), head + "2\ngo\n2\nod\n", Kind::success);
  expectAlike(http("good"), head + "3\r\ngoo\r\n0\r\nTrailer: good\r\n\r\n", Kind::wrongAnswer,
              absent);
  for (const char* const body : {"\r\n", "x\r\n", "-1\r\n", "2\r\ngood\r\n", "2x\r\ngo\r\n",
                                 "1000000000000000\r\n", "ffffffffffffffffffff\r\n"})
    expectAlike(http("good"), head + body, Kind::wrongAnswer, malformed);
}

TEST(HttpDialogue, H4_TheTextEndsAtTheLastOfTheSearchedBytes) {
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  const std::string absent = "the expected response is not in the first 1024 bytes of the body";
  expectAlike(http("good"), head + std::string(1020, '.') + "good", Kind::success);
  expectAlike(http("good"), head + std::string(1021, '.') + "good", Kind::wrongAnswer, absent);
  expectAlike(http(std::string(1024, 'x')), head + std::string(1024, 'x'), Kind::success);
}

TEST(HttpDialogue, P9_2_ARepeatedWeightIsInvalid) {
  const auto weight = [](const std::string& headers) {
    return inPieces(http(), "HTTP/1.1 200 OK\r\n" + headers + "\r\n", 5).weight;
  };
  using Weight = ReportedWeight;
  EXPECT_EQ(weight("x-load-balancing-endpoint-WEIGHT: 7\r\n"), (Weight{Weight::Kind::value, 7}));
  EXPECT_EQ(weight("X-Load-Balancing-Endpoint-Weight: 7\r\n"
                   "X-Load-Balancing-Endpoint-Weight: 8\r\n")
                ->kind,
            Weight::Kind::invalid);
}

TEST(HttpDialogue, H13_OfAnInterimAnswerNothingCounts) {
  const Outcome outcome = inPieces(http(),
                                   "HTTP/1.1 103 Early Hints\r\n"
                                   "X-Load-Balancing-Endpoint-Weight: 7\r\n"
                                   "endpoint-load-metrics: cpu_utilization=0.9\r\n\r\n"
                                   "HTTP/1.1 200 OK\r\n\r\n",
                                   1000);
  EXPECT_EQ(outcome.weight->kind, ReportedWeight::Kind::missing);
  EXPECT_FALSE(outcome.utilization);
}

TEST(HttpDialogue, H13_AFailedCheckReportsLoadToo) {
  const Outcome outcome = inPieces(
      http(), "HTTP/1.1 503 Busy\r\nEndpoint-Load-Metrics: cpu_utilization=1.2\r\n\r\n", 9);
  EXPECT_EQ(outcome.kind, Kind::wrongAnswer);
  EXPECT_EQ(outcome.utilization, 1.2);
}

TEST(Http2Dialogue, H4_AnyPiecesGiveTheSameVerdict) {
  const std::string head = kSettings + frame(kHeaders, kEndHeaders, kStatus200);
  expectAlike(http2(), head, Kind::success);
  expectAlike(http2("good"), head + frame(kData, 0, "go") + frame(kData, kEndStream, "od"),
              Kind::success);
  expectAlike(http2("good"), head + frame(kData, kEndStream, "bad"), Kind::wrongAnswer,
              "the expected response is not in the first 1024 bytes of the body");
  expectAlike(http2("good"), head + frame(kData, 0, "goo"), Kind::wrongAnswer,
              "connection closed in the middle of the body, without the expected response");
  expectAlike(http2(), kSettings, Kind::wrongAnswer, "connection closed without an answer");
  expectAlike(http2(), "HTTP/1.1 505 HTTP Version Not Supported\r\n\r\n", Kind::wrongAnswer,
              "the server speaks HTTP/1, not HTTP/2");
  expectAlike(http2(), std::string(64, 'z'), Kind::wrongAnswer, "the answer is not HTTP/2");
}

TEST(GrpcDialogue, H6_AnyPiecesGiveTheSameVerdict) {
  const std::string serving = frame(kData, 0, grpcFrame("\x08\x01"));
  const std::string fine = grpcTrailers(field("grpc-status", "0"));
  expectAlike(grpc(), kSettings + kGrpcHeaders + serving + fine, Kind::success);
  expectAlike(grpc("a"), kSettings + kGrpcHeaders + frame(kData, 0, grpcFrame("\x08\x02")) + fine,
              Kind::wrongAnswer, "service 'a' is NOT_SERVING");
  expectAlike(grpc("a"),
              kSettings + frame(kHeaders, kEndHeaders | kEndStream,
                                kStatus200 + field("content-type", "application/grpc+proto") +
                                    field("grpc-status", "5")),
              Kind::wrongAnswer, "gRPC status 5 NOT_FOUND: the server does not know service 'a'");
  expectAlike(grpc(),
              kSettings + kGrpcHeaders +
                  grpcTrailers(field("grpc-status", "14") + field("grpc-message", "a\tb")),
              Kind::wrongAnswer, "gRPC status 14 UNAVAILABLE: a?b");
}

TEST(Http2Dialogue, H4_AResetWithoutAnErrorIsNoAnswer) {
  const std::string reset = frame(3, 0, "\0\0\0\0"s);  // RST_STREAM, NO_ERROR
  const std::string reason = "the server reset the stream before its answer was complete";
  expectAlike(http2(), kSettings + reset, Kind::wrongAnswer, reason);
  expectAlike(http2("good"), kSettings + reset, Kind::wrongAnswer, reason);
  // An interim answer (status 103) is none either.
  const std::string interim = frame(kHeaders, kEndHeaders, field(":status", "103"));
  expectAlike(http2(), kSettings + interim + reset, Kind::wrongAnswer, reason);
  // Nor is the beginning of a body.
  const std::string begun = frame(kHeaders, kEndHeaders, kStatus200) + frame(kData, 0, "not yet");
  expectAlike(http2("good"), kSettings + begun + reset, Kind::wrongAnswer, reason);
  expectAlike(grpc(), kSettings + kGrpcHeaders + reset, Kind::wrongAnswer, reason);
}

TEST(GrpcDialogue, H6_TwoStatusesAreNone) {
  const std::string message = frame(kData, 0, grpcFrame("\x08\x01"));
  const auto answer = [&](const std::string& first, const std::string& second) {
    return kSettings + kGrpcHeaders + message +
           grpcTrailers(field("grpc-status", first) + field("grpc-status", second));
  };
  expectAlike(grpc(), answer("14", "0"), Kind::wrongAnswer, "malformed grpc-status '14, 0'");
  expectAlike(grpc(), answer("0", "14"), Kind::wrongAnswer, "malformed grpc-status '0, 14'");
}

TEST(GrpcDialogue, H13_LoadInTheTrailers) {
  const Outcome outcome =
      inPieces(grpc(),
               kSettings + kGrpcHeaders + frame(kData, 0, grpcFrame("\x08\x01")) +
                   grpcTrailers(field("grpc-status", "0") +
                                field("endpoint-load-metrics", "JSON {\"cpu_utilization\":0.5}")),
               1000);
  EXPECT_EQ(outcome.kind, Kind::success);
  EXPECT_EQ(outcome.utilization, 0.5);
  EXPECT_FALSE(outcome.weight);
}

TEST(TextDialogue, H5_AnyPiecesGiveTheSameVerdict) {
  const Make text = [] { return std::make_unique<TextDialogue>("PING", "PONG"); };
  expectAlike(text, "PONG", Kind::success);
  expectAlike(text, "PONG and more", Kind::success);
  expectAlike(text, "PONK", Kind::wrongAnswer,
              "the reply does not begin with the expected response");
  expectAlike(text, "PON", Kind::wrongAnswer, "connection closed without the expected answer");
}

}  // namespace
}  // namespace weir::manager
