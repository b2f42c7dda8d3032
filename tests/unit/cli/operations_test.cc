// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/cli/weirctl.h"

namespace weir::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Operations : public Weirctl {};

TEST_F(Operations, DrainAsksTheManager) {
  manager_.say("POST /v1/backendServices/web/drain", 200,
               R"({"timeoutSec":60,"endsAt":"2026-12-01T03:20:10.000Z"})");
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11", "--timeout", "1m"}), 0);
  EXPECT_EQ(manager_.last().line(), "POST /v1/backendServices/web/drain");
  EXPECT_EQ(manager_.last().body, R"({"endpoint":"10.2.0.11","timeoutSec":60})");
  EXPECT_EQ(out_.str(),
            "10.2.0.11 of web gets no new connections; those it has may go on until 03:20:10 UTC "
            "(1 min) and end then\n");
  EXPECT_EQ(weirctl({"undrain", "web", "10.2.0.11"}), 0);
  EXPECT_EQ(manager_.last().body, R"({"endpoint":"10.2.0.11"})");
}

TEST_F(Operations, P7_1_ADrainWithoutATimeSaysThatConnectionsEndNow) {
  manager_.say("POST /v1/backendServices/web/drain", 200,
               R"({"timeoutSec":0,"endsAt":"2026-12-01T03:20:10.000Z"})");
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11"}), 0);
  EXPECT_EQ(out_.str(),
            "10.2.0.11 of web gets no new connections; those it had end now, because the draining "
            "timeout of web is 0\n"
            "(weirctl drain web 10.2.0.11 --timeout 300s lets them end by themselves)\n");
  EXPECT_EQ(weirctl({"drain", "web", "10.2.0.11", "--timeout", "0"}), 0);
  EXPECT_EQ(out_.str(), "10.2.0.11 of web gets no new connections; those it had end now\n");
}

TEST_F(Operations, ConnectionsOfAProgramThatIsAwayAreNoted) {
  const std::string missing =
      R"("missing":[{"program":"weir-proxy","reason":"weir-proxy is not connected; is it running?"}])";
  const std::string note =
      "weirctl: without those of weir-proxy: weir-proxy is not connected; is it running?\n";
  manager_.say("GET /v1/connections/count", 200, R"({"count":30,)" + missing + "}");
  EXPECT_EQ(weirctl({"connections", "count"}), 0);
  EXPECT_EQ(out_.str(), "30\n");
  EXPECT_EQ(err_.str(), note);
  manager_.say("GET /v1/connections", 200,
               R"({"connections":[{"service":"dns","source":"fd00::7","backend":"fd00::11",
                   "state":"new","idleSec":3}],)" +
                   missing + "}");
  EXPECT_EQ(weirctl({"connections", "list"}), 0);
  EXPECT_EQ(lines(out_.str()), 2);
  EXPECT_EQ(err_.str(), note);
  EXPECT_EQ(weirctl({"connections", "list", "--format=json"}), 0);
  EXPECT_EQ(Json::parse(out_.str())["missing"][0]["program"], "weir-proxy");
  EXPECT_EQ(err_.str(), note);
}

TEST_F(Operations, ConnectionFiltersReachTheManager) {
  manager_.say("GET /v1/connections/count?client=10.1.0.0%2F16&service=web", 200,
               R"({"count": 12})");
  EXPECT_EQ(weirctl({"connections", "count", "--client", "10.1.0.0/16", "--service", "web"}), 0);
  EXPECT_EQ(out_.str(), "12\n");
  manager_.say("POST /v1/connections/flush", 200, R"({"flushed": 1})");
  EXPECT_EQ(weirctl({"connections", "flush", "--backend", "10.2.0.11"}), 0);
  EXPECT_EQ(out_.str(), "1 connection removed\n");
  EXPECT_EQ(manager_.last().body, R"({"backend":"10.2.0.11"})");
}

