// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "cli/help.h"
#include "cli/resources/body.h"
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"
#include "cli/table.h"
#include "weir/address.h"

namespace weir::cli {

namespace {

std::vector<Flag> groupFlags() {
  std::vector<Flag> flags{
      field("--zone", Value::text, "zone", "zone of all endpoints of the group"),
      word("--network-endpoint-type", "networkEndpointType",
           "what an endpoint is (default: GCE_VM_IP without ports, GCE_VM_IP_PORT with)",
           {"GCE_VM_IP", "GCE_VM_IP_PORT", "NON_GCP_PRIVATE_IP_PORT", "INTERNET_IP_PORT",
            "INTERNET_FQDN_PORT"}),
      field("--default-port", Value::number, "defaultPort", "port of endpoints that give none"),
  };
  Flag add = field("--add-endpoint", Value::endpoint, "",
                   "an endpoint that is added, by ip, ipv6, port, fqdn, instance, weight (the last "
                   "is weir's own): ip=10.2.0.11 or ip=10.2.0.11,port=8080");
  add.value = "KEY=VALUE,...";
  add.repeatable = true;
  flags.push_back(std::move(add));
  ignore(flags, {"--network", "--subnet"});
  refuse(flags,
         {"--cloud-run-service", "--app-engine-service", "--cloud-function-name",
          "--psc-target-service"},
         "weir sends packets to addresses");
  return flags;
}

bool sameAddress(const std::string& a, const std::string& b) {
  const auto left = Address::parse(a);
  const auto right = Address::parse(b);
  return left && right ? *left == *right : a == b;
}

// Does an endpoint have all that was given?
bool matches(const Json& endpoint, const Json& wanted, const Json& group) {
  for (const auto& [key, value] : wanted.items()) {
    const Json actual = endpoint.contains(key) ? endpoint[key]
                        : key == "port"        ? group.value("defaultPort", Json())
                                               : Json();
    if (key == "ipAddress" || key == "ipv6Address") {
      if (!actual.is_string() || !sameAddress(actual.get<std::string>(), value.get<std::string>()))
        return false;
    } else if (actual != value) {
      return false;
    }
  }
  return true;
}

bool isSame(const Json& a, const Json& b) {
  for (const char* key : {"ipAddress", "ipv6Address", "fqdn"})
    if (!sameAddress(a.value(key, ""), b.value(key, ""))) return false;
  return a.value("port", Json()) == b.value("port", Json());
}

// Removes first, then adds: an endpoint can be replaced in one command.
Result<Json> changeEndpoints(const Json& group, const Invocation& invocation) {
  Json patch = patchOf(invocation);
  Json endpoints = group.value("endpoints", Json::array());
  bool changed = false;
  for (const auto& [flag, text, wanted] : invocation.given()) {
    if (flag->name != "--remove-endpoint") continue;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < endpoints.size(); ++i)
      if (matches(endpoints[i], wanted, group)) found.push_back(i);
    if (found.empty())
      return Error{fmt::format("no endpoint of the group is {}; describe shows them", text)};
    if (found.size() > 1)
      return Error{fmt::format("{} endpoints of the group are {}; give the port as well",
                               found.size(), text)};
    endpoints.erase(found.front());
    changed = true;
  }
  for (const auto& given : invocation.given()) {
    if (given.flag->name != "--add-endpoint") continue;
    if (std::any_of(endpoints.begin(), endpoints.end(),
                    [&](const Json& endpoint) { return isSame(endpoint, given.value); }))
      return Error{fmt::format(
          "endpoint {} is in the group already; with --remove-endpoint in the same command it is "
          "replaced",
          given.text)};
    endpoints.push_back(given.value);
    changed = true;
  }
  if (changed) patch["endpoints"] = std::move(endpoints);
  return patch;
}

Exit create(const Context& context, const Invocation& invocation) {
  Json body{{"name", invocation.argument(0)}};
  auto fields = changeEndpoints(Json::object(), invocation);
  if (!fields) return complain(context, fields.error().message);
  body.update(withoutNulls(*fields));
  const Collection& collection = networkEndpointGroups();
  const Answer answer = ask(context, "POST", {"v1", collection.api}, body, changeQuery(invocation));
  return presentChange(context, collection, invocation.argument(0), invocation, answer, "created");
}

Exit update(const Context& context, const Invocation& invocation) {
  const bool changes = std::any_of(
      invocation.given().begin(), invocation.given().end(), [](const Invocation::Given& given) {
        return !given.flag->path.empty() || given.flag->type == Value::endpoint;
      });
  if (!changes)
    return misused(invocation.command(), "nothing to change: no flag sets a field", context.err());
  return edit(
      context, networkEndpointGroups(), invocation.argument(0), invocation,
      [&](const Json& group) { return changeEndpoints(group, invocation); }, "updated");
}

std::string sizeOf(const Json& group) {
  return std::to_string(group.value("endpoints", Json::array()).size());
}

std::string typeOf(const Json& group) {
  if (group.contains("networkEndpointType")) return cellText(group["networkEndpointType"]);
  bool ports = group.contains("defaultPort");
  for (const Json& endpoint : group.value("endpoints", Json::array()))
    ports = ports || endpoint.contains("port");
  return ports ? "GCE_VM_IP_PORT" : "GCE_VM_IP";
}

// gcloud's command for the members of a group.
Command listEndpoints() {
  return {.words = {"network-endpoint-groups", "list-network-endpoints"},
          .summary = "List the endpoints of a group",
          .arguments = {nameArgument(networkEndpointGroups())},
          .flags = gcloudWide(),
          .example = "weirctl network-endpoint-groups list-network-endpoints web-a",
          .run = [](const Context& context, const Invocation& invocation) {
            Answer answer =
                ask(context, {.path = pathOf(networkEndpointGroups(), invocation.argument(0))});
            if (answer.ok()) answer.body = answer.body.value("endpoints", Json::array());
            return present(context, answer, [](const Json& endpoints, const Context& to) {
              Table table({"IP ADDRESS", "IPV6 ADDRESS", "PORT", "FQDN", "INSTANCE", "WEIGHT"});
              for (const Json& endpoint : endpoints) {
                std::vector<std::string> row;
                for (const char* key :
                     {"ipAddress", "ipv6Address", "port", "fqdn", "instance", "weight"})
                  row.push_back(cellText(endpoint.value(key, Json())));
                table.add(std::move(row));
              }
              table.print(to.out(), to.terminal.color);
            });
          }};
}

}  // namespace

