// SPDX-License-Identifier: GPL-2.0-or-later
//
// The backends of a backend service: get-health, add-backend, update-backend, remove-backend.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/help.h"
#include "cli/resources/backend_health.h"
#include "cli/resources/body.h"
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"
#include "config/words.h"

namespace weir::cli {

namespace {

// Of these a backend has at most one (X4.2); giving one takes the others away.
constexpr std::array<const char*, 6> kLimits{
    "maxConnections", "maxConnectionsPerEndpoint", "maxConnectionsPerInstance",
    "maxRate",        "maxRatePerEndpoint",        "maxRatePerInstance"};

std::vector<Flag> groupFlags() {
  std::vector<Flag> flags{
      reference("--network-endpoint-group", Value::text, "group", "the group",
                "networkEndpointGroups"),
      reference("--instance-group", Value::text, "group", "the same: weir has one kind of group",
                "networkEndpointGroups")};
  ignore(flags, {"--network-endpoint-group-zone", "--network-endpoint-group-region",
                 "--instance-group-zone", "--instance-group-region"});
  flags.push_back(ignoredSwitch("--global-network-endpoint-group"));
  return flags;
}

std::vector<Flag> memberFlags() {
  std::vector<Flag> flags = groupFlags();
  const auto limit = [&](const char* name, Value type, const char* path, const char* help) {
    flags.push_back(field(name, type, path, help));
  };
  flags.push_back(toggle("--failover", Value::onOff, "failover",
                         "the group serves when the primary ones do not"));
  flags.push_back(word("--balancing-mode", "balancingMode", "what a proxy measures load by",
                       {"CONNECTION", "UTILIZATION", "RATE"}));
  limit("--max-connections", Value::number, "maxConnections",
        "target of the whole group, in connections");
  limit("--max-connections-per-endpoint", Value::number, "maxConnectionsPerEndpoint",
        "target of each endpoint, in connections");
  limit("--max-connections-per-instance", Value::number, "maxConnectionsPerInstance",
        "the same as per endpoint");
  limit("--max-rate", Value::decimal, "maxRate",
        "target of the whole group, in new connections a second");
  limit("--max-rate-per-endpoint", Value::decimal, "maxRatePerEndpoint",
        "target of each endpoint, in new connections a second");
  limit("--max-rate-per-instance", Value::decimal, "maxRatePerInstance",
        "the same as per endpoint");
  limit("--max-utilization", Value::decimal, "maxUtilization",
        "target utilization of the backends, 0.0 to 1.0 (default 0.8)");
  limit("--capacity-scaler", Value::decimal, "capacityScaler",
        "factor on the target: 0, or 0.1 to 1.0 (default)");
  flags.push_back(word("--preference", "preference", "PREFERRED groups of a proxy fill first",
                       {"DEFAULT", "PREFERRED"}));
  flags.push_back(
      field("--description", Value::text, "description", "accepted; weir does not keep it"));
  refuse(flags,
         {"--custom-metrics", "--custom-metrics-file", "--traffic-duration",
          "--max-in-flight-requests", "--max-in-flight-requests-per-endpoint",
          "--max-in-flight-requests-per-instance"},
         "weir balances by connections, rate and utilization");
  return flags;
}

// Exactly one group is named, by either flag.
Result<std::string> groupOf(const Invocation& invocation) {
  const auto* neg = invocation.find("--network-endpoint-group");
  const auto* instances = invocation.find("--instance-group");
  if ((neg == nullptr) == (instances == nullptr))
    return Error{"name the group with --network-endpoint-group or --instance-group, one of them"};
  return (neg != nullptr ? neg : instances)->text;
}

std::string_view lastSegment(std::string_view reference) {
  return reference.substr(reference.rfind('/') + 1);
}

// Where in the list of backends a group is; the error names those there are.
Result<std::size_t> placeOf(const Json& backends, const std::string& group,
                            const std::string& service) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const std::string name = backends[i].value("group", "");
    if (lastSegment(name) == lastSegment(group)) return i;
    names.emplace_back(lastSegment(name));
  }
  return Error{fmt::format("group {} is not a backend of {}{}{}", config::quote(group), service,
                           config::didYouMean(group, names),
                           names.empty() ? std::string("; it has none")
                                         : "; its groups are " + config::join(names, "and"))};
}

