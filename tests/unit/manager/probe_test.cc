// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes against little servers on loopback; real servers of every type are in tests/lab.
#include "manager/health/probe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "little_server.h"
#include "manager/health/answer.h"
#include "run_probe.h"

namespace weir::manager {
namespace {

using Kind = Outcome::Kind;

class Probing : public testing::Test {
 protected:
  // Nullopt: no outcome within `limit`; the probe is cancelled then, as its owner would do.
  std::optional<Outcome> probe(const HealthCheck& check, std::uint16_t port,
                               std::chrono::milliseconds limit = std::chrono::seconds(2)) {
    auto result = runProbe(io_, {io_, tls_}, check, port, limit);
    io_.restart();
    io_.poll();
    return result;
  }

  // What a server that answers every request with `answer` is taken for.
  std::optional<Outcome> probeHttp(HealthCheck check, const std::string& answer) {
    LittleServer server([&](int fd) {
      request_ = receiveUntil(fd, "\r\n\r\n");
      sendText(fd, answer);
    });
    check.type = HealthCheck::Type::http;
    return probe(check, server.port());
  }

  static std::string ok(const std::string& body, const std::string& headers = "") {
    return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(),
                       body);
  }

  boost::asio::io_context io_;
  const TlsContext tls_;
  std::string request_;
};

// A port that nobody listens on.
std::uint16_t closedPort() {
  return LittleServer([](int) {}).port();
}

TEST_F(Probing, H5_TcpConnectIsEnough) {
  LittleServer server([](int fd) { receiveAll(fd); });
  const auto outcome = probe({}, server.port());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::success);
  EXPECT_FALSE(outcome->weight);
}

TEST_F(Probing, H10_ConnectionRefusedIsAWrongAnswer) {
  const std::uint16_t port = closedPort();
  for (const auto type : {HealthCheck::Type::tcp, HealthCheck::Type::http}) {
    HealthCheck check;
    check.type = type;
    const auto outcome = probe(check, port);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, Kind::wrongAnswer);
    EXPECT_EQ(outcome->reason, "connection refused");
  }
}

TEST_F(Probing, H5_RequestWithoutResponseIgnoresTheReply) {
  std::string received;
  {
    LittleServer server([&](int fd) { received = receiveUntil(fd, "PING"); });
    HealthCheck check;
    check.request = "PING";
    const auto outcome = probe(check, server.port());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, Kind::success);
    server.awaitConnection();
  }
  EXPECT_EQ(received, "PING");
}

