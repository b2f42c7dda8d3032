// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/check.h"

#include "config/check.h"
#include "config/load.h"

namespace weir::cli {

namespace {

// For programs: the diagnostics as objects, on the output whether there are errors or not.
Exit checkForPrograms(const Context& context, const std::string& path) {
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
  printValue({{"path", path},
              {"valid", loaded.ok()},
              {"resources", std::move(counts)},
              {"diagnostics", std::move(diagnostics)}},
             context.format, context.out());
  return loaded.ok() ? Exit::done : Exit::refused;
}

Exit check(const Context& context, const Invocation& invocation) {
  const std::string path = invocation.arguments().empty() ? "/etc/weir" : invocation.argument(0);
  if (context.format != Format::table) return checkForPrograms(context, path);
  return config::runCheck(path, context.out(), context.err()) == 0 ? Exit::done : Exit::refused;
}

}  // namespace

Command checkCommand() {
  return {.words = {"check"},
          .summary = "Validate a configuration without applying it and without the manager",
          .arguments = {{.name = "PATH",
                         .help = "directory as /etc/weir (default), or one file",
                         .names = Names::files,
                         .required = false}},
          .flags = {},
          .example = "weirctl check /etc/weir",
          .run = check,
          .details =
              "Errors, warnings and hints go to the error output, with file, line and "
              "column; only errors make the exit status 1. With --format json or yaml they "
              "are objects on the output."};
}

}  // namespace weir::cli
