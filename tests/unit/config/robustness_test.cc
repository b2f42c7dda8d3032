// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whatever is in the files: no crash, no hang, and a message instead.
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "fixture.h"

namespace weir::config::test {
namespace {

// A configuration with something of everything.
const std::string kBig = R"(# a configuration
location: {region: r1, zone: "za"}
zones:
  - name: za
    region: r1
    clientRanges: [10.1.0.0/16, 'fd00::/8']
proximity: {za: 0.5}
fwmarkMask: 0xffff0000
metrics:
  address: "127.0.0.1:9147"
healthChecks:
  - {name: hc, type: HTTP, httpHealthCheck: {port: '80', requestPath: "/\u00e9"}}
  - name: tcp
    tcpHealthCheck:
      request: >-
        folded
        text
      response: |
        literal
networkEndpointGroups:
- name: g
  zone: za
  endpoints: &members
  - ipAddress: 10.2.0.1
    weight: 5
  - {ipAddress: 10.2.0.2, instance: é}
- {name: h, endpoints: *members}
backendServices: [{name: s, protocol: TCP, healthChecks: [hc],
    backends: [{group: g}, {group: h, failover: true}],
    connectionTrackingPolicy: {idleTimeoutSec: 600}}]
---
forwardingRules:
  - {"name": "r", "IPAddress": "10.9.9.9", "ports": [80, 443], "backendService": "s"}
...
---
kind: compute#route
name: x
destRange: 10.0.0.0/8
nextHopIlb: 10.9.9.9
)";

// Errors must be in the text they are about.
void expectSaneDiagnostics(const Loaded& loaded, const std::string& text) {
  const auto lines = static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const auto& d : loaded.diagnostics) {
    EXPECT_LE(d.line, lines);
    EXPECT_FALSE(d.message.empty());
    EXPECT_EQ(d.message.find_first_of("\n\r\x1b"), std::string::npos) << d.message;
    EXPECT_FALSE(d.toString().empty());
  }
  EXPECT_LE(loaded.diagnostics.size(), kMaxDiagnostics);
}

TEST(Robustness, EveryPrefixOfAFile) {
  for (std::size_t n = 0; n <= kBig.size(); ++n) {
    const std::string text = kBig.substr(0, n);
    expectSaneDiagnostics(loadText(text), text);
  }
}

TEST(Robustness, EveryByteLeftOut) {
  for (std::size_t n = 0; n < kBig.size(); ++n) {
    std::string text = kBig;
    text.erase(n, 1);
    expectSaneDiagnostics(loadText(text), text);
  }
}

TEST(Robustness, RandomMutations) {
  std::mt19937 random(20240501);
  const std::string alphabet = "[]{}:,-?&*!|>'\"%@`#\\ \n\t~.0aé<\xff\x01";
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 6000; ++round) {
    std::string text = kBig;
    const std::size_t mutations = 1 + below(8);
    for (std::size_t i = 0; i < mutations && !text.empty(); ++i) {
      const std::size_t at = below(text.size());
      const std::size_t length = below(20);
      switch (below(4)) {
        case 0:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 1:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 2:
          text.erase(at, length);
          break;
        default:  // 3
          text.insert(below(text.size()), text.substr(at, length));
          break;
      }
    }
    expectSaneDiagnostics(loadText(text), text);
  }
}

// A text that must be refused quickly.
void expectRefused(const std::string& text, const std::string& fragment) {
  const auto start = std::chrono::steady_clock::now();
  const Loaded loaded = loadText(text);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(loaded.ok());
  EXPECT_THAT(all(errors(loaded)).substr(0, 2000), testing::HasSubstr(fragment));
  EXPECT_LT(took, std::chrono::seconds(60));
}

std::string repeat(const std::string& what, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += what;
  return out;
}

