// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/check.h"

#include "cli/operations/check_host.h"
#include "config/check.h"
#include "config/load.h"

namespace weir::cli {

namespace {

// For programs: the diagnostics as objects, on the output whether there are errors or not.
Exit checkForPrograms(const Context& context, const std::string& path, bool host) {
  const config::Loaded loaded = config::loadDirectory(path);
  Json diagnostics = Json::array();
  for (const config::Diagnostic& diagnostic : loaded.diagnostics)
    diagnostics.push_back({{"severity", std::string(toString(diagnostic.severity))},
                           {"file", diagnostic.file},
                           {"line", diagnostic.line},
                           {"column", diagnostic.column},
                           {"message", diagnostic.message}});
  Json counts = Json::object();
  for (const config::Definition& definition : loaded.definitions) {
    Json& count = counts[definition.collection];
    count = (count.is_null() ? 0u : count.get<unsigned>()) + 1;
  }
  Json answer{{"path", path},
              {"valid", loaded.ok()},
              {"resources", std::move(counts)},
              {"diagnostics", std::move(diagnostics)}};
  bool fit = true;
  if (host && loaded.ok()) answer["host"] = checkHostForPrograms(loaded.configuration, fit);
  printValue(answer, context.format, context.out());
  return loaded.ok() && fit ? Exit::done : Exit::refused;
}

Exit check(const Context& context, const Invocation& invocation) {
  const std::string path = invocation.arguments().empty() ? "/etc/weir" : invocation.argument(0);
  const bool host = invocation.has("--host");
  if (context.format != Format::table) return checkForPrograms(context, path, host);
  if (config::runCheck(path, context.out(), context.err()) != 0) return Exit::refused;
  if (!host) return Exit::done;
  const config::Loaded loaded = config::loadDirectory(path);
  return checkHostForPeople(context, loaded.configuration) ? Exit::done : Exit::refused;
}

}  // namespace

Command checkCommand() {
  return {
      .words = {"check"},
      .summary = "Validate a configuration without applying it and without the manager",
      .arguments = {{.name = "PATH",
                     .help = "directory as /etc/weir (default), or one file",
                     .names = Names::files,
                     .required = false}},
      .flags = {{.name = "--host",
                 .value = "",
                 .help = "also whether this host is fit for it: settings, addresses, kernel",
                 .type = Value::on}},
      .example = "weirctl check /etc/weir",
      .run = check,
      .details =
          "Errors, warnings and hints go to the error output, with file, line and "
          "column; only errors make the exit status 1. With --format json or yaml they "
          "are objects on the output. --host needs no privilege for the host's settings; as root "
          "it "
          "also asks the links who answers for virtual addresses and tries the kernel out. What "
          "is wrong makes the exit status 1, with the command that mends it."};
}

}  // namespace weir::cli
