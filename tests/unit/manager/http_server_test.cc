// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "little_server.h"
#include "manager/api/connection_limit.h"

namespace weir::manager {
namespace {

TEST(HttpTarget, PathAndQueryAreDecoded) {
  const auto target = parseTarget("/v1/a%2Fb/?service=w%20x&client=10.0.0.0%2F8&flag");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->path, testing::ElementsAre("v1", "a/b"));
  EXPECT_EQ(target->query.at("service"), "w x");
  EXPECT_EQ(target->query.at("client"), "10.0.0.0/8");
  EXPECT_EQ(target->query.at("flag"), "");
  EXPECT_TRUE(parseTarget("/")->path.empty());
}

TEST(HttpTarget, WhatIsNoPathIsRefused) {
  for (const char* target :
       {"", "*", "http://x/", "/%", "/%4", "/%zz", "/a?b=%g0", "/a?limit=1&limit=2"})
    EXPECT_FALSE(parseTarget(target)) << target;
}

class HttpServing : public testing::Test {
 protected:
  explicit HttpServing(std::chrono::milliseconds patience = kPatience) : patience_(patience) {
    EXPECT_TRUE(server_.listenLocal(path_, "no-such-group").ok());
    thread_ = std::thread([this] {
      auto work = boost::asio::make_work_guard(io_);
      io_.run();
    });
  }
  ~HttpServing() override {
    io_.stop();
    thread_.join();
  }

  std::string exchange(const std::string& request) {
    const Fd fd = connectLocal(path_);
    sendText(fd.get(), request);
    return receiveAll(fd.get());
  }
  static std::string get(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  }
  bool isAlive() { return exchange(get("/alive")).find("alive") != std::string::npos; }

  static constexpr std::chrono::milliseconds kPatience{300};
  const std::chrono::milliseconds patience_;
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "api.sock";
  boost::asio::io_context io_;
  HttpServer server_{io_,
                     [](const HttpRequest& request, const HttpRespond& respond) {
                       respond({200,
                                "text/plain",
                                request.path.empty() ? "" : request.path[0] + ":" + request.body,
                                {}});
                     },
                     patience_};
  std::thread thread_;
};

// Whose connections stay as long as a test may take.
class PatientServing : public HttpServing {
 protected:
  PatientServing() : HttpServing(std::chrono::seconds(60)) {}
};

TEST_F(HttpServing, AnswersAndClosesOrStaysOpen) {
  EXPECT_THAT(exchange(get("/a")), testing::HasSubstr("HTTP/1.1 200"));
  const Fd fd = connectLocal(path_);
  for (int i = 0; i < 3; ++i) {
    sendText(fd.get(), "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_THAT(receiveUntil(fd.get(), "b:body"), testing::HasSubstr("b:body"));
  }
}

TEST_F(HttpServing, SocketModeKeepsOthersOut) {
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            static_cast<std::filesystem::perms>(0660));
}

TEST_F(HttpServing, MalformedRequestsGetAClearError) {
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"), std::string("GET /\x01 HTTP/1.1\r\n\r\n"),
        std::string("GET / HTTP/7.7\r\n\r\n"), std::string("GET / HTTP/1.1\r\nbroken\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
        std::string("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n")}) {
    const std::string answer = exchange(request);
    EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 400 ")) << request;
    EXPECT_THAT(answer, testing::HasSubstr("{\"error\":{\"message\":")) << request;
  }
  EXPECT_TRUE(isAlive());
}

