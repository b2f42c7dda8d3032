// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/difference.h"

#include <fmt/format.h>

#include "cli/answer.h"
#include "config/load.h"
#include "config/write.h"

namespace weir::cli {

namespace {

std::string shown(const Json& value) {
  return value.is_null() ? "the default"
                         : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

char signOf(const std::string& change) {
  if (change == "added") return '+';
  return change == "removed" ? '-' : '~';
}

void printResource(const Json& resource, std::ostream& out) {
  const std::string change = resource.value("change", "");
  out << fmt::format("{} {}/{} {}\n", signOf(change), resource.value("collection", ""),
                     resource.value("name", ""), change);
  for (const Json& field : resource.value("fields", Json::array()))
    out << fmt::format("    {}: {} -> {}\n", field.value("path", ""),
                       shown(field.value("old", Json())), shown(field.value("new", Json())));
  for (const Json& effect : resource.value("effects", Json::array()))
    out << fmt::format("    {}\n", effect.get<std::string>());
}

void printService(const Json& service, std::ostream& out) {
  const Json removed = service.value("entriesRemoved", Json());
  out << fmt::format("  {}: {:.1f}% of new connections move, {} tracked connections end\n",
                     service.value("name", ""), service.value("newConnectionsMoved", 0.0) * 100,
                     removed.is_number() ? removed.dump() : "an unknown number of");
  for (const Json& effect : service.value("effects", Json::array()))
    out << fmt::format("    {}\n", effect.get<std::string>());
}

Exit difference(const Context& context, const Invocation& invocation) {
  Client::Request request{.method = "POST", .path = {"v1", "diff"}};
  if (!invocation.arguments().empty()) {
    const std::string path = invocation.argument(0);
    const config::Loaded loaded = config::loadDirectory(path);
    if (!loaded.ok()) {
      for (const auto& diagnostic : loaded.diagnostics)
        context.err() << diagnostic.toString() << '\n';
      return complain(context, fmt::format("{} has errors; nothing was compared", path));
    }
    const Configuration& wanted = loaded.configuration;
    request.body = config::yamlText(
        *config::writtenConfiguration(config::writtenResources(wanted), &wanted.node));
    request.contentType = "application/yaml";
  }
  const Answer answer = ask(context, request, Effort::work);
  const Exit exit = present(context, answer, printDifference);
  const bool differs = answer.ok() && answer.body.value("changed", false);
  return exit == Exit::done && differs && invocation.has("--exit-code") ? Exit::refused : exit;
}

}  // namespace

void printDifference(const Json& difference, const Context& context) {
  std::ostream& out = context.out();
  if (!difference.value("changed", false)) {
    out << "No difference: a reload would do nothing.\n";
    return;
  }
  for (const Json& resource : difference.value("resources", Json::array()))
    printResource(resource, out);
  const Json services = difference.value("services", Json::array());
  if (services.empty())
    out << "\nNo connection would move.\n";
  else
    out << "\nTraffic\n";
  for (const Json& service : services) printService(service, out);
  if (const std::string refusal = difference.value("refusal", ""); !refusal.empty())
    out << "\nA reload would be refused: " << refusal << '\n';
}

Command differenceCommand() {
  return {.words = {"diff"},
          .summary = "Show what a reload would change, and what share of connections would move",
          .arguments = {{.name = "PATH",
                         .help = "directory or file with a whole configuration (default: what the "
                                 "manager would reload)",
                         .names = Names::files,
                         .required = false}},
          .flags = {{.name = "--exit-code",
                     .value = "",
                     .help = "exit status 1 when there is a difference, for scripts",
                     .type = Value::on}},
          .example = "weirctl diff /root/new-weir",
          .run = difference,
          .details = "Without --exit-code the exit status is 0 with and without a difference."};
}

}  // namespace weir::cli
