// SPDX-License-Identifier: GPL-2.0-or-later
//
// `weirctl simulate` as its users see it (C3): lines, differences, messages.
#include "cli/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/temporary_directory.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Outcome {
  int status = 0;
  std::string out, err;
};

class Simulate : public ::testing::Test {
 protected:
  Outcome run(const std::string& text, bool check = false) {
    const std::string file = directory_.path() / "s.yaml";
    std::ofstream(file) << text;
    std::ostringstream out, err;
    const std::vector<std::string> files{file};
    const int status = runSimulate(files, check, out, err);
    return {status, out.str(), err.str()};
  }
  // The scenario of kResources with these events.
  Outcome events(const std::string& lines) { return run(std::string(kResources) + lines); }
  // "LINE:COLUMN: error: MESSAGE" of an invalid scenario's only or first message.
  std::string refusal(const std::string& lines) {
    const Outcome outcome = events(lines);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, IsEmpty()) << "nothing of an invalid scenario is printed";
    const std::string prefix = (directory_.path() / "s.yaml").string() + ":";
    EXPECT_THAT(outcome.err, StartsWith(prefix));
    return outcome.err.substr(prefix.size(), outcome.err.find('\n') - prefix.size());
  }

  static constexpr const char* kResources =
      "node: {location: {region: r, zone: za}}\n"
      "resources:\n"
      "  networkEndpointGroups: [{name: g, zone: za, endpoints: [{ipAddress: 10.2.0.1}]}]\n"
      "  backendServices: [{name: web, loadBalancingScheme: INTERNAL, protocol: TCP, backends: "
      "[{group: g}]}]\n"
      "  forwardingRules: [{name: vip, loadBalancingScheme: INTERNAL, IPAddress: 10.9.9.9, "
      "IPProtocol: TCP, ports: [80], backendService: web}]\n"
      "  routes: [{name: way, destRange: 203.0.113.0/24, nextHopIlb: vip}]\n"
      "events:\n";  // line 7

 private:
  test::TemporaryDirectory directory_;
};

constexpr const char* kSyn =
    "  - {at: 1.5, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: TCP, sport: 1, dport: 80, flags: "
    "[SYN]}}\n";
constexpr const char* kSynLine =
    R"({"event":0,"at":1.5,"action":"forward","service":"web","forwardingRule":"vip","group":"g",)"
    R"("endpoint":"10.2.0.1","connection":"new","rule":"P2.1"})"
    "\n";

TEST_F(Simulate, C3_LinesOfPackets) {
  const Outcome outcome = events(
      std::string(kSyn) +
      "  - {at: 2, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: TCP, sport: 1, dport: 80}}\n"
      "  - {at: 2, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: UDP, sport: 1, dport: 80}}\n"
      "  - {at: 2, packet: {src: 10.1.0.1, dst: 203.0.113.1, proto: ESP}}\n"
      "  - {at: 2, packet: {src: 192.0.2.1, dst: 10.9.9.9, proto: ICMP, type: 3, code: 4, inner: "
      "{src: 10.9.9.9, dst: 10.1.0.1, proto: TCP, sport: 80, dport: 1}}}\n"
      "  - {at: 3, remove: {group: g, endpoint: 10.2.0.1}}\n"
      "  - {at: 3, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: TCP, sport: 1, dport: 80}}\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(
      outcome.out,
      std::string(kSynLine) +
          R"({"event":1,"at":2,"action":"forward","service":"web","forwardingRule":"vip","group":"g","endpoint":"10.2.0.1","connection":"known"})"
          "\n"
          R"({"event":2,"at":2,"action":"pass"})"
          "\n"
          R"({"event":3,"at":2,"action":"forward","service":"web","forwardingRule":"vip","route":"way","group":"g","endpoint":"10.2.0.1","connection":"new","rule":"P2.1"})"
          "\n"
          R"({"event":4,"at":2,"action":"forward","service":"web","forwardingRule":"vip","group":"g","endpoint":"10.2.0.1","connection":"related"})"
          "\n"
          R"({"event":6,"at":3,"action":"drop","service":"web","forwardingRule":"vip","rule":"P2.2","reason":"no_eligible_backend"})"
          "\n");
}