Json backendsOf(const Json& service) { return service.value("backends", Json::array()); }

Result<Json> addMember(const Json& service, const std::string& name, const Invocation& invocation,
                       const std::string& group) {
  Json backends = backendsOf(service);
  if (placeOf(backends, group, name).ok())
    return Error{fmt::format("group {} is a backend of {} already; update-backend changes it",
                             config::quote(group), name)};
  backends.push_back(withoutNulls(patchOf(invocation)));
  return Json{{"backends", std::move(backends)}};
}

Result<Json> updateMember(const Json& service, const std::string& name,
                          const Invocation& invocation, const std::string& group) {
  Json backends = backendsOf(service);
  const auto place = placeOf(backends, group, name);
  if (!place) return place.error();
  Json patch = patchOf(invocation);
  patch.erase("group");
  const bool setsLimit = std::any_of(kLimits.begin(), kLimits.end(),
                                     [&](const char* limit) { return patch.contains(limit); });
  if (setsLimit)
    for (const char* limit : kLimits)
      if (!patch.contains(limit)) patch[limit] = nullptr;
  if (patch.contains("balancingMode") && patch["balancingMode"] != "UTILIZATION" &&
      !patch.contains("maxUtilization"))
    patch["maxUtilization"] = nullptr;
  backends[*place].merge_patch(patch);
  return Json{{"backends", std::move(backends)}};
}

Result<Json> removeMember(const Json& service, const std::string& name, const Invocation&,
                          const std::string& group) {
  Json backends = backendsOf(service);
  const auto place = placeOf(backends, group, name);
  if (!place) return place.error();
  backends.erase(*place);
  return Json{{"backends", std::move(backends)}};
}

using ChangeMember = Result<Json> (*)(const Json& service, const std::string& name,
                                      const Invocation&, const std::string& group);

Command memberCommand(const char* verb, const char* summary, std::vector<Flag> flags,
                      const char* example, const char* done, ChangeMember change) {
  flags.push_back(dryRun());
  append(flags, gcloudWide());
  return {.words = {"backend-services", verb},
          .summary = summary,
          .arguments = {nameArgument(backendServices())},
          .flags = std::move(flags),
          .example = example,
          .run = [change, done](const Context& context, const Invocation& invocation) {
            const auto group = groupOf(invocation);
            if (!group) return misused(invocation.command(), group.error().message, context.err());
            const std::string name = invocation.argument(0);
            return edit(
                context, backendServices(), name, invocation,
                [&](const Json& service) { return change(service, name, invocation, *group); },
                fmt::format("{} {}", done, *group));
          }};
}

Exit getHealth(const Context& context, const Invocation& invocation) {
  Client::Path path = pathOf(backendServices(), invocation.argument(0));
  path.emplace_back("health");
  return present(context, ask(context, {.path = std::move(path)}), printHealth);
}

}  // namespace

void addBackendMembers(std::vector<Command>& commands) {
  commands.push_back({.words = {"backend-services", "get-health"},
                      .summary = "Show the backends of a service with their states and reasons",
                      .arguments = {nameArgument(backendServices())},
                      .flags = gcloudWide(),
                      .example = "weirctl backend-services get-health web",
                      .run = getHealth});
  commands.push_back(memberCommand(
      "add-backend", "Add a group to a backend service", memberFlags(),
      "weirctl backend-services add-backend web --network-endpoint-group=web-standby --failover",
      "added backend", addMember));
  commands.push_back(memberCommand(
      "update-backend", "Change how a group serves a backend service", memberFlags(),
      "weirctl backend-services update-backend web --network-endpoint-group=web-a --no-failover",
      "updated backend", updateMember));
  commands.push_back(memberCommand(
      "remove-backend", "Take a group out of a backend service; its connections end at once",
      groupFlags(),
      "weirctl backend-services remove-backend web --network-endpoint-group=web-standby",
      "removed backend", removeMember));
}

}  // namespace weir::cli
