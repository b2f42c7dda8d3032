// SPDX-License-Identifier: GPL-2.0-or-later
//
// The whole API over its real socket, with clients that behave badly.
#include <fmt/format.h>

#include <random>
#include <thread>

#include "edited_manager.h"
#include "manager/api/http_server.h"
#include "unit/manager/little_server.h"

namespace weir::manager {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ApiSocket : public EditedManager {
 protected:
  ApiSocket() {
    put("conf.d/web.yaml", "healthChecks: [{name: hc}]\n");
    start();
    EXPECT_TRUE(server_.listenLocal(path_, "no-such-group").ok());
    thread_ = std::thread([this] {
      auto work = boost::asio::make_work_guard(io_);
      io_.run();
    });
  }
  ~ApiSocket() override {
    io_.stop();
    thread_.join();
    server_.stop();
  }

  Fd connect() const { return connectLocal(path_); }
  std::string exchange(const std::string& request) const {
    const Fd fd = connect();
    sendText(fd.get(), request);
    ::shutdown(fd.get(), SHUT_WR);
    return receiveAll(fd.get());
  }
  static std::string request(const std::string& method, const std::string& target,
                             const std::string& headers = "", const std::string& body = "") {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + headers;
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + body;
  }
  bool isAlive() const {
    return exchange(request("GET", "/v1/healthChecks/hc", "Connection: close\r\n"))
               .find("\"name\":\"hc\"") != std::string::npos;
  }

  std::filesystem::path path_ = run_.path() / "api.sock";
  HttpServer server_{io_, apiHandler(manager_), std::chrono::seconds(2)};
  std::thread thread_;
};

TEST_F(ApiSocket, Expect100ContinueIsAnsweredBeforeTheBody) {
  const Fd fd = connect();
  const std::string body = R"({"name":"b"})";
  sendText(fd.get(),
           "POST /v1/healthChecks HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
           "Connection: close\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(receiveUntil(fd.get(), "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  sendText(fd.get(), body);
  EXPECT_THAT(receiveAll(fd.get()), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ApiSocket, ABodyThatIsTooLargeIsRefusedBeforeItIsSent) {
  const std::string answer = exchange(
      "POST /v1/apply HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
      "Content-Length: 8388609\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
}

TEST_F(ApiSocket, AnUnknownExpectationIsRefused) {
  EXPECT_THAT(exchange(request("GET", "/v1/status", "Expect: wonders\r\n")),
              StartsWith("HTTP/1.1 400 "));
}

TEST_F(ApiSocket, HeadHasTheHeadersOfGetAndNoBody) {
  const std::string answer = exchange(request("HEAD", "/v1/healthChecks", "Connection: close\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: "));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(ApiSocket, OptionsAndOtherMethodsNameWhatIsPossible) {
  EXPECT_THAT(exchange(request("OPTIONS", "/v1/reload", "Connection: close\r\n")),
              testing::AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Allow: POST, OPTIONS\r\n")));
  EXPECT_THAT(
      exchange(request("BREW", "/v1/status", "Connection: close\r\n")),
      testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, OPTIONS\r\n")));
}

TEST_F(ApiSocket, PipelinedRequestsAreAnsweredInOrder) {
  std::string many;
  for (int i = 0; i < 20; ++i)
    many += request("GET", i % 2 == 0 ? "/v1/healthChecks/hc" : "/v1/nothing",
                    i == 19 ? "Connection: close\r\n" : "");
  const Fd fd = connect();
  sendText(fd.get(), many);
  const std::string answers = receiveAll(fd.get());
  std::string order;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 ", at)) != std::string::npos; at += 9)
    order += answers.substr(at + 9, 3) + " ";
  std::string expected;
  for (int i = 0; i < 10; ++i) expected += "200 404 ";
  EXPECT_EQ(order, expected);
}

TEST_F(ApiSocket, WrongBodiesGetAClearError) {
  const auto answerTo = [&](const std::string& body, const std::string& type) {
    return exchange(request("POST", "/v1/healthChecks",
                            "Connection: close\r\nContent-Type: " + type + "\r\n", body));
  };
  EXPECT_THAT(answerTo("{\"name\":\"\xff\"}", "application/json"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answerTo(std::string(100'000, '['), "application/json"), HasSubstr("nested deeper"));
  EXPECT_THAT(answerTo("{}", "text/html"), StartsWith("HTTP/1.1 415 "));
  EXPECT_THAT(answerTo("a: \xff", "application/yaml"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answerTo(std::string(5000, '['), "application/yaml"), StartsWith("HTTP/1.1 400 "));
  std::string bomb = "a: &a [0,0,0,0,0,0,0,0,0]\n";
  for (char name = 'b'; name < 'g'; ++name)
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", name,
                        static_cast<char>(name - 1));
  EXPECT_THAT(answerTo(bomb + "g: *f\n", "application/yaml"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answerTo(bomb + "g: [*f,*f,*f]\n", "application/yaml"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answerTo(R"({"name":"a"})", "application/json; charset=utf-8"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(isAlive());
}

// Requests that are damaged at random, and bytes that never were one: each is answered or the
// connection closed, and the next client is served as if nothing had been.
TEST_F(ApiSocket, DamagedRequestsDisturbNobody) {
  std::mt19937 random(20'240'601);
  const auto number = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const std::vector<std::string> seeds{
      request("GET", "/v1/status"),
      request("GET", "/v1/backendServices/web?x=%20&y"),
      request("POST", "/v1/apply?dryRun=true", "Content-Type: application/json\r\n",
              R"({"healthChecks":[{"name":"x","tcpHealthCheck":{"port":80}}]})"),
      request("POST", "/v1/diff", "Content-Type: application/yaml\r\n",
              "healthChecks:\n- name: a\n"),
      request("PATCH", "/v1/healthChecks/hc?dryRun=true", "", R"({"timeoutSec":null})"),
      request("POST", "/v1/diff", "Transfer-Encoding: chunked\r\n", "") + "2\r\n{}\r\n0\r\n\r\n",
      request("POST", "/v1/explain", "Expect: 100-continue\r\n", R"({"src":"10.0.0.1"})")};
  const std::string kBytes = std::string("\0\r\n \t:/%?&=\x7f\xff\"{}[],0129-", 26);
  for (int round = 0; round < 2000; ++round) {
    std::string text = seeds[number(seeds.size())];
    for (std::size_t edits = number(6); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = number(text.size());
      switch (number(5)) {
        case 0:
          text.erase(at, 1 + number(8));
          break;
        case 1:
          text.insert(at, 1, kBytes[number(kBytes.size())]);
          break;
        case 2:
          text[at] = static_cast<char>(number(256));
          break;
        case 3:
          text.insert(at, text.substr(number(text.size()), number(200)));
          break;
        case 4:
          text.resize(at);
          break;
      }
    }
    const std::string answer = exchange(text);
    ASSERT_THAT(answer, testing::AnyOf("", StartsWith("HTTP/1.1 "))) << text;
    if (round % 100 == 0) {
      ASSERT_TRUE(isAlive()) << text;
    }
  }
  EXPECT_TRUE(isAlive());
}

}  // namespace
}  // namespace weir::manager