TEST_F(Simulate, C3_EveryWayToWriteYamlReadsAlike) {
  // JSON; block style; an anchor, which only the full parser knows.
  EXPECT_EQ(
      run(R"({"resources": {"networkEndpointGroups": [{"name": "g", "zone": "za", "endpoints": [{"ipAddress": "10.2.0.1"}]}], "backendServices": [{"name": "web", "loadBalancingScheme": "INTERNAL", "protocol": "TCP", "backends": [{"group": "g"}]}], "forwardingRules": [{"name": "vip", "loadBalancingScheme": "INTERNAL", "IPAddress": "10.9.9.9", "IPProtocol": "TCP", "ports": ["80"], "backendService": "web"}]}, "events": [{"at": 1.5, "packet": {"src": "10.1.0.1", "dst": "10.9.9.9", "proto": "TCP", "sport": 1, "dport": 80, "flags": ["SYN"]}}]})")
          .out,
      kSynLine);
  EXPECT_EQ(events("- at: 1.50\n"
                   "  packet:\n"
                   "    src: 10.1.0.1\n"
                   "    dst: 10.9.9.9\n"
                   "    proto: TCP  # a comment\n"
                   "    sport: 1\n"
                   "    dport: 80\n"
                   "    flags:\n"
                   "    - SYN\n")
                .out,
            kSynLine);
  EXPECT_EQ(
      events("  - {at: 1.5, packet: &syn {src: 10.1.0.1, dst: 10.9.9.9, proto: TCP, sport: 1, "
             "dport: 80, flags: [SYN]}}\n"
             "  - {at: 9, packet: *syn}\n")
          .out,
      std::string(kSynLine) +
          R"({"event":1,"at":9,"action":"forward","service":"web","forwardingRule":"vip","group":"g","endpoint":"10.2.0.1","connection":"new","rule":"P2.1"})"
          "\n");
}

TEST_F(Simulate, C3_CheckPrintsOnlyWhatDiffers) {
  const std::string good = std::string(kResources) + kSyn + "expect:\n  - {event: 0, rule: P2.1}\n";
  const Outcome same = run(good, true);
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.out + same.err, "");

  const Outcome differs =
      run(good +
              "  - {event: 0, endpoint: 10.2.0.2, connection: known, reason: none, at: 2}\n"
              "  - {event: 0, in: [10.2.0.3, 10.2.0.4], sameAs: 0, differsFrom: 0}\n",
          true);
  EXPECT_EQ(differs.status, 1);
  EXPECT_EQ(differs.err, "");
  for (const char* expected :
       {"s.yaml:11:5: event 0: at is 1.5, expected 2\n",
        "s.yaml:11:5: event 0: endpoint is 10.2.0.1, expected 10.2.0.2\n",
        "s.yaml:11:5: event 0: connection is new, expected known\n",
        "s.yaml:11:5: event 0: there is no reason, expected none\n",
        "s.yaml:12:5: event 0: endpoint is 10.2.0.1, expected one of 10.2.0.3, 10.2.0.4\n",
        "s.yaml:12:5: event 0: endpoint is 10.2.0.1, expected another than that of event 0 "
        "(10.2.0.1)\n"})
    EXPECT_THAT(differs.out, HasSubstr(expected));
  EXPECT_THAT(differs.out, ::testing::Not(HasSubstr("expected that of")));
}