TEST_F(Operations, FlushingEverythingAsksAPerson) {
  EXPECT_EQ(weirctl({"connections", "flush"}), 0);
  EXPECT_EQ(manager_.asked().size(), 1u);
  atTerminal_ = true;
  EXPECT_EQ(weirctl({"connections", "flush"}, "\n"), 1);
  EXPECT_EQ(weirctl({"connections", "flush", "--service", "web"}), 0);
  EXPECT_EQ(weirctl({"connections", "flush", "-q"}), 0);
  EXPECT_EQ(manager_.asked().size(), 3u);
}

TEST_F(Operations, ConnectionsAreATable) {
  manager_.say("GET /v1/connections?limit=2", 200, R"({"connections":[
    {"service":"web","protocol":6,"source":"10.1.0.7","sourcePort":40000,"destination":"10.9.9.9",
     "destinationPort":80,"backend":"10.2.0.11","state":"established","idleSec":75},
    {"service":"dns","source":"fd00::7","backend":"fd00::11","state":"new","idleSec":3}],
    "truncated":true})");
  EXPECT_EQ(weirctl({"connections", "list", "--limit", "2"}), 0);
  EXPECT_EQ(out_.str(),
            "SERVICE  PROTOCOL  SOURCE          DESTINATION  BACKEND    STATE        IDLE\n"
            "web      TCP       10.1.0.7:40000  10.9.9.9:80  10.2.0.11  established  1 min 15 s\n"
            "dns      *         fd00::7         *            fd00::11   new          3 s\n");
  EXPECT_THAT(err_.str(), HasSubstr("there are more"));
}

TEST_F(Operations, ExplainSaysWhatItAssumed) {
  manager_.say("GET /v1/forwardingRules", 200,
               R"({"items":[{"name":"vip","IPAddress":"10.9.9.9","ports":[443,80]}]})");
  manager_.say("POST /v1/explain", 200, R"({"action":"pass","connection":"none"})");
  EXPECT_EQ(weirctl({"explain", "--src", "10.1.0.7", "--dst", "10.9.9.9"}), 0);
  EXPECT_EQ(manager_.last().json(),
            Json::parse(R"({"src":"10.1.0.7","dst":"10.9.9.9","proto":"TCP","dport":443,
                            "sport":40000})"));
  EXPECT_THAT(out_.str(),
              HasSubstr("Packet     TCP 10.1.0.7:40000 -> 10.9.9.9:443\n"
                        "Assumed    --dport 443, the first port of a forwarding rule of this "
                        "address\n"
                        "Assumed    --sport 40000\n"
                        "Assumed    no TCP flags"));
  EXPECT_EQ(weirctl({"explain", "--src", "10.1.0.7", "--dst", "10.9.9.8", "--proto=udp",
                     "--sport=5", "--format=json"}),
            0);
  EXPECT_EQ(Json::parse(out_.str())["assumed"], Json::array({"--dport 80"}));
}

TEST_F(Operations, ExplainKnowsTheProtocolsWithPortsByNumberToo) {
  manager_.say("POST /v1/explain", 200, R"({"action":"pass"})");
  for (const auto& [number, name] : {std::pair("6", "TCP"), std::pair("17", "UDP")}) {
    EXPECT_EQ(weirctl({"explain", "--src", "10.1.0.7", "--dst", "10.9.9.9", "--proto", number}), 0);
    EXPECT_EQ(manager_.last().json()["proto"], name);
    EXPECT_THAT(out_.str(), HasSubstr("Assumed    --dport 80\n"));
  }
}

TEST_F(Operations, ExplainAssumesNothingThatDoesNotMatter) {
  manager_.say("POST /v1/explain", 200, R"({"action":"pass"})");
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--proto=ICMP"},
           {"--proto=132"},
           {"--proto=UDP", "--fragment=later"},
           {"--sport=1", "--dport=2", "--flags=SYN"},
           {"--quoted=src=10.9.9.9,dst=10.1.0.7,proto=TCP,sport=80,dport=40000"}}) {
    std::vector<std::string> line{"explain", "--src", "10.1.0.7", "--dst", "10.9.9.9"};
    line.insert(line.end(), more.begin(), more.end());
    EXPECT_EQ(weirctl(line), 0);
    EXPECT_THAT(out_.str(), testing::Not(HasSubstr("Assumed")));
  }
  EXPECT_EQ(manager_.asked().size(), 5u);
  const Json packet = manager_.last().json();
  EXPECT_EQ(packet["proto"], "ICMP");
  EXPECT_EQ(packet["inner"]["dport"], 40000);
  EXPECT_EQ(manager_.asked()[1].json()["proto"], 132);
}

