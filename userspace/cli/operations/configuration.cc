// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/files.h"
#include "cli/operations/check.h"
#include "cli/operations/difference.h"
#include "cli/operations/operations.h"

namespace weir::cli {

namespace {

Flag fileFlag(const char* help, bool required) {
  return {.name = "--filename",
          .value = "FILE",
          .help = help,
          .names = Names::files,
          .shortName = "-f",
          .required = required};
}

void printApplied(const Json& result, const Context& context) {
  const auto lines = [&](const char* title, const char* key) {
    for (const Json& item : result.value(key, Json::array()))
      context.out() << fmt::format("{:<10}{}\n", title, item.get<std::string>());
  };
  lines("created", "created");
  lines("replaced", "replaced");
  const std::size_t unchanged = result.value("unchanged", Json::array()).size();
  if (unchanged != 0 || !result.value("changed", false))
    context.out() << fmt::format("{:<10}{}\n", "unchanged", unchanged);
}

Exit apply(const Context& context, const Invocation& invocation) {
  const auto source = readSource(context, invocation.text("--filename"));
  if (!source) return complain(context, source.error().message);
  if (source->text.find_first_not_of(" \t\r\n") == std::string::npos)
    return complain(context, fmt::format("{} is empty; nothing was changed", source->name));
  Client::Query query{{"name", source->name}};
  if (invocation.has("--dry-run")) query["dryRun"] = "true";
  const Answer answer = ask(context,
                            {.method = "POST",
                             .path = {"v1", "apply"},
                             .query = std::move(query),
                             .body = source->text,
                             .contentType = "application/yaml"},
                            Effort::work);
  if (answer.ok() && context.format == Format::table) {
    tellDiagnostics(context, answer.body);
    if (invocation.has("--dry-run")) context.out() << "Nothing is done; this would be:\n";
  }
  return present(context, answer, printApplied);
}

Exit exportAll(const Context& context, const Invocation& invocation) {
  if (invocation.has("--filename") && invocation.has("--destination"))
    return complain(context, "--filename and --destination are the same; give one of them");
  const char* file = invocation.has("--destination") ? "--destination" : "--filename";
  Client::Query query;
  if (invocation.has("--node")) query["node"] = "true";
  const Answer answer = ask(context, {.path = {"v1", "export"}, .query = std::move(query)});
  if (!answer.ok()) return complain(context, answer);
  return writeDocument(context, answer.body, invocation.text(file));
}

Exit reload(const Context& context, const Invocation&) {
  const Answer answer = ask(context, "POST", {"v1", "reload"}, Json::object());
  if (answer.ok() && context.format == Format::table) tellDiagnostics(context, answer.body);
  return present(context, answer, [](const Json& result, const Context& to) {
    to.out() << (result.value("changed", false) ? "applied\n" : "unchanged, nothing was done\n");
  });
}

Command applyCommand(const char* name, const char* summary) {
  return {
      .words = {name},
      .summary = summary,
      .arguments = {},
      .flags = {fileFlag("YAML or JSON; - is the input", true),
                {.name = "--dry-run",
                 .value = "",
                 .help = "checks everything and says what would be done",
                 .type = Value::on}},
      .example = fmt::format("weirctl {} -f web.yaml --dry-run", name),
      .run = apply,
      .details =
          "The file holds collections as /etc/weir/conf.d does, or what gcloud exports; several "
          "documents may follow each other. All of it is applied, or nothing. What it makes "
          "lands in conf.d/weirctl.yaml; a resource that a file written by hand defines is "
          "refused."};
}

}  // namespace

void addConfigurationCommands(std::vector<Command>& commands) {
  commands.push_back(checkCommand());
  commands.push_back(differenceCommand());
  commands.push_back({.words = {"reload"},
                      .summary = "Make the manager read its configuration again",
                      .arguments = {},
                      .flags = {},
                      .example = "weirctl reload",
                      .run = reload,
                      .details =
                          "A configuration with an error is refused and the running one goes "
                          "on; without a difference nothing is done."});
  commands.push_back(
      applyCommand("apply", "Create or replace the resources of a file in one change"));
  commands.push_back({.words = {"export"},
                      .summary = "Write all resources as a configuration file",
                      .arguments = {},
                      .flags = {fileFlag("file that is written instead of the output", false),
                                {.name = "--destination",
                                 .value = "FILE",
                                 .help = "the same, as the export of one resource has it",
                                 .names = Names::files},
                                {.name = "--node",
                                 .value = "",
                                 .help = "the settings of this node (weir.yaml) as well",
                                 .type = Value::on}},
                      .example = "weirctl export -f backup.yaml",
                      .run = exportAll});
  commands.push_back(applyCommand("import", "The same as apply: takes what export wrote"));
}

}  // namespace weir::cli
