// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "little_server.h"

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
  for (const char* target : {"", "*", "http://x/", "/%", "/%4", "/%zz", "/a?b=%g0"})
    EXPECT_FALSE(parseTarget(target)) << target;
}

class HttpServing : public testing::Test {
 protected:
  HttpServing() {
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
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "api.sock";
  boost::asio::io_context io_;
  HttpServer server_{io_,
                     [](const HttpRequest& request, const HttpRespond& respond) {
                       respond({200, "text/plain",
                                request.path.empty() ? "" : request.path[0] + ":" + request.body,
                                {}});
                     },
                     kPatience};
  std::thread thread_;
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

TEST_F(HttpServing, TooManyConnectionsAreRefusedNotQueued) {
  std::vector<Fd> many;
  for (std::size_t i = 0; i < HttpServer::kMaxConnections; ++i) many.push_back(connectLocal(path_));
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