TEST_F(Simulate, C3_MissingEndpointsAreNeverTheSame) {
  const std::string text = std::string(kResources) +
                           "  - {at: 0, packet: {src: 10.1.0.1, dst: 10.8.8.8, proto: ESP}}\n"
                           "  - {at: 0, packet: {src: 10.1.0.1, dst: 10.8.8.8, proto: ESP}}\n"
                           "expect:\n  - {event: 0, sameAs: 1}\n";
  const Outcome outcome = run(text, true);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("there is no endpoint, expected that of event 1 (which has none)"));
}

TEST_F(Simulate, C3_MistakesInEventsHaveTheirPlace) {
  for (
      const auto& [lines, message] : std::vector<std::pair<std::string, std::string>>{
          {"  - {at: 5, health: {10.2.0.1: HEALTHY}}\n  - {at: 4.5, health: {10.2.0.1: HEALTHY}}\n",
           "9:10: error: time runs backwards: 4.5 after 5"},
          {"  - {health: {10.2.0.1: HEALTHY}}\n",
           "8:5: error: an event needs the key 'at', its time in seconds"},
          {"  - {at: 1}\n",
           "8:5: error: an event needs a key that says what happens, such as 'packet'"},
          {"  - {at: 1, health: {10.2.0.1: HEALTHY}, weight: {10.2.0.1: 1}}\n",
           "8:42: error: an event is one thing: it has the key 'health' already"},
          {"  - {at: 1e3, health: {10.2.0.1: HEALTHY}}\n",
           "8:10: error: at must be a number from 0 to 1000000000, not '1e3'"},
          {"  - {at: 1, pakcet: {}}\n",
           "8:13: error: unknown key 'pakcet' in an event (did you mean 'packet'?); allowed are "},
          {"  - {at: 1, close: c1}\n", "8:20: error: no connection 'c1' is open at this time"},
          {"  - {at: 1, load: {service: web, connections: 5}}\n",
           "8:29: error: backend service 'web' is a passthrough service"},
          {"  - {at: 1, load: {service: wob, connections: 5}}\n",
           "8:29: error: there is no backend service 'wob' at this time"},
          {"  - {at: 1, load: {service: web, connections: -1}}\n",
           "8:47: error: connections must be a number from 0 to "},
          {"  - {at: 1, connection: {id: a}}\n", "8:25: error: a connection needs the key 'src'"},
          {"  - {at: 1, connection: {id: a, src: 10.1.0.1, dst: fd00::1, sport: 1, dport: 80}}\n",
           "8:25: error: src and dst must be addresses of the same family"},
          {"  - {at: 1, connection: {id: a, src: 10.1.0.1, dst: 10.9.9.9, sport: 1, dport: 80}}\n"
           "  - {at: 1, connection: {id: a, src: 10.1.0.1, dst: 10.9.9.9, sport: 2, dport: 80}}\n",
           "9:30: error: connection 'a' is open already, since event 0"},
          {"  - {at: 1, health: {10.2.0.1: DRAINING}}\n", "8:32: error: "},
          {"  - {at: 1, health: {10.2.0.9: HEALTHY}}\n",
           "8:22: error: no network endpoint group holds 10.2.0.9"},
          {"  - {at: 1, health: {h/10.2.0.1: HEALTHY}}\n",
           "8:22: error: network endpoint group 'h' does not hold 10.2.0.1"},
          {"  - {at: 1, health: {10.2.0: HEALTHY}}\n", "8:22: error: '10.2.0' is not an endpoint"},
          {"  - {at: 1, weight: {10.2.0.1: 1001}}\n",
           "8:32: error: weight must be a whole number from 0 to 1000, missing, invalid or "
           "unavailable, not '1001'"},
          {"  - {at: 1, utilization: {10.2.0.1: 1.5}}\n",
           "8:37: error: utilization must be a number from 0 to 1, not '1.5'"},
          {"  - {at: 1, remove: {group: g}}\n", "8:21: error: the key 'endpoint' is missing"},
          {"  - {at: 1, remove: {group: g, endpoint: 10.2.0.2}}\n",
           "8:42: error: network endpoint group 'g' does not hold 10.2.0.2 at this time"},
          {"  - {at: 1, add: {group: gg, endpoint: {ipAddress: 10.2.0.2}}}\n",
           "8:26: error: there is no network endpoint group 'gg' at this time"},
          {"  - {at: 1, add: {group: g, endpoint: {ipAddres: 10.2.0.2}}}\n",
           "8:40: error: unknown"},
          {"  - {at: 1, apply: {backendServices: [{name: web, loadBalancingScheme: INTERNAL, "
           "protocol: TCP, backends: [{group: nowhere}]}]}}\n",
           "8:"},
          {"  - {at: 1, apply: {backendService: []}}\n", "8:21: error: unknown key"},
          {"  - {at: 1, delete: {routes: [way, no-way]}}\n",
           "8:36: error: there is no 'no-way' in routes at this time"},
          {"  - {at: 1, delete: {forwardingRules: [vip]}}\n", "8:40: error: "},
          {"  - {at: 1, delete: {route: [way]}}\n",
           "8:22: error: unknown collection 'route' (did you mean 'routes'?)"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: TCP, sport: 1}}\n",
           "8:21: error: a TCP or UDP packet needs sport and dport, unless it is a later fragment"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: fd00::1, proto: ESP}}\n",
           "8:21: error: src and dst must be addresses of the same family"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: 0}}\n",
           "8:59: error: proto must be TCP, UDP, ICMP, ICMPv6, SCTP, ESP, AH, GRE or a number from "
           "1 to 255, not '0'"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: ESP, flags: [SYN]}}\n",
           "8:64: error: flags are for TCP packets"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: ICMP, type: 8, inner: {src: "
           "10.9.9.9, dst: 10.1.0.1, proto: ESP}}}\n",
           "8:74: error: inner is for ICMP errors"},
          {"  - {at: 1, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: ESP, size: 3}}\n",
           "8:64: error: unknown key 'size' in a packet"},
          {"  - {at: 1, at: 2, packet: {src: 10.1.0.1, dst: 10.9.9.9, proto: ESP}}\n",
           "8:13: error: duplicate key 'at'"},
          {"  - {at: 1, packet: {src: 10.1.0.1}\n", "8:5: error: "}}) {
    EXPECT_THAT(refusal(lines), StartsWith(message)) << lines;
  }
}