TEST_F(Operations, ExplainSaysWhereAConnectionToAProxyGoes) {
  manager_.say("POST /v1/explain", 200, R"({"action":"proxy","rule":"S3","forwardingRule":"tls",
    "targetProxy":"names","needsServerName":true,"serverName":"a.example","route":"routes",
    "service":"shop","idleTimeoutSec":3600,"localityLbPolicy":"ROUND_ROBIN",
    "sessionAffinity":"NONE","group":"a","endpoint":"10.2.0.11:443","address":"10.2.0.11",
    "port":443,"groups":[{"group":"a","connections":3,"load":3.0,"usable":100.0,"fill":0.03}]})");
  EXPECT_EQ(weirctl({"explain", "--src", "10.1.0.7", "--dst", "10.9.9.9", "--dport=443", "--sni",
                     "a.example", "--alpn", "h2,http/1.1"}),
            0);
  EXPECT_EQ(manager_.last().json()["sni"], "a.example");
  EXPECT_EQ(manager_.last().json()["alpn"], Json::array({"h2", "http/1.1"}));
  EXPECT_EQ(
      out_.str(),
      "Connection 10.1.0.7:40000 -> 10.9.9.9:443, server name a.example, protocols h2, "
      "http/1.1\n"
      "Assumed    --sport 40000\n"
      "Result     to backend 10.2.0.11:443 of group a\n"
      "           rule S3: the least filled group of the nearest stage that is not full\n"
      "Matched    forwarding rule tls, target proxy names, TLS route routes, leads to backend "
      "service shop\n"
      "Idle       closed after 1 h 0 min without a byte\n"
      "Policy     localityLbPolicy ROUND_ROBIN, sessionAffinity NONE\n"
      "Groups     a: 3 open, load 3 of 100 that can be used (3%)\n");
}

TEST_F(Operations, ExplainSaysWhyAProxyClosesAConnection) {
  manager_.say("POST /v1/explain", 200, R"({"action":"close","rule":"X6.2","forwardingRule":"tls",
    "targetProxy":"names","needsServerName":true,"reason":"tls_protocol_error",
    "detail":"sni_missing"})");
  EXPECT_EQ(weirctl({"explain", "--src", "10.1.0.7", "--dst", "10.9.9.9", "--dport=443"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Result     closed: tls_protocol_error, sni_missing\n"
                                    "           rule X6.2: "));
  EXPECT_THAT(out_.str(), HasSubstr("--sni NAME says one"));
}

std::string statusWithFallback(const std::string& fallback) {
  return R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,"generation":7,
    "configuration":"applied"},"dataPlanes":[],"services":[],"fallback":)" +
         fallback + "}";
}

TEST_F(Operations, StatusSaysWhenTheKernelTakesOverFromAnAbsentEngine) {
  manager_.say("GET /v1/status", 200,
               statusWithFallback(R"({"open":false,"openings":0,"opensInSec":7})"));
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("no packet is forwarded by weir, but by the kernel in 7 s\n"));
}

TEST_F(Operations, StatusSaysThatTheKernelHasTakenOver) {
  manager_.say("GET /v1/status", 200,
               statusWithFallback(R"({"open":true,"openings":1,"sinceSec":75})"));
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("fallback since 1 min 15 s: the kernel spreads packets\n"));
}

