// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/collections.h"

#include <fmt/format.h>

#include "cli/help.h"
#include "cli/resources/body.h"
#include "cli/resources/flags.h"
#include "cli/table.h"

namespace weir::cli {

namespace {

// How often an edit is tried again after somebody else was faster.
constexpr int kEditTries = 5;
constexpr long kPreconditionFailed = 412;

const std::vector<const Collection*>& all() {
  static const std::vector<const Collection*> kAll{
      &backendServices(), &forwardingRules(),  &healthChecks(), &networkEndpointGroups(),
      &routes(),          &targetTcpProxies(), &tlsRoutes(),    &serviceLbPolicies()};
  return kAll;
}

std::vector<std::string> words(const Collection& collection, const char* verb) {
  return {collection.command, verb};
}

}  // namespace

void addResourceCommands(std::vector<Command>& commands) {
  addBackendServices(commands);
  addBackendMembers(commands);
  addForwardingRules(commands);
  addHealthChecks(commands);
  addNetworkEndpointGroups(commands);
  addRoutes(commands);
  addTargetTcpProxies(commands);
  addTlsRoutes(commands);
  addServiceLbPolicies(commands);
}

std::vector<Group> resourceGroups() {
  std::vector<Group> groups;
  for (const Collection* collection : all())
    groups.push_back({{collection->command}, collection->summary});
  groups.push_back({{"health-checks", "create"}, "Create a health check of a type"});
  groups.push_back({{"health-checks", "update"}, "Change fields of a health check of a type"});
  return groups;
}

std::string cellText(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + cellText(item);
  return text;
}

Column column(std::string title, std::string path) {
  std::string pointer = "/" + path;
  for (char& c : pointer)
    if (c == '.') c = '/';
  return {std::move(title), [pointer](const Json& resource) {
            const auto at = Json::json_pointer(pointer);
            return resource.contains(at) ? cellText(resource.at(at)) : std::string();
          }};
}

Argument nameArgument(const Collection& collection) {
  return {.name = "NAME",
          .help = "name of the " + collection.singular,
          .names = Names::resources,
          .collection = collection.api};
}

Client::Path pathOf(const Collection& collection, const std::string& name) {
  return {"v1", collection.api, name};
}

Client::Query changeQuery(const Invocation& invocation) {
  if (!invocation.has("--dry-run")) return {};
  return {{"dryRun", "true"}};
}

Exit presentChange(const Context& context, const Collection& collection, const std::string& name,
                   const Invocation& invocation, const Answer& answer, std::string_view done) {
  if (answer.ok() && context.format == Format::table) tellDiagnostics(context, answer.body);
  return present(context, answer, [&](const Json& resource, const Context& to) {
    const bool same = resource.is_object() && !resource.value("changed", true);
    to.out() << fmt::format("{} {}: {}{}\n", collection.singular, name,
                            invocation.has("--dry-run") ? "would be " : "",
                            same ? "unchanged" : done);
  });
}

Exit edit(const Context& context, const Collection& collection, const std::string& name,
          const Invocation& invocation, const Edit& change, std::string_view done) {
  for (int attempt = 1;; ++attempt) {
    const Answer current = ask(context, {.path = pathOf(collection, name)});
    if (!current.ok()) return complain(context, current);
    auto patch = change(current.body);
    if (!patch) return complain(context, patch.error().message);
    const auto print = current.body.find("fingerprint");
    if (print != current.body.end()) (*patch)["fingerprint"] = *print;
    const Answer answer =
        ask(context, "PATCH", pathOf(collection, name), *patch, changeQuery(invocation));
    if (answer.status == kPreconditionFailed && attempt < kEditTries) continue;
    return presentChange(context, collection, name, invocation, answer, done);
  }
}

Command listCommand(const Collection& collection) {
  Command command{.words = words(collection, "list"),
                  .summary = fmt::format("List all {}", collection.command),
                  .arguments = {},
                  .flags = gcloudWide(),
                  .example = fmt::format("weirctl {} list", collection.command),
                  .run = nullptr};
  command.run = [&collection](const Context& context, const Invocation&) {
    const Answer answer = ask(context, {.path = {"v1", collection.api}});
    return present(context, answer, [&](const Json& body, const Context& to) {
      std::vector<std::string> titles;
      for (const Column& c : collection.columns) titles.push_back(c.title);
      Table table(std::move(titles));
      for (const Json& resource : body.value("items", Json::array())) {
        std::vector<std::string> row;
        for (const Column& c : collection.columns) row.push_back(c.cell(resource));
        table.add(std::move(row));
      }
      if (table.empty())
        to.err() << fmt::format("weirctl: there are no {}\n", collection.command);
      else
        table.print(to.out(), to.terminal.color);
    });
  };
  return command;
}

Command describeCommand(const Collection& collection) {
  Command command{
      .words = words(collection, "describe"),
      .summary = fmt::format("Show one {} with its state, as YAML unless --format says otherwise",
                             collection.singular),
      .arguments = {nameArgument(collection)},
      .flags = gcloudWide(),
      .example = fmt::format("weirctl {} describe {}", collection.command, collection.exampleName),
      .run = nullptr};
  command.run = [&collection](const Context& context, const Invocation& invocation) {
    const Answer answer = ask(context, {.path = pathOf(collection, invocation.argument(0))});
    return present(context, answer,
                   [](const Json& body, const Context& to) { to.out() << toYaml(body); });
  };
  return command;
}

Command createCommand(const Collection& collection, std::vector<Flag> flags, std::string example) {
  flags.push_back(dryRun());
  append(flags, gcloudWide());
  Argument name{.name = "NAME", .help = fmt::format("name of the new {}", collection.singular)};
  Command command{.words = words(collection, "create"),
                  .summary = fmt::format("Create a {}", collection.singular),
                  .arguments = {std::move(name)},
                  .flags = std::move(flags),
                  .example = std::move(example),
                  .run = nullptr};
  command.run = [&collection](const Context& context, const Invocation& invocation) {
    Json body{{"name", invocation.argument(0)}};
    body.update(withoutNulls(patchOf(invocation)));
    const Answer answer =
        ask(context, "POST", {"v1", collection.api}, body, changeQuery(invocation));
    return presentChange(context, collection, invocation.argument(0), invocation, answer,
                         "created");
  };
  return command;
}

Command updateCommand(const Collection& collection, std::vector<Flag> flags, std::string example) {
  flags.push_back(dryRun());
  append(flags, gcloudWide());
  Command command{
      .words = words(collection, "update"),
      .summary = fmt::format("Change fields of a {}; others stay as they are", collection.singular),
      .arguments = {nameArgument(collection)},
      .flags = std::move(flags),
      .example = std::move(example),
      .run = nullptr};
  command.run = [&collection](const Context& context, const Invocation& invocation) {
    const Json patch = patchOf(invocation);
    if (patch.empty())
      return misused(invocation.command(), "nothing to change: no flag sets a field",
                     context.err());
    const Answer answer = ask(context, "PATCH", pathOf(collection, invocation.argument(0)), patch,
                              changeQuery(invocation));
    return presentChange(context, collection, invocation.argument(0), invocation, answer,
                         "updated");
  };
  return command;
}

}  // namespace weir::cli
