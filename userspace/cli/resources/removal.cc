// SPDX-License-Identifier: GPL-2.0-or-later
//
// `delete`, which asks a person first, and no script.
#include <fmt/format.h>

#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

Exit remove(const Context& context, const Collection& collection, const Invocation& invocation) {
  const bool quiet = invocation.has("--quiet") || invocation.has("--dry-run");
  if (!quiet && !confirm(context, fmt::format("Delete {} {}?", collection.singular,
                                              joined(invocation.arguments(), ", "))))
    return complain(context, "nothing was deleted");
  // In the order given; what was deleted before a failure stays deleted and was said.
  for (const std::string& name : invocation.arguments()) {
    const Answer answer = ask(
        context,
        {.method = "DELETE", .path = pathOf(collection, name), .query = changeQuery(invocation)},
        Effort::work);
    const Exit exit = presentChange(context, collection, name, invocation, answer, "deleted");
    if (exit != Exit::done) return exit;
  }
  return Exit::done;
}

}  // namespace

Command deleteCommand(const Collection& collection) {
  Argument names = nameArgument(collection);
  names.repeated = true;
  std::vector<Flag> flags{
      toggle("--quiet", Value::on, "", "asks nothing (without a terminal nothing is asked anyway)"),
      dryRun()};
  flags.front().shortName = "-q";
  for (Flag& flag : gcloudWide())
    if (flag.name != "--quiet") flags.push_back(std::move(flag));
  return {
      .words = {collection.command, "delete"},
      .summary = fmt::format("Delete a {} that nothing refers to, or several", collection.singular),
      .arguments = {std::move(names)},
      .flags = std::move(flags),
      .example =
          fmt::format("weirctl {} delete {} --quiet", collection.command, collection.exampleName),
      .run = [&collection](const Context& context, const Invocation& invocation) {
        return remove(context, collection, invocation);
      }};
}

}  // namespace weir::cli