TEST_F(Operations, StatusOnOneScreen) {
  manager_.say("GET /v1/status", 200, R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,
    "generation":7,"configuration":"applied"},"dataPlanes":[],"services":[{"name":"web",
    "healthy":2,"total":3,"draining":1,"eligible":2,"rule":"P2.1","lastResort":false}],
    "engineError":"weir-engine is not connected","kernel":{"reconciliations":4,"repairs":2,
    "errors":0,"warnings":["route back: destRange is the host's own subnet"],
    "changes":[{"agoSec":12,"kind":"restored","what":"5 IPv4 routing rules"}]}})");
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_EQ(
      out_.str(),
      "PROGRAM       STATE    PID  VERSION  UP          GENERATION  NOTE\n"
      "weir-manager  running    1  0.1.0    1 min 15 s           7  configuration applied\n"
      "weir-engine   absent     -  -        -                    -  no packet is forwarded by "
      "weir\n"
      "\n"
      "SERVICE  HEALTHY  DRAINING  ELIGIBLE  RULE  NEW  KNOWN  DROPPED  OPEN\n"
      "web      2/3             1         2  P2.1  -    -      -        -\n"
      "\n"
      "No counters: weir-engine is not connected\n"
      "Kernel       2 repaired\n"
      "             restored 12 s ago: 5 IPv4 routing rules\n"
      "Warning      route back: destRange is the host's own subnet\n");
}

TEST_F(Operations, StatusShowsWhatTheDataPlanesWarnOf) {
  manager_.say("GET /v1/status", 200, R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,
    "generation":7,"configuration":"applied"},
    "dataPlanes":[{"program":"weir-engine","pid":2,"version":"0.1.0","uptimeSec":3600,
    "connectedSec":1,"appliedGeneration":7,"warnings":["it would wait"]}],"services":[]})");
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Warning      weir-engine: it would wait\n"));
}

TEST_F(Operations, StatusShowsAProxyThatIsAbsent) {
  manager_.say("GET /v1/status", 200, R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,
    "generation":7,"configuration":"applied"},"absentPrograms":["weir-proxy"],
    "dataPlanes":[{"program":"weir-engine","pid":2,"version":"0.1.0","uptimeSec":3600,
    "connectedSec":1,"appliedGeneration":7}],"services":[],
    "proxyError":"weir-proxy is not connected; is it running?"})");
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(
      out_.str(),
      testing::StartsWith(
          "PROGRAM       STATE      PID  VERSION  UP          GENERATION  NOTE\n"
          "weir-manager  running      1  0.1.0    1 min 15 s           7  configuration applied\n"
          "weir-engine   connected    2  0.1.0    1 h 0 min            7  -\n"
          "weir-proxy    absent       -  -        -                    -  while it does not run, "
          "proxy services take no connection\n"));
  EXPECT_THAT(out_.str(), HasSubstr("No counters: weir-proxy is not connected"));
}

TEST_F(Operations, StatusShowsWhatTheProxyCarriesAndWhereItCannotListen) {
  manager_.say("GET /v1/status", 200, R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,
    "generation":7,"configuration":"applied"},"dataPlanes":[{"program":"weir-proxy","pid":3,
    "version":"0.1.0","uptimeSec":60,"connectedSec":1,"appliedGeneration":7}],
    "services":[{"name":"shop","healthy":2,"total":3,"draining":0,"eligible":2,"rule":"S3"}],
    "proxy":{"pid":3,"totals":{"open":7,"accepted":120},"services":[{"service":"shop","open":7}],
    "fronts":{"open":1,"failing":[{"address":"fd09::9","port":443,
    "reason":"Address already in use"}]}}})");
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("  cannot listen at 1 of its addresses\n"));
  EXPECT_THAT(out_.str(),
              HasSubstr("shop     2/3             0         2  S3    -    -      -       "
                        "    7\n"));
  EXPECT_THAT(out_.str(),
              HasSubstr("Proxy        7 connections open, 120 accepted\n"
                        "Warning      weir-proxy cannot listen at [fd09::9]:443: Address already "
                        "in use\n"));
}

TEST_F(Operations, AReasonForARefusalHasALineOfItsOwn) {
  manager_.say("GET /v1/status", 200, R"({"manager":{"pid":1,"version":"0.1.0","uptimeSec":75,
    "generation":7,"configuration":"refused: conf.d is missing, and so on","warnings":["it is"]},
    "dataPlanes":[],"services":[]})");
  EXPECT_EQ(weirctl({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("  configuration refused\n"));
  EXPECT_THAT(out_.str(), HasSubstr("Reload       refused: conf.d is missing, and so on\n"
                                    "Warning      it is\n"));
}

}  // namespace
}  // namespace weir::cli
