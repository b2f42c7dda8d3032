// SPDX-License-Identifier: GPL-2.0-or-later
#include "proxy/stats.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/background_log.h"

namespace weir::proxy {

namespace {

using Json = nlohmann::ordered_json;

Json totals(const std::vector<const ThreadCounters*>& threads) {
  const auto sum = [&](auto counterOf) {
    std::uint64_t total = 0;
    for (const ThreadCounters* thread : threads) total += counterOf(*thread);
    return total;
  };
  using T = const ThreadCounters&;
  Json json{{"accepted", sum([](T t) { return t.accepted.value(); })},
            {"acceptPaused", sum([](T t) { return t.acceptPaused.value(); })},
            {"acceptErrors", sum([](T t) { return t.acceptErrors.value(); })},
            {"open", sum([](T t) { return t.open.load(std::memory_order_relaxed); })},
            {"bytesUp", sum([](T t) { return t.bytesUp.value(); })},
            {"bytesDown", sum([](T t) { return t.bytesDown.value(); })},
            {"connects", sum([](T t) { return t.connects.value(); })},
            {"connectFailures", sum([](T t) { return t.connectFailures.value(); })},
            {"retries", sum([](T t) { return t.retries.value(); })},
            {"closed", Json::object()}};
  for (std::size_t reason = 0; reason < kCloseReasons; ++reason)
    json["closed"][std::string(toString(static_cast<CloseReason>(reason)))] =
        sum([reason](T t) { return t.closed[reason].value(); });
  return json;
}

Json frontsJson(const StatsInput& input) {
  Json failing = Json::array();
  if (input.failingFronts != nullptr)
    for (const auto& [front, reason] : *input.failingFronts)
      failing.push_back(
          {{"address", front.address.toString()}, {"port", front.port}, {"reason", reason}});
  return {{"open", input.openFronts}, {"failing", std::move(failing)}};
}

Json groupsOf(const Backends::Load& load) {
  Json groups = Json::array();
  for (const auto& group : load.groups)
    groups.push_back({{"group", group.group},
                      {"connections", group.connections},
                      {"load", group.load},
                      {"usable", group.usable},
                      {"fill", group.fill}});
  return groups;
}

Json serviceJson(Backends& backends, Time now) {
  const auto load = backends.load(now);
  return {{"service", backends.service()}, {"open", load.open}, {"groups", groupsOf(load)}};
}

}  // namespace

Json groupLoads(Backends& backends, Time now) { return groupsOf(backends.load(now)); }

std::string statsJson(const StatsInput& input) {
  Json answer{{"program", "weir-proxy"},
              {"version", WEIR_VERSION},
              {"pid", ::getpid()},
              {"uptimeSec", input.uptime.count()},
              {"generation", input.generation.value()},
              {"draining", input.draining},
              {"mostConnections", input.mostConnections},
              {"logLinesLost", log::BackgroundWriter::lost()},
              {"fronts", frontsJson(input)},
              {"totals", totals(input.threads)},
              {"services", Json::array()}};
  if (input.names)
    answer["names"] = {{"names", input.names->names},
                       {"unresolved", input.names->unresolved},
                       {"failing", input.names->failing},
                       {"queries", input.names->queries},
                       {"failures", input.names->failures}};
  for (const auto& service : input.services)
    answer["services"].push_back(serviceJson(*service, input.now));
  return answer.dump();
}

}  // namespace weir::proxy
