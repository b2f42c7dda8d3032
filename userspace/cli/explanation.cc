// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/explanation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/rule_words.h"
#include "cli/words.h"
#include "config/words.h"

namespace weir::cli {

namespace {

// Names that are shown of a long set.
constexpr std::size_t kShown = 8;

Json objectAt(const Json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_object() ? *found : Json();
}

std::string listed(const Json& list) {
  std::vector<std::string> words;
  for (const Json& item : list) words.push_back(item.get<std::string>());
  return config::join(words, "and");
}

// --- the packet ---

std::string protocolName(const Json& packet) {
  const auto found = packet.find("proto");
  if (found == packet.end()) return "TCP";
  return found->is_string() ? found->get<std::string>() : "protocol " + found->dump();
}

// "TCP 10.1.0.7:40000 -> 10.9.9.9:80"
std::string flowText(const Json& packet) {
  const auto side = [&](const char* address, const char* port) {
    const std::string text = packet.value(address, "");
    return packet.contains(port) ? withPort(text, packet.value(port, 0u)) : text;
  };
  return fmt::format("{} {} -> {}", protocolName(packet), side("src", "sport"),
                     side("dst", "dport"));
}

std::string packetText(const Json& packet) {
  std::string text = flowText(packet);
  if (packet.contains("flags")) text += ", flags " + listed(packet["flags"]);
  if (const std::string which = packet.value("fragment", ""); !which.empty())
    text += fmt::format(", {} fragment", which == "first" ? "the first" : "a later");
  if (const Json inner = objectAt(packet, "inner"); inner.is_object())
    text += ", an error about " + flowText(inner);
  return text;
}

// --- each step ---

// "source 10.1.0.7, destination 10.9.9.9, TCP": what of a packet counts.
std::string attributes(const Json& key) {
  std::string text = "source " + sideOf(key, "source", "sourcePort");
  if (key.contains("destination"))
    text += ", destination " + sideOf(key, "destination", "destinationPort");
  if (key.contains("protocol")) text += ", " + protocolOf(key);
  return text;
}

std::string resultText(const Json& answer) {
  const std::string action = answer.value("action", "");
  if (action == "pass")
    return "passed on: no forwarding rule and no route is about this packet; the kernel handles it "
           "as if weir were not there";
  if (action == "drop") {
    const std::string reason = answer.value("reason", "");
    if (reason == "no_eligible_backend") return "dropped: no backend may take it";
    return "dropped: " + reason;
  }
  const Json backend = objectAt(answer, "backend");
  if (!backend.is_object()) return action;
  const std::string connection = answer.value("connection", "");
  return fmt::format("to backend {} of group {}, {}", backend.value("endpoint", ""),
                     backend.value("group", ""),
                     connection == "related" ? "like the connection that the error is about"
                                             : "as a " + connection + " connection");
}

std::string matchText(const Json& answer) {
  const Json matched = objectAt(answer, "matched");
  if (!matched.is_object()) return "nothing";
  const bool byRoute = matched.value("kind", "") == "route";
  std::string text =
      fmt::format("{} {}", byRoute ? "route" : "forwarding rule", matched.value("name", ""));
  if (byRoute) text += ", to whose destinations this one belongs";
  if (answer.value("connection", "") == "related")
    text += ", by the packet that the error quotes (P8.6)";
  if (answer.contains("service"))
    text += ", leads to backend service " + answer.value("service", "");
  return text;
}

std::string entryBackend(const Json& tracking) {
  const Json entry = objectAt(tracking, "entry");
  if (entry.is_object() && entry.contains("endpoint") && entry["endpoint"].is_string())
    return entry["endpoint"].get<std::string>();
  return "a backend that is gone";
}

std::string trackingText(const Json& answer) {
  const Json tracking = objectAt(answer, "tracking");
  if (!tracking.is_object()) return "";
  const std::string result = tracking.value("result", "");
  const std::string mode = answer.value("trackingMode", "");
  if (result == "skipped")
    return fmt::format(
        "not consulted: with tracking mode {} and affinity {}, a TCP SYN always "
        "begins a new connection (P1.1)",
        mode, answer.value("affinity", ""));
  const std::string key = attributes(tracking);
  if (result == "hit") {
    const Json entry = objectAt(tracking, "entry");
    return fmt::format("known: the entry for {} says {}, and was last used {} ago", key,
                       entryBackend(tracking), duration(entry.value("idleSec", 0ull)));
  }
  if (result == "stale")
    return fmt::format("the entry for {} said {}, but no longer counts; a backend is chosen anew",
                       key, entryBackend(tracking));
  return fmt::format("no entry for {}; a backend is chosen{}", key,
                     answer.value("connection", "") == "related" ? "" : " and remembered");
}

// What a reader wonders about when the table has decided: the backend would not be chosen now.
std::string stateText(const Json& answer) {
  const Json backend = objectAt(answer, "backend");
  const std::string health = backend.is_object() ? backend.value("healthState", "") : "";
  const bool known = objectAt(answer, "tracking").value("result", "") == "hit";
  if (!known || health.empty() || health == "HEALTHY") return "";
  if (health == "DRAINING")
    return "DRAINING: it gets no new connections; those it has go on until the draining timeout "
           "(P7.1)";
  return health + ": it gets no new connections, but the service lets those it has go on (P6.3)";
}

std::string membersText(const Json& members) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < members.size() && i < kShown; ++i)
    names.push_back(members[i].value("endpoint", ""));
  if (members.size() > kShown) names.push_back(fmt::format("{} more", members.size() - kShown));
  return config::join(names, "and");
}