TEST_F(Simulate, C3_MistakesInExpectations) {
  const auto expecting = [&](const std::string& expect) {
    return refusal("  - {at: 0, health: {10.2.0.1: HEALTHY}}\n" + std::string(kSyn) + "expect:\n" +
                   expect);
  };
  EXPECT_THAT(expecting("  - {event: 0}\n"),
              StartsWith("11:5: error: event names event 0, which prints no line"));
  EXPECT_THAT(expecting("  - {event: 1, sameAs: 7}\n"),
              StartsWith("11:5: error: sameAs names event 7, but there are 2 events, counted from "
                         "0"));
  EXPECT_THAT(expecting("  - {event: 1, endpiont: 10.2.0.1}\n"),
              StartsWith("11:16: error: unknown key 'endpiont'"));
  EXPECT_THAT(expecting("  - {rule: P2.1}\n"),
              StartsWith("11:5: error: an expectation needs the key 'event'"));
  EXPECT_THAT(expecting("  - {event: 1, approx: {a: x}}\n"),
              StartsWith("11:28: error: each of approx must be a number from 0 to "));
  EXPECT_THAT(expecting("  - {event: 1, groups: {a: {fil: 1}}}\n"),
              StartsWith("11:29: error: unknown key 'fil' in a group of a load"));
  EXPECT_THAT(expecting("  - {event: 1, in: []}\n"),
              StartsWith("11:20: error: in needs at least one endpoint"));
  EXPECT_THAT(expecting("  - {event: 1, action: prox}\n"),
              StartsWith("11:24: error: action must be forward, drop, pass, proxy or close, not "
                         "'prox'"));
}

