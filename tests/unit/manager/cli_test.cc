// SPDX-License-Identifier: GPL-2.0-or-later
//
// weirctl as a whole, against a manager that answers what the test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_line.h"
#include "cli/explanation.h"
#include "cli/output.h"
#include "cli/table.h"
#include "little_server.h"
#include "manager/api/http_server.h"

namespace weir::cli {
namespace {

using manager::HttpRequest;
using manager::HttpRespond;
using testing::HasSubstr;

class Weirctl : public testing::Test {
 protected:
  Weirctl() {
    EXPECT_TRUE(server_.listenLocal(directory_.path() / "api.sock", "no-such-group").ok());
    thread_ = std::thread([this] {
      const auto work = boost::asio::make_work_guard(io_);
      io_.run();
    });
  }
  ~Weirctl() override {
    io_.stop();
    thread_.join();
  }

  int weirctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--run-dir", directory_.path().string()});
    out_.str("");
    err_.str("");
    return run(std::move(arguments), out_, err_);
  }
  static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  manager::TemporaryDirectory directory_;
  boost::asio::io_context io_;
  HttpRequest asked_;
  manager::HttpResponse answer_{200, "application/json", "{}"};
  manager::HttpServer server_{io_, [this](const HttpRequest& request, const HttpRespond& respond) {
                                asked_ = request;
                                respond(answer_);
                              }};
  std::thread thread_;
  std::ostringstream out_, err_;
};

TEST_F(Weirctl, C2_DoneIs0) {
  EXPECT_EQ(weirctl({"reload"}), 0);
  EXPECT_EQ(out_.str(), "unchanged, nothing was done\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(Weirctl, C2_RefusedIs1WithOneLine) {
  answer_ = manager::errorResponse(409, "it is not draining");
  EXPECT_EQ(weirctl({"undrain", "web", "10.2.0.11"}), 1);
  EXPECT_EQ(err_.str(), "weirctl: it is not draining\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(Weirctl, C2_WrongUsageIs2) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"nonsense"},
           {"backend-services"},
           {"backend-services", "describe"},
           {"drain", "web"},
           {"drain", "web", "10.2.0.11", "--timeout", "3601"},
           {"explain", "--src", "10.0.0.1"},
           {"explain", "--src", "10.0.0.1", "--dst", "10.9.9.9", "--dport", "65536"},
           {"status", "--format", "xml"},
           {"status", "more"},
           {"connections", "flush", "--service", ""},
           {"connections", "count", "--client", ""},
           {"simulate"}}) {
    EXPECT_EQ(weirctl(arguments), 2);
    EXPECT_NE(err_.str(), "");
  }
}

TEST_F(Weirctl, C2_HelpAndVersionAre0) {
  EXPECT_EQ(weirctl({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("backend-services"));
  EXPECT_EQ(weirctl({"--version"}), 0);
  EXPECT_EQ(out_.str(), "weirctl " WEIR_VERSION "\n");
}

TEST_F(Weirctl, C2_AnAbsentManagerIs3) {
  manager::TemporaryDirectory empty;
  EXPECT_EQ(run({"--run-dir", empty.path().string(), "status"}, out_, err_), 3);
  EXPECT_EQ(lines(err_.str()), 1u);
  EXPECT_THAT(err_.str(), HasSubstr("is it running"));
}

TEST_F(Weirctl, C1_CheckTells1ForAnError) {
  const auto file = directory_.path() / "bad.yaml";
  std::ofstream(file) << "backendServices: [{name: web, nonsense: 1}]\n";
  EXPECT_EQ(weirctl({"check", file.string()}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("nonsense"));
}

TEST_F(Weirctl, DrainAsksTheManager) {
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11", "--timeout", "60"}), 0);
  EXPECT_EQ(asked_.method, "POST");
  EXPECT_THAT(asked_.path, testing::ElementsAre("v1", "backendServices", "web", "drain"));
  EXPECT_EQ(asked_.body, R"({"endpoint":"10.2.0.11","timeoutSec":60})");
}

TEST_F(Weirctl, ConnectionFiltersReachTheManager) {
  answer_.body = R"({"count": 12})";
  EXPECT_EQ(weirctl({"connections", "count", "--client", "10.1.0.0/16", "--service", "web"}), 0);
  EXPECT_EQ(out_.str(), "12\n");
  EXPECT_EQ(asked_.query.at("client"), "10.1.0.0/16");
  EXPECT_EQ(asked_.query.at("service"), "web");
  answer_.body = R"({"flushed": 3})";
  EXPECT_EQ(weirctl({"connections", "flush", "--backend", "10.2.0.11"}), 0);
  EXPECT_EQ(out_.str(), "3 entries removed\n");
  EXPECT_EQ(asked_.body, R"({"backend":"10.2.0.11"})");
}

TEST_F(Weirctl, FormatsAlsoBehindTheCommand) {
  answer_.body = R"({"count": 12})";
  EXPECT_EQ(weirctl({"connections", "count", "--format", "json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["count"], 12);
  EXPECT_EQ(weirctl({"--format", "yaml", "connections", "count"}), 0);
  EXPECT_EQ(out_.str(), "count: 12\n");
}

TEST_F(Weirctl, ARefusedReloadShowsWhatIsWrong) {
  answer_ = {
      422, "application/json",
      R"({"error":{"message":"refused"},"diagnostics":[{"text":"a.yaml:3:7: error: bad"}]})"};
  EXPECT_EQ(weirctl({"reload"}), 1);
  EXPECT_EQ(err_.str(), "a.yaml:3:7: error: bad\nweirctl: refused\n");
}

TEST_F(Weirctl, AnAnswerThatIsNotJsonIsAFailure) {
  answer_.body = "<html>";
  EXPECT_EQ(weirctl({"status"}), 1);
  EXPECT_EQ(lines(err_.str()), 1u);
}

TEST(Yaml, TextsThatLookLikeSomethingElseAreQuoted) {
  const Json value = Json::parse(
      R"({"a":"no","b":"010","c":"10.2.0.11","d":"web-a","e":[1,"x: y",[],{}],"f":{"g":null},
          "h":[{"i":true,"j":1.5}],"k":""})");
  EXPECT_EQ(toYaml(value),
            "a: \"no\"\nb: \"010\"\nc: \"10.2.0.11\"\nd: web-a\ne:\n  - 1\n  - \"x: y\"\n  - []\n"
            "  - {}\nf:\n  g: null\nh:\n  - i: true\n    j: 1.5\nk: \"\"\n");
}

TEST(TableText, ColumnsLineUp) {
  Table table({"NAME", "COUNT"});
  table.add({"a", "5"});
  table.add({"longer", "1000"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "NAME    COUNT\na           5\nlonger   1000\n");
}

TEST(Explanation, AMissInWords) {
  std::ostringstream out;
  printExplanation(Json::parse(R"({
    "action": "forward", "connection": "new", "reason": "",
    "matched": {"kind": "forwardingRule", "name": "web-vip"},
    "service": "web", "generation": 7, "affinity": "CLIENT_IP", "trackingMode": "PER_SESSION",
    "tracking": {"tuple": "2-tuple", "source": "10.1.0.7", "destination": "10.9.9.9",
                 "result": "miss", "entry": null},
    "selection": {"tuple": "2-tuple", "source": "10.1.0.7", "destination": "10.9.9.9",
                  "symmetric": false, "hash": "0x0123456789abcdef", "slot": 711, "slots": 65537,
                  "endpoint": "10.2.0.11"},
    "zone": null, "set": {"rule": "P2.1", "zonalRule": "",
                          "members": [{"endpoint": "10.2.0.11", "group": "web-a", "weight": 1}]},
    "backend": {"endpoint": "10.2.0.11", "group": "web-a", "mark": "0x00010000"},
    "explanation": "1 of 2 backends is healthy",
    "nextHop": {"mark": "0x00010000", "ipv4": "10.2.0.11"}})"),
                   out);
  EXPECT_EQ(
      out.str(),
      "Result     to 10.2.0.11 of group web-a, as a new connection\n"
      "Matched    forwarding rule web-vip\n"
      "Service    web, affinity CLIENT_IP, tracking PER_SESSION\n"
      "Tracking   source 10.1.0.7, destination 10.9.9.9 (2-tuple)\n"
      "           miss: no entry; a backend is selected\n"
      "Eligible   P2.1: 1 of 2 backends is healthy [10.2.0.11]\n"
      "Selection  source 10.1.0.7, destination 10.9.9.9 (2-tuple): hash 0x0123456789abcdef is "
      "slot 711 of 65537, 10.2.0.11\n"
      "Next hop   mark 0x00010000, next hop 10.2.0.11\n");
}

TEST(Explanation, APacketThatPasses) {
  std::ostringstream out;
  printExplanation(Json::parse(R"({"action": "pass", "connection": "none"})"), out);
  EXPECT_EQ(out.str(),
            "Result     passed on: no forwarding rule and no route is about this packet\n");
}

}  // namespace
}  // namespace weir::cli