std::string setText(const Json& answer) {
  const Json set = objectAt(answer, "set");
  if (!set.is_object()) return "";
  const Json members = set.value("members", Json::array());
  return members.empty() ? std::string("no backend")
                         : fmt::format("{}: {}", config::count(members.size(), "backend"),
                                       membersText(members));
}

std::string ruleText(const std::string& rule) {
  const std::string words(wordsOf(rule));
  return words.empty() ? rule : fmt::format("{} ({})", words, rule);
}

std::string selectionText(const Json& answer) {
  const Json selection = objectAt(answer, "selection");
  if (!selection.is_object()) return "";
  const bool decides = answer.value("connection", "") != "known" &&
                       objectAt(answer, "tracking").value("result", "") != "hit";
  return fmt::format("{}{} hash to slot {} of {}, which {}", attributes(selection),
                     selection.value("symmetric", false) ? " (the same for replies)" : "",
                     selection.value("slot", 0u), selection.value("slots", 0u),
                     decides ? "is " + selection.value("endpoint", "") + "'s"
                             : "would be " + selection.value("endpoint", "") +
                                   "'s: that is where a new connection like it would go");
}

std::string nextHopText(const Json& answer) {
  const Json hop = objectAt(answer, "nextHop");
  if (!hop.is_object()) return "";
  std::string hops;
  for (const char* family : {"ipv4", "ipv6"})
    if (hop.contains(family)) hops += (hops.empty() ? "" : " or ") + hop.value(family, "");
  return fmt::format("sent unchanged to {}, by the routing table of mark {}", hops,
                     hop.value("mark", ""));
}

}  // namespace

void printExplanation(const Json& answer, std::ostream& out) {
  const auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) out << fmt::format("{:<11}{}\n", title, text);
  };
  if (const Json packet = objectAt(answer, "packet"); packet.is_object())
    line("Packet", packetText(packet));
  for (const Json& assumption : answer.value("assumed", Json::array()))
    line("Assumed", assumption.get<std::string>());
  line("Result", resultText(answer));
  if (answer.value("action", "") == "pass") return;
  line("Matched", matchText(answer));
  if (!answer.contains("service")) return;
  line("Tracking", trackingText(answer));
  line("", stateText(answer));
  if (const Json zone = answer.value("zone", Json()); zone.is_string())
    line("Zone", "the client is in " + zone.get<std::string>());
  line("Eligible", setText(answer));
  const Json set = answer.value("set", Json::object());
  if (const std::string rule = set.value("rule", ""); !rule.empty()) line("", ruleText(rule));
  if (const std::string rule = set.value("zonalRule", ""); !rule.empty()) line("", ruleText(rule));
  if (const std::string numbers = answer.value("explanation", ""); !numbers.empty())
    line("", "now: " + numbers);
  line("Choice", selectionText(answer));
  line("Next hop", nextHopText(answer));
}

}  // namespace weir::cli