const Collection& networkEndpointGroups() {
  static const Collection kCollection{
      .command = "network-endpoint-groups",
      .api = "networkEndpointGroups",
      .singular = "network endpoint group",
      .summary = "Network endpoint groups: the addresses of backends, by zone",
      .columns = {column("NAME", "name"),
                  column("ZONE", "zone"),
                  {"TYPE", typeOf},
                  column("DEFAULT PORT", "defaultPort"),
                  {"ENDPOINTS", sizeOf}},
      .exampleName = "web-a"};
  return kCollection;
}

void addNetworkEndpointGroups(std::vector<Command>& commands) {
  const Collection& collection = networkEndpointGroups();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  Command creation = createCommand(
      collection, groupFlags(),
      "weirctl network-endpoint-groups create web-a --zone=zone-a --add-endpoint=ip=10.2.0.11");
  creation.run = create;
  commands.push_back(std::move(creation));
  std::vector<Flag> flags = groupFlags();
  Flag remove = field("--remove-endpoint", Value::endpoint, "",
                      "an endpoint that is taken out; its connections drain");
  remove.value = "KEY=VALUE,...";
  remove.repeatable = true;
  flags.push_back(std::move(remove));
  Command change =
      updateCommand(collection, std::move(flags),
                    "weirctl network-endpoint-groups update web-a --add-endpoint=ip=10.2.0.12 "
                    "--remove-endpoint=ip=10.2.0.11");
  change.run = update;
  commands.push_back(std::move(change));
  commands.push_back(deleteCommand(collection));
  commands.push_back(listEndpoints());
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