TEST_F(Probing, H5_ReplyMustBeginWithTheResponse) {
  HealthCheck check;
  check.request = "PING";
  check.response = "PONG";
  const auto answering = [&](const std::vector<std::string>& parts) {
    LittleServer server([&](int fd) {
      receiveUntil(fd, "PING");
      for (const auto& part : parts) {
        sendText(fd, part);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    return probe(check, server.port());
  };
  EXPECT_EQ(answering({"PONG"})->kind, Kind::success);
  EXPECT_EQ(answering({"P", "ON", "G and more"})->kind, Kind::success);
  EXPECT_EQ(answering({"WRONG"})->kind, Kind::wrongAnswer);
  EXPECT_EQ(answering({"PON"})->reason, "connection closed without the expected answer");
}

TEST_F(Probing, H5_ASilentServerGivesNoOutcomeAndCanBeCancelled) {
  LittleServer server([](int fd) { receiveAll(fd); });
  HealthCheck check;
  check.response = "PONG";
  EXPECT_FALSE(probe(check, server.port(), std::chrono::milliseconds(200)));
  check.type = HealthCheck::Type::http;
  EXPECT_FALSE(probe(check, server.port(), std::chrono::milliseconds(200)));
}

TEST_F(Probing, H8_TcpProxyHeaderComesFirst) {
  std::string received;
  {
    LittleServer server([&](int fd) { received = receiveUntil(fd, "PING"); });
    HealthCheck check;
    check.proxyHeader = HealthCheck::ProxyHeader::proxyV1;
    check.request = "PING";
    EXPECT_EQ(probe(check, server.port())->kind, Kind::success);
    server.awaitConnection();
  }
  EXPECT_EQ(received, "PROXY UNKNOWN\r\nPING");
}

TEST_F(Probing, H8_HttpProxyHeaderComesFirst) {
  HealthCheck check;
  check.proxyHeader = HealthCheck::ProxyHeader::proxyV1;
  EXPECT_EQ(probeHttp(check, ok(""))->kind, Kind::success);
  EXPECT_EQ(request_.substr(0, 30), "PROXY UNKNOWN\r\nGET / HTTP/1.1\r");
}

TEST_F(Probing, H4_PathAndHost) {
  HealthCheck check;
  check.requestPath = "/health/../check?full=1";
  EXPECT_EQ(probeHttp(check, ok(""))->kind, Kind::success);
  EXPECT_EQ(request_.substr(0, request_.find('\r')), "GET /health/../check?full=1 HTTP/1.1");
  EXPECT_NE(request_.find("\r\nHost: 127.0.0.1\r\n"), std::string::npos) << request_;
  check.host = "app.example.com";
  EXPECT_EQ(probeHttp(check, ok(""))->kind, Kind::success);
  EXPECT_NE(request_.find("\r\nHost: app.example.com\r\n"), std::string::npos) << request_;
}

TEST_F(Probing, H4_OnlyStatus200IsHealthy) {
  for (const int status : {199 + 2, 204, 301, 404, 500, 503}) {
    const auto outcome =
        probeHttp({}, fmt::format("HTTP/1.1 {} X\r\nContent-Length: 0\r\n\r\n", status));
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind, Kind::wrongAnswer);
    EXPECT_EQ(outcome->reason, fmt::format("status {}, expected 200", status));
  }
}

TEST_F(Probing, H4_RedirectsFailAndAreNotFollowed) {
  LittleServer elsewhere([](int fd) { sendText(fd, ok("")); });
  const auto outcome =
      probeHttp({}, fmt::format("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{}/\r\n"
                                "Content-Length: 0\r\n\r\n",
                                elsewhere.port()));
  EXPECT_EQ(outcome->reason, "status 302, expected 200");
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST_F(Probing, H4_AnInterimAnswerIsNotTheAnswer) {
  EXPECT_EQ(probeHttp({}, "HTTP/1.1 100 Continue\r\n\r\n" + ok(""))->kind, Kind::success);
}

TEST_F(Probing, H4_ResponseTextInTheFirst1024Bytes) {
  HealthCheck check;
  check.response = "good";
  const std::string padding(4096, '.');
  EXPECT_EQ(probeHttp(check, ok(std::string(1020, '.') + "good" + padding))->kind, Kind::success);
  const auto beyond = probeHttp(check, ok(std::string(1030, '.') + "good" + padding));
  EXPECT_EQ(beyond->kind, Kind::wrongAnswer);
  EXPECT_EQ(beyond->reason, "the expected response is not in the first 1024 bytes of the body");
  EXPECT_EQ(probeHttp(check, ok("short"))->kind, Kind::wrongAnswer);
  EXPECT_EQ(probeHttp(check, ok("all good"))->kind, Kind::success);
}

TEST_F(Probing, H4_ChunkedBodyIsDecoded) {
  HealthCheck check;
  check.response = "good";
  EXPECT_EQ(probeHttp(check,
                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "2\r\ngo\r\n2\r\nod\r\n0\r\n\r\n")
                ->kind,
            Kind::success);
}

TEST_F(Probing, H4_ABodyThatNeverEndsDoesNotHoldUpTheVerdict) {
  LittleServer server([](int fd) {
    receiveUntil(fd, "\r\n\r\n");
    sendText(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx");
    receiveAll(fd);
  });
  HealthCheck check;
  check.type = HealthCheck::Type::http;
  const auto outcome = probe(check, server.port(), std::chrono::milliseconds(1000));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::success);
}

TEST_F(Probing, H12_BytesWithoutEndEndTheProbe) {
  HealthCheck check;
  check.response = "never";
  // A chunk's extension may be as long as it likes.
  const auto outcome = probeHttp(
      check, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(400'000, 'x'));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Kind::wrongAnswer);
  EXPECT_EQ(outcome->reason, "262144 bytes without a usable answer");
}

TEST_F(Probing, H4_GarbageIsAWrongAnswer) {
  for (const std::string& garbage :
       {std::string("SSH-2.0-OpenSSH_9.2\r\n"), std::string("\0\1\2\3\377\n\n", 7),
        std::string("HTTP/9.9 abc\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\nbroken")}) {
    const auto outcome = probeHttp({}, garbage);
    ASSERT_TRUE(outcome) << garbage;
    EXPECT_EQ(outcome->kind, Kind::wrongAnswer) << garbage;
    EXPECT_FALSE(outcome->reason.empty());
  }
}

TEST_F(Probing, H4_ClosedWithoutAnAnswer) {
  const auto outcome = probeHttp({}, "");
  EXPECT_EQ(outcome->kind, Kind::wrongAnswer);
  EXPECT_EQ(outcome->reason, "connection closed without an answer");
}

TEST_F(Probing, P9_1_TheAnswerCarriesAWeight) {
  const auto weight = [&](const std::string& header) {
    return probeHttp({}, ok("", header))->weight;
  };
  EXPECT_EQ(weight("X-Load-Balancing-Endpoint-Weight: 500\r\n")->value, 500u);
  EXPECT_EQ(weight("x-load-balancing-endpoint-weight:0\r\n")->value, 0u);
  EXPECT_EQ(weight("")->kind, ReportedWeight::Kind::missing);
  EXPECT_EQ(weight("X-Load-Balancing-Endpoint-Weight: many\r\n")->kind,
            ReportedWeight::Kind::invalid);
}

TEST_F(Probing, P9_2_ABackendThatCannotBeAskedIsUnavailable) {
  HealthCheck check;
  check.type = HealthCheck::Type::http;
  EXPECT_EQ(probe(check, closedPort())->weight->kind, ReportedWeight::Kind::unavailable);
}

TEST_F(Probing, P9_1_AnUnhealthyAnswerCarriesAWeightToo) {
  const auto outcome = probeHttp(
      {}, "HTTP/1.1 503 Busy\r\nX-Load-Balancing-Endpoint-Weight: 3\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(outcome->weight->value, 3u);
}

TEST_F(Probing, H12_ManyProbesAtOnceNoneWaitsForAHangingOne) {
  LittleServer hanging([](int fd) { receiveAll(fd); });
  LittleServer fine([](int fd) {
    receiveUntil(fd, "\r\n\r\n");
    sendText(fd, ok(""));
  });
  HealthCheck check;
  check.type = HealthCheck::Type::http;
  ProbeTarget target;
  target.check = std::make_shared<const HealthCheck>(check);
  target.address = Address::ipv4(0x7f000001);
  target.port = hanging.port();
  bool hangingDone = false;
  const auto stuck = startProbe({io_, tls_}, target, [&](Outcome) { hangingDone = true; });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(probe(check, fine.port())->kind, Kind::success);
  EXPECT_FALSE(hangingDone);
}

}  // namespace
}  // namespace weir::manager