TEST_F(HttpServing, HugeBodiesAndHeadersAreRefused) {
  EXPECT_THAT(exchange("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8388609\r\n\r\n"),
              testing::StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(exchange("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n"),
              testing::StartsWith("HTTP/1.1 431 "));
  EXPECT_TRUE(isAlive());
}

TEST_F(HttpServing, ABodyOfTheLimitFits) {
  EXPECT_THAT(exchange("POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Content-Length: 8388608\r\n\r\n" +
                       std::string(8388608, 'b')),
              testing::StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServing, SlowSendersAreToldAndDisturbNobody) {
  const Fd slow = connectLocal(path_);
  sendText(slow.get(), "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(isAlive());
  EXPECT_THAT(receiveAll(slow.get()), testing::StartsWith("HTTP/1.1 408 "));
}

TEST_F(HttpServing, SilentClientsAreDisconnected) {
  const Fd silent = connectLocal(path_);
  EXPECT_EQ(receiveAll(silent.get()), "");
}

// The tests' user is root, or one with full access.
const std::size_t kMostAtOnce =
    ::geteuid() == 0 ? ConnectionLimit::kMost : ConnectionLimit::kMostOfUser;

TEST_F(PatientServing, ARefusalReachesWhoStillSends) {
  std::vector<Fd> many;
  for (std::size_t i = 0; i < kMostAtOnce; ++i) many.push_back(connectLocal(path_));
  const Fd late = connectLocal(path_);
  EXPECT_THAT(receiveUntil(late.get(), "}}"), testing::StartsWith("HTTP/1.1 503 "));
  // The request is on its way only now; a client that cannot send it would not read the answer.
  const std::string request = get("/late");
  EXPECT_EQ(::send(late.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
}

TEST_F(PatientServing, ARefusedBodyDoesNotCostTheAnswer) {
  const Fd fd = connectLocal(path_);
  sendText(fd.get(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_THAT(receiveUntil(fd.get(), "}}"), testing::StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(::send(fd.get(), "more", 4, MSG_NOSIGNAL), 4);
}

TEST(ConnectionLimit, ThoseWhoLookDoNotLockOutThoseWhoAct) {
  ConnectionLimit limit;
  std::size_t held = 0;
  for (uid_t user = 1000; user < 1100; ++user) {
    const Client viewer{user, Access::view};
    while (limit.refusal(viewer).empty()) limit.add(viewer), ++held;
  }
  EXPECT_EQ(held, ConnectionLimit::kMost - ConnectionLimit::kReservedForRoot -
                      ConnectionLimit::kReservedForFull);
  EXPECT_EQ(limit.refusal({uid_t{2000}, Access::full}), "");
  EXPECT_EQ(limit.refusal({uid_t{0}, Access::full}), "");
}

TEST(ConnectionLimit, NobodyLocksOutRoot) {
  ConnectionLimit limit;
  for (uid_t user = 1000; user < 1100; ++user) {
    const Client operatorClient{user, Access::full};
    while (limit.refusal(operatorClient).empty()) limit.add(operatorClient);
  }
  const Client root{uid_t{0}, Access::full};
  std::size_t held = 0;
  while (limit.refusal(root).empty()) limit.add(root), ++held;
  EXPECT_EQ(held, ConnectionLimit::kReservedForRoot);
  limit.remove({uid_t{1000}, Access::full});
  EXPECT_EQ(limit.refusal(root), "");
}

TEST(ConnectionLimit, OneUserHasAShare) {
  ConnectionLimit limit;
  const Client viewer{uid_t{1000}, Access::view};
  for (std::size_t i = 0; i < ConnectionLimit::kMostOfViewer; ++i) {
    ASSERT_EQ(limit.refusal(viewer), "");
    limit.add(viewer);
  }
  EXPECT_EQ(limit.refusal(viewer),
            "you have 32 connections to weir-manager open, the most that one user may have; close "
            "some");
  EXPECT_EQ(limit.refusal({uid_t{1001}, Access::view}), "");
  limit.remove(viewer);
  EXPECT_EQ(limit.refusal(viewer), "");
}

TEST(ConnectionLimit, OverTcpThereAreNoUsers) {
  ConnectionLimit limit;
  for (std::size_t i = 0; i < ConnectionLimit::kMost; ++i) {
    ASSERT_EQ(limit.refusal({}), "");
    limit.add({});
  }
  EXPECT_EQ(limit.refusal({}),
            "weir-manager has 256 connections open, as many as it takes; try again in a moment");
}

TEST_F(PatientServing, TooManyConnectionsAreRefusedNotQueued) {
  std::vector<Fd> many;
  for (std::size_t i = 0; i < kMostAtOnce; ++i) many.push_back(connectLocal(path_));
  EXPECT_THAT(exchange(get("/a")), testing::StartsWith("HTTP/1.1 503 "));
  many.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(isAlive());
}

TEST(HttpServerAddress, TcpAddressesAreChecked) {
  boost::asio::io_context io;
  HttpServer server(io, [](const HttpRequest&, const HttpRespond&) {});
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "name:80", "127.0.0.1:8o"})
    EXPECT_FALSE(server.listenTcp(address).ok()) << address;
  ASSERT_TRUE(server.listenTcp("127.0.0.1:0").ok());
  HttpServer second(io, [](const HttpRequest&, const HttpRespond&) {});
  EXPECT_FALSE(second.listenTcp("127.0.0.1:" + std::to_string(server.port())).ok());
}

}  // namespace
}  // namespace weir::manager
