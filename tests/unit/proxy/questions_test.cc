// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/questions.h"

#include <nlohmann/json.hpp>

#include "unit/proxy/proxy_fixture.h"

namespace weir::proxy {
namespace {

using namespace test;
using nlohmann::json;

class QuestionsTest : public ProxyTest {
 protected:
  json ask(const json& request) {
    auto question = ConnectionsQuestion::parse(request.dump(), 1);
    EXPECT_TRUE(question.ok());
    thread_->ask(*question);
    std::optional<std::string> answer;
    EXPECT_TRUE(soon([&] { return (answer = (*question)->answer()).has_value(); }));
    return json::parse(answer.value_or("null"));
  }
  json explain(const json& connection) {
    const json request{{"op", "explain"}, {"connection", connection}};
    return json::parse(
        explainConnection(request.dump(), *published_.current(), directory_, bootTime()));
  }
};

TEST_F(QuestionsTest, ConnectionsAreListedCountedAndClosed) {
  Server server, other;
  service("shop", {server.address(), other.address()});
  start();
  Stream one = client(), two = client();
  Stream atServer = server.accept(), atOther = other.accept();
  one.say("abc");
  two.say("abc");
  EXPECT_EQ(atServer.hear(3), "abc");
  EXPECT_EQ(atOther.hear(3), "abc");
  const std::string backend = "127.0.0.1:" + std::to_string(server.address().port);

  const json list = ask({{"op", "list"}});
  ASSERT_EQ(list["connections"].size(), 2u);
  EXPECT_EQ(list["truncated"], false);
  const json& first = list["connections"][0];
  EXPECT_EQ(first["service"], "shop");
  EXPECT_EQ(first["group"], "shop-group");
  EXPECT_EQ(first["source"], "127.0.0.1");
  EXPECT_EQ(first["destinationPort"], front_.port);
  EXPECT_EQ(first["state"], "established");
  EXPECT_EQ(first["bytesUp"], 3);
  EXPECT_EQ(ask({{"op", "list"}, {"limit", 1}})["connections"].size(), 1u);
  EXPECT_EQ(ask({{"op", "list"}, {"limit", 1}})["truncated"], true);

  EXPECT_EQ(ask({{"op", "count"}, {"backend", backend}})["count"], 1);
  EXPECT_EQ(ask({{"op", "count"}, {"backend", "127.0.0.1"}})["count"], 2);
  EXPECT_EQ(ask({{"op", "count"}, {"service", "other"}})["count"], 0);
  EXPECT_EQ(ask({{"op", "count"}, {"client", "127.0.0.0/8"}})["count"], 2);
  EXPECT_EQ(ask({{"op", "count"}, {"client", "127.0.0.2"}})["count"], 0);

  EXPECT_EQ(ask({{"op", "flush"}, {"backend", backend}})["flushed"], 1);
  EXPECT_EQ(ask({{"op", "count"}})["count"], 1);
  EXPECT_EQ(closed(CloseReason::connectionTerminated), 1u);
}

TEST_F(QuestionsTest, AFilterThatIsNoAddressIsRefused) {
  EXPECT_FALSE(ConnectionsQuestion::parse(R"({"op":"list","client":"10.0.0.1/8"})", 1).ok());
  EXPECT_FALSE(ConnectionsQuestion::parse("[]", 1).ok());
  const auto none = ConnectionsQuestion::parse(R"({"op":"count"})", 0);
  EXPECT_EQ((*none)->answer(), R"({"count":0})");
}

TEST_F(QuestionsTest, ExplainSaysWhereAConnectionWouldGoAndChangesNothing) {
  Server server, other;
  service("shop", {server.address(), other.address()});
  start();
  const json asked{
      {"src", "198.51.100.7"}, {"sport", 1}, {"dst", "127.0.0.1"}, {"dport", front_.port}};
  const json first = explain(asked);
  EXPECT_EQ(first["action"], "proxy");
  EXPECT_EQ(first["service"], "shop");
  EXPECT_EQ(first["group"], "shop-group");
  EXPECT_EQ(first["rule"], "S3");
  EXPECT_EQ(first["forwardingRule"], "rule");
  EXPECT_EQ(explain(asked)["endpoint"], first["endpoint"]);  // nobody's turn has moved on
  EXPECT_EQ(first["groups"][0]["connections"], 0);
  // The next client does go there.
  Stream one = client();
  Server& expected = first["port"] == server.address().port ? server : other;
  EXPECT_TRUE(expected.isCalled(5s));
  EXPECT_NE(explain(asked)["endpoint"], first["endpoint"]);
}

TEST_F(QuestionsTest, ExplainSaysWhyAConnectionWouldBeClosed) {
  Server server;
  service("shop", {server.address()});
  snapshot_.targetProxies[0].service.clear();
  TlsRule rule;
  rule.matches.push_back({{"*.example.com"}, {"h2"}});
  rule.destinations.push_back({"shop", 1});
  snapshot_.tlsRoutes.push_back({"r", {"front"}, {rule}});
  start();
  json asked{{"src", "198.51.100.7"}, {"sport", 1}, {"dst", "127.0.0.1"}, {"dport", front_.port}};
  EXPECT_EQ(explain(asked)["detail"], "sni_missing");
  asked["sni"] = "*.example.com";
  EXPECT_EQ(explain(asked)["detail"], "invalid_sni_rfc_6066");
  asked["sni"] = "A.example.com";
  EXPECT_EQ(explain(asked)["detail"], "destination_not_found");
  asked["alpn"] = {"h2"};
  EXPECT_EQ(explain(asked)["action"], "proxy");
  EXPECT_EQ(explain(asked)["route"], "r");
  asked["dport"] = 9;
  EXPECT_EQ(explain(asked)["reason"], "connection_refused");
  EXPECT_TRUE(explain({{"src", "nobody"}}).contains("error"));
}

}  // namespace
}  // namespace weir::proxy