TEST_F(Simulate, C3_MistakesInTheDocument) {
  EXPECT_THAT(run("events: 5\n").err, HasSubstr(":1:9: error: events must be a list, not '5'"));
  EXPECT_THAT(run("- a\n").err, HasSubstr(":1:1: error: a scenario is one YAML document"));
  EXPECT_THAT(run("events: []\n---\nevents: []\n").err,
              HasSubstr("a scenario is one YAML document"));
  EXPECT_THAT(run("event: []\n").err,
              HasSubstr(":1:1: error: unknown key 'event' (did you mean 'events'?)"));
  EXPECT_THAT(run("resources: {routes: [{name: a}]}\n").err, HasSubstr(":1:22: error: "));
  EXPECT_EQ(run("events:\n").status, 0);
  EXPECT_EQ(run("{}\n").status, 0);
}

TEST_F(Simulate, C3_ControlPlaneRefusalsHaveAPlace) {
  const Outcome outcome =
      run("node: {fwmarkMask: 0x3}\n"
          "resources:\n"
          "  networkEndpointGroups: [{name: g, zone: za, endpoints: [{ipAddress: 10.2.0.1}, "
          "{ipAddress: "
          "10.2.0.2}, {ipAddress: 10.2.0.3}]}]\n"
          "  backendServices: [{name: web, loadBalancingScheme: INTERNAL, protocol: TCP, backends: "
          "[{group: g}]}]\n"
          "events:\n"
          "  - {at: 0, add: {group: g, endpoint: {ipAddress: 10.2.0.4}}}\n");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("s.yaml:6:5: error: fwmarkMask 0x00000003 has room for 3"));
}

TEST_F(Simulate, FilesThatCannotBeReadAreNamed) {
  std::ostringstream out, err;
  const std::vector<std::string> files{"/nowhere/at-all.yaml"};
  EXPECT_EQ(runSimulate(files, false, out, err), 1);
  EXPECT_EQ(err.str(), "/nowhere/at-all.yaml: cannot be read: No such file or directory\n");
}

TEST_F(Simulate, C3_IPv6AndEndpointSpellings) {
  const Outcome outcome = run(
      "resources:\n"
      "  networkEndpointGroups: [{name: g, zone: za, endpoints: [{ipv6Address: \"fd00::1\"}, "
      "{ipv6Address: \"fd00::2\"}]}]\n"
      "  healthChecks: [{name: hc, type: TCP, tcpHealthCheck: {port: 80}}]\n"
      "  backendServices: [{name: web, loadBalancingScheme: INTERNAL, protocol: UDP, healthChecks: "
      "[hc], backends: [{group: g}]}]\n"
      "  forwardingRules: [{name: vip, loadBalancingScheme: INTERNAL, IPAddress: \"fd00::9\", "
      "IPProtocol: UDP, allPorts: true, backendService: web}]\n"
      "events:\n"
      "  - {at: 0, health: {\"fd00:0:0::2\": UNHEALTHY}}\n"
      "  - {at: 0, packet: {src: \"fd00::7\", dst: \"fd00::9\", proto: UDP, fragment: later}}\n"
      "  - {at: 0, health: {g/fd00::1: UNHEALTHY, \"fd00::2\": HEALTHY}}\n"
      "  - {at: 0, packet: {src: \"fd00::8\", dst: \"fd00::9\", proto: ICMPv6, type: 2, inner: "
      "{src: "
      "\"fd00::9\", dst: \"fd00::7\", proto: UDP, fragment: later}}}\n"
      "expect:\n"
      "  - {event: 1, endpoint: \"fd00:0::1\"}\n"
      "  - {event: 3, connection: related, endpoint: \"fd00::2\", rule: P2.1}\n",
      true);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(outcome.status, 0);
}

}  // namespace
}  // namespace weir::cli
