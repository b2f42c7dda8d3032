// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/proxy_explanation.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/words.h"

namespace weir::cli {

namespace {

// Rules of X and S that chose or closed, for somebody who has not read them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kWords{{
    {"X1.4", "no forwarding rule of a proxy has this address and port"},
    {"X6.2",
     "a target proxy with TLS routes needs a server name that is a DNS name and that a route has"},
    {"X3.1", "the only backends are DNS names that have not been resolved"},
    {"X3.2", "no backend is healthy, and a proxy has no last resort"},
    {"X3.3", "every backend was tried"},
    {"X4", "ORIGINAL_DESTINATION: the backend whose address the client goes to"},
    {"X4.1", "the client had this backend last, and it is healthy and not full"},
    {"X4.4", "the service has as many connections as its circuit breaker allows"},
    {"S3", "the least filled group of the nearest stage that is not full"},
    {"S3.2", "all groups are full: they are overfilled in proportion"},
    {"S3.3", "backends are healthy, but no group has capacity"},
    {"S3.4", "preferred groups come first"},
    {"S5", "backends are healthy, but isolation keeps clients from them"},
}};

std::string wordsFor(std::string_view rule) {
  for (const auto& [number, words] : kWords)
    if (number == rule) return fmt::format("rule {}: {}", rule, words);
  return rule.empty() ? std::string() : fmt::format("rule {}", rule);
}

std::string connectionText(const Json& answer) {
  const Json& packet = answer["packet"];
  std::string text =
      fmt::format("{} -> {}", sideOf(packet, "src", "sport"), sideOf(packet, "dst", "dport"));
  if (packet.contains("sni")) text += ", server name " + packet.value("sni", "");
  if (packet.contains("alpn")) {
    std::string protocols;
    for (const Json& protocol : packet["alpn"])
      protocols += (protocols.empty() ? "" : ", ") + protocol.get<std::string>();
    text += ", protocols " + protocols;
  }
  return text;
}

std::string resultText(const Json& answer) {
  if (answer.value("action", "") == "close")
    return fmt::format("closed: {}, {}", answer.value("reason", ""), answer.value("detail", ""));
  const std::string address = withPort(answer.value("address", ""), answer.value("port", 0u));
  const std::string endpoint = answer.value("endpoint", "");
  return fmt::format("to backend {} of group {}{}", endpoint, answer.value("group", ""),
                     address == endpoint ? "" : ", at " + address);
}

std::string matchText(const Json& answer) {
  if (!answer.contains("forwardingRule")) return "nothing";
  std::string text =
      fmt::format("forwarding rule {}, target proxy {}", answer.value("forwardingRule", ""),
                  answer.value("targetProxy", ""));
  if (answer.contains("route")) text += ", TLS route " + answer.value("route", "");
  if (answer.contains("service"))
    text += ", leads to backend service " + answer.value("service", "");
  return text;
}

std::string idleText(const Json& answer) {
  if (!answer.contains("idleTimeoutSec")) return "";
  const auto seconds = answer.value("idleTimeoutSec", 0ull);
  return seconds == 0 ? "never closed for silence"
                      : fmt::format("closed after {} without a byte", duration(seconds));
}

std::string groupText(const Json& group) {
  return fmt::format("{}: {} open, load {:.6g} of {:.6g} that can be used ({:.0f}%)",
                     group.value("group", ""), group.value("connections", 0ull),
                     group.value("load", 0.0), group.value("usable", 0.0),
                     100 * group.value("fill", 0.0));
}

}  // namespace

bool isOfProxy(const Json& answer) {
  const std::string action = answer.value("action", "");
  return action == "proxy" || action == "close";
}

void printProxyExplanation(const Json& answer, std::ostream& out) {
  const auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) out << fmt::format("{:<11}{}\n", title, text);
  };
  line("Connection", connectionText(answer));
  for (const Json& assumption : answer.value("assumed", Json::array()))
    line("Assumed", assumption.get<std::string>());
  line("Result", resultText(answer));
  line("", wordsFor(answer.value("rule", "")));
  line("Matched", matchText(answer));
  if (answer.value("needsServerName", false) && !answer["packet"].contains("sni"))
    line("", "its target proxy goes by server names: --sni NAME says one");
  line("Idle", idleText(answer));
  if (answer.contains("localityLbPolicy"))
    line("Policy",
         fmt::format("localityLbPolicy {}, sessionAffinity {}",
                     answer.value("localityLbPolicy", ""), answer.value("sessionAffinity", "")));
  std::string_view title = "Groups";
  for (const Json& group : answer.value("groups", Json::array())) {
    line(title, groupText(group));
    title = "";
  }
}

}  // namespace weir::cli
