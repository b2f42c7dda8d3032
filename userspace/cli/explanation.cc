// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/explanation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/words.h"

namespace weir::cli {

namespace {

// "source 10.1.0.7 port 40000, destination 10.9.9.9 port 80, TCP"
std::string attributes(const Json& key) {
  std::string text = "source " + sideOf(key, "source", "sourcePort");
  if (key.contains("destination"))
    text += ", destination " + sideOf(key, "destination", "destinationPort");
  if (key.contains("protocol")) text += ", protocol " + protocolOf(key);
  return fmt::format("{} ({})", text, key.value("tuple", ""));
}

std::string matchedBy(const Json& answer) {
  const Json matched = answer.value("matched", Json());
  if (!matched.is_object()) return "nothing";
  return fmt::format("{} {}", matched.value("kind", "") == "route" ? "route" : "forwarding rule",
                     matched.value("name", ""));
}

std::string trackingLine(const Json& tracking) {
  const std::string result = tracking.value("result", "");
  const Json entry = tracking.value("entry", Json());
  const std::string endpoint =
      entry.is_object() && entry.contains("endpoint") && entry["endpoint"].is_string()
          ? entry.value("endpoint", "")
          : "a backend that is gone";
  if (result == "hit")
    return fmt::format("hit: the entry says {}, last used {} ago", endpoint,
                       duration(entry.value("idleSec", 0ull)));
  if (result == "stale")
    return fmt::format("the entry for {} is no longer valid; a backend is selected anew", endpoint);
  if (result == "skipped") return "not consulted: a SYN is always a new connection here (P1.1)";
  return "miss: no entry; a backend is selected";
}

std::string setLine(const Json& answer) {
  const Json set = answer.value("set", Json::object());
  const Json members = set.value("members", Json::array());
  std::string line = set.value("rule", "");
  if (const std::string zonal = set.value("zonalRule", ""); !zonal.empty())
    line += fmt::format(", then {} for the client's zone", zonal);
  if (const std::string why = answer.value("explanation", ""); !why.empty()) line += ": " + why;
  constexpr std::size_t kShown = 8;
  std::string names;
  for (std::size_t i = 0; i < members.size() && i < kShown; ++i)
    names += (i == 0 ? "" : ", ") + members[i].value("endpoint", "");
  if (members.size() > kShown) names += fmt::format(" and {} more", members.size() - kShown);
  return line + (names.empty() ? " [empty]" : " [" + names + "]");
}

std::string selectionLine(const Json& selection) {
  if (!selection.is_object()) return "none: the set is empty";
  return fmt::format("{}{}: hash {} is slot {} of {}, {}", attributes(selection),
                     selection.value("symmetric", false) ? ", the same for replies" : "",
                     selection.value("hash", ""), selection.value("slot", 0u),
                     selection.value("slots", 0u), selection.value("endpoint", ""));
}

std::string resultLine(const Json& answer) {
  const std::string action = answer.value("action", "");
  if (action == "pass") return "passed on: no forwarding rule and no route is about this packet";
  if (action == "drop") return "dropped: " + answer.value("reason", "");
  const Json backend = answer.value("backend", Json());
  if (!backend.is_object()) return action;
  return fmt::format("to {} of group {}, as a {} connection", backend.value("endpoint", ""),
                     backend.value("group", ""), answer.value("connection", ""));
}

std::string nextHopLine(const Json& answer) {
  const Json hop = answer.value("nextHop", Json());
  if (!hop.is_object()) return {};
  std::string text = "mark " + hop.value("mark", "");
  for (const char* family : {"ipv4", "ipv6"})
    if (hop.contains(family)) text += fmt::format(", next hop {}", hop.value(family, ""));
  return text;
}

}  // namespace

void printExplanation(const Json& answer, std::ostream& out) {
  const auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) out << fmt::format("{:<11}{}\n", title, text);
  };
  line("Result", resultLine(answer));
  if (answer.value("action", "") == "pass") return;
  line("Matched", matchedBy(answer));
  if (!answer.contains("service")) return;
  line("Service", fmt::format("{}, affinity {}, tracking {}", answer.value("service", ""),
                              answer.value("affinity", ""), answer.value("trackingMode", "")));
  const Json tracking = answer.value("tracking", Json::object());
  line("Tracking", attributes(tracking));
  line("", trackingLine(tracking));
  if (const Json zone = answer.value("zone", Json()); zone.is_string())
    line("Zone", zone.get<std::string>() + ", of the client");
  line("Eligible", setLine(answer));
  line("Selection", selectionLine(answer.value("selection", Json())));
  line("Next hop", nextHopLine(answer));
}

}  // namespace weir::cli