TEST(Robustness, DeepNesting) {
  expectRefused(repeat("[", 100'000), "deeper than 100");
  expectRefused(repeat("{a: ", 100'000), "deeper than 100");
  expectRefused(repeat("[", 9'000), "deeper than 100");
  expectRefused(repeat("- ", 100'000), "deeper than 100");
  expectRefused(repeat("? ", 100'000), "deeper than 100");
  expectRefused("routes: " + repeat("[", 8'000'000), "deeper than 100");
  std::string indented;
  for (std::size_t i = 0; i < 2000; ++i) indented += std::string(i, ' ') + "a:\n";
  expectRefused(indented, "deeper than 100");
}

TEST(Robustness, AliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i)
    bomb += fmt::format("a{0}: &a{0} [{1}]\n", i,
                        "*a" + std::to_string(i - 1) + repeat(", *a" + std::to_string(i - 1), 9));
  expectRefused(bomb, "more than 1000000 values");
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i) deep += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  expectRefused(deep, "deeper than 100");
  // Below the limits, but everything that is expanded is wrong: the messages are bounded.
  std::string wrong;
  for (int i = 0; i < 900; ++i) wrong += fmt::format("k{}: 1, ", i);
  expectRefused("healthChecks: [&x {" + wrong + "name: hc}" + repeat(", *x", 1000) + "]\n",
                "rest is not shown");
}

TEST(Robustness, LargeTexts) {
  expectRefused(std::string(kMaxFileBytes + 1, '#'), "larger than 8 MiB");
  expectRefused("routes: " + std::string(8'000'000, 'x'), "must be a list");
  expectRefused("routes: \"" + std::string(8'000'000, 'x'), "never closed");
  expectRefused(repeat("- a\n", 1'900'000), "more than 1000000 values");
  expectRefused(repeat("[[1],", 1'500'000), "deeper than 100");
  expectRefused(repeat("a: 1\n", 300'000), "rest is not shown");
  expectRefused("{" + repeat("\xc3\xa9: 1, ", 500'000) + "}", "rest is not shown");
  expectRefused(repeat("&a ", 1'000'000), "not valid YAML");
  expectRefused(repeat("--- a\n", 1'000'000), "rest is not shown");
}

// Near names are looked for, but not for ever.
TEST(Robustness, ManyReferencesToNothing) {
  std::string text = "networkEndpointGroups:\n";
  for (int i = 0; i < 4000; ++i) text += fmt::format("- name: production-group-{:05}\n", i);
  text += "backendServices:\n";
  for (int i = 0; i < 4000; ++i)
    text += fmt::format("- {{name: s{}, backends: [{{group: productoin-group-{:05}x}}]}}\n", i, i);
  expectRefused(text, "did you mean 'production-group-0");
}

TEST(Robustness, C1_TenThousandEndpointsLoadWithinASecond) {
  std::string text = "healthChecks: [{name: hc}]\n";
  std::string groups = "networkEndpointGroups:\n", services = "backendServices:\n",
              rules = "forwardingRules:\n";
  for (int s = 0; s < 200; ++s) {
    groups += fmt::format("  - name: g{}\n    zone: za\n    endpoints:\n", s);
    for (int e = 0; e < 50; ++e)
      groups += fmt::format("      - ipAddress: 10.1.{}.{}\n        instance: vm-{}-{}\n", s, e + 1,
                            s, e);
    services +=
        fmt::format("  - name: s{0}\n    healthChecks: [hc]\n    backends: [{{group: g{0}}}]\n", s);
    rules += fmt::format(
        "  - {{name: r{0}, IPAddress: 10.9.0.{0}, ports: [80], backendService: s{0}}}\n", s);
  }
  text += groups + services + rules;
  text.replace(text.find("10.9.0.0,"), 9, "10.9.1.0,");
  const auto start = std::chrono::steady_clock::now();
  const Loaded loaded = loadText(text);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(loaded.ok()) << all(loaded.diagnostics);
  EXPECT_EQ(loaded.configuration.services.size(), 200u);
  RecordProperty("seconds", fmt::format("{:.3f}", took.count()));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(took.count(), 1.0);
#endif
}

}  // namespace
}  // namespace weir::config::test
