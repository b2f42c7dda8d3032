// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/explanation.h"
#include "cli/help.h"
#include "cli/operations/operations.h"
#include "cli/proxy_explanation.h"
#include "config/words.h"
#include "weir/address.h"

namespace weir::cli {

namespace {

constexpr unsigned kAssumedSourcePort = 40000;
constexpr unsigned kAssumedDestinationPort = 80;
constexpr const char* kNoFlags =
    "no TCP flags: a packet from the middle of a connection; --flags SYN asks about the first one";

bool hasPorts(const std::string& protocol) { return protocol == "TCP" || protocol == "UDP"; }

// The first port of a forwarding rule of this address and protocol; nullopt: there is none that
// names ports.
std::optional<unsigned> portOfRule(const Context& context, const std::string& address,
                                   const std::string& protocol) {
  const Answer answer = ask(context, {.path = {"v1", "forwardingRules"}});
  const auto wanted = Address::parse(address);
  if (!answer.ok() || !wanted) return std::nullopt;
  for (const Json& rule : answer.body.value("items", Json::array())) {
    const auto of = Address::parse(rule.value("IPAddress", ""));
    if (!of || *of != *wanted || rule.value("IPProtocol", "TCP") != protocol) continue;
    if (const auto ports = rule.find("ports"); ports != rule.end() && !ports->empty())
      if (ports->front().is_number_unsigned()) return ports->front().get<unsigned>();
    if (const std::string range = rule.value("portRange", ""); !range.empty())
      return static_cast<unsigned>(std::strtoul(range.c_str(), nullptr, 10));
  }
  return std::nullopt;
}

// What was not given and matters is assumed, and said.
Json assume(const Context& context, Json& packet) {
  Json assumed = Json::array();
  const Json& given = packet["proto"];
  const std::string protocol = given.is_string() ? given.get<std::string>() : given.dump();
  const bool later = packet.value("fragment", "") == "later";
  if (!hasPorts(protocol) || later) return assumed;
  if (!packet.contains("dport")) {
    const auto known = portOfRule(context, packet.value("dst", ""), protocol);
    packet["dport"] = known.value_or(kAssumedDestinationPort);
    assumed.push_back(
        known
            ? fmt::format("--dport {}, the first port of a forwarding rule of this address", *known)
            : fmt::format("--dport {}", kAssumedDestinationPort));
  }
  if (!packet.contains("sport")) {
    packet["sport"] = kAssumedSourcePort;
    assumed.push_back(fmt::format("--sport {}", kAssumedSourcePort));
  }
  if (protocol == "TCP" && !packet.contains("flags") && !packet.contains("fragment"))
    assumed.push_back(kNoFlags);
  return assumed;
}

Status checkPort(const Invocation& invocation, const char* name) {
  const auto port = invocation.number(name);
  if (port && *port > 65535) return Error{fmt::format("{} must be from 0 to 65535", name)};
  return success();
}

Status checkAddress(const Invocation& invocation, const char* name) {
  const std::string text = invocation.text(name);
  if (Address::parse(text)) return success();
  return Error{
      fmt::format("{} must be an IPv4 or IPv6 address, not {}", name, config::quote(text))};
}

Result<Json> packetOf(const Invocation& invocation) {
  for (const Status& status : {checkAddress(invocation, "--src"), checkAddress(invocation, "--dst"),
                               checkPort(invocation, "--sport"), checkPort(invocation, "--dport")})
    if (!status) return status.error();
  Json packet{{"src", invocation.text("--src")}, {"dst", invocation.text("--dst")}};
  const auto* quoted = invocation.find("--quoted");
  const bool v6 = invocation.text("--dst").find(':') != std::string::npos;
  std::string otherwise = "TCP";
  if (quoted != nullptr) otherwise = v6 ? "ICMPV6" : "ICMP";
  const auto* protocol = invocation.find("--proto");
  packet["proto"] = protocol == nullptr ? Json(otherwise) : protocol->value;
  const std::string text = packet["proto"].get<std::string>();
  // Those with ports have a name everywhere; a protocol without one is its number.
  if (text == "6" || text == "17")
    packet["proto"] = text == "6" ? "TCP" : "UDP";
  else if (text.find_first_not_of("0123456789") == std::string::npos && text.size() <= 3)
    packet["proto"] = std::stoul(text);
  for (const char* name : {"sport", "dport"})
    if (const auto port = invocation.number(std::string("--") + name)) packet[name] = *port;
  if (const auto* flags = invocation.find("--flags")) packet["flags"] = flags->value;
  if (const auto* fragment = invocation.find("--fragment")) {
    packet["fragment"] = fragment->text;
    if (fragment->text != "first" && fragment->text != "later")
      return Error{
          fmt::format("--fragment must be first or later, not {}", config::quote(fragment->text))};
  }
  if (quoted != nullptr) packet["inner"] = quoted->value;
  if (const auto* name = invocation.find("--sni")) packet["sni"] = name->text;
  if (const auto* protocols = invocation.find("--alpn")) packet["alpn"] = protocols->value;
  return packet;
}

Exit explain(const Context& context, const Invocation& invocation) {
  auto packet = packetOf(invocation);
  if (!packet) return misused(invocation.command(), packet.error().message, context.err());
  Json assumed = assume(context, *packet);
  Answer answer = ask(context, "POST", {"v1", "explain"}, *packet);
  if (answer.ok() && answer.body.is_object()) {
    // To a proxy it is a connection's beginning, whatever the packet.
    if (isOfProxy(answer.body))
      std::erase_if(assumed.get_ref<Json::array_t&>(),
                    [](const Json& assumption) { return assumption == kNoFlags; });
    answer.body["packet"] = *packet;
    answer.body["assumed"] = std::move(assumed);
  }
  return present(context, answer, [](const Json& body, const Context& to) {
    isOfProxy(body) ? printProxyExplanation(body, to.out()) : printExplanation(body, to.out());
  });
}

std::vector<Flag> packetFlags() {
  return {
      {.name = "--src", .value = "ADDRESS", .help = "source address", .required = true},
      {.name = "--dst", .value = "ADDRESS", .help = "destination address", .required = true},
      {.name = "--proto",
       .value = "PROTOCOL",
       .help = "a name or a number (default TCP)",
       .type = Value::word,
       .choices = {"TCP", "UDP", "ICMP", "ICMPV6", "SCTP", "ESP", "AH", "GRE"}},
      {.name = "--sport", .value = "PORT", .help = "source port", .type = Value::number},
      {.name = "--dport", .value = "PORT", .help = "destination port", .type = Value::number},
      {.name = "--flags",
       .value = "FLAGS",
       .help = "TCP flags, such as SYN or SYN,ACK",
       .type = Value::names,
       .choices = {"SYN", "ACK", "FIN", "RST", "PSH", "URG", "ECE", "CWR"}},
      {.name = "--fragment",
       .value = "WHICH",
       .help = "the packet is a fragment",
       .choices = {"first", "later"}},
      {.name = "--quoted",
       .value = "KEY=VALUE,...",
       .help = "the packet is an ICMP error about this one: src=10.9.9.9,dst=10.1.0.7,proto=TCP,"
               "sport=80,dport=40000",
       .type = Value::flow},
      {.name = "--sni", .value = "NAME", .help = "server name that a client of the TCP proxy says"},
      {.name = "--alpn",
       .value = "NAMES",
       .help = "application protocols that it offers with it, such as h2,http/1.1",
       .type = Value::names},
  };
}

}  // namespace

void addExplainCommand(std::vector<Command>& commands) {
  commands.push_back({.words = {"explain"},
                      .summary = "Say what would happen to a packet or connection, and why; "
                                 "nothing is changed",
                      .arguments = {},
                      .flags = packetFlags(),
                      .example = "weirctl explain --src 10.1.0.7 --dst 10.9.9.9 --sport 40000 "
                                 "--dport 80 --flags SYN",
                      .run = explain,
                      .details = "What is not given and matters is assumed, and the answer says "
                                 "what was. Where a proxy listens it is a connection that is "
                                 "asked about: the target proxy, the TLS route of the server name "
                                 "and the backend that the next such client would get."});
}

}  // namespace weir::cli
