// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/check.h"

#include "cli/answer.h"
#include "cli/operations/check_host.h"
#include "config/check.h"
#include "config/kept.h"
#include "config/load.h"

namespace weir::cli {

namespace {

constexpr const char* kStateDir = "/var/lib/weir";

// Why a reload would be refused and a start go on with what was in force; empty: they would not.
std::string lossOf(const std::string& path, const Invocation& invocation) {
  const std::string stateDir =
      invocation.has("--state-dir") ? invocation.text("--state-dir") : kStateDir;
  const auto kept = config::readKept(stateDir, path);
  return kept ? config::lossOf(kept->origins) : std::string();
}

// For programs: the diagnostics as objects, on the output whether there are errors or not.
Exit checkForPrograms(const Context& context, const std::string& path, const std::string& loss,
                      bool host) {
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
  if (!loss.empty()) answer["refusal"] = loss;
  bool fit = true;
  if (host && loaded.ok()) answer["host"] = checkHostForPrograms(loaded.configuration, fit);
  printValue(answer, context.format, context.out());
  return loaded.ok() && loss.empty() && fit ? Exit::done : Exit::refused;
}

Exit check(const Context& context, const Invocation& invocation) {
  const bool named = invocation.has("--config-dir");
  if (named && !invocation.arguments().empty())
    return complain(context, "PATH and --config-dir are the same; give one of them");
  const std::string path = named                            ? invocation.text("--config-dir")
                           : invocation.arguments().empty() ? "/etc/weir"
                                                            : invocation.argument(0);
  const bool host = invocation.has("--host");
  const std::string loss = lossOf(path, invocation);
  if (context.format != Format::table) return checkForPrograms(context, path, loss, host);
  const bool valid = config::runCheck(path, context.out(), context.err()) == 0;
  if (!loss.empty())
    context.err() << "error: a reload would be refused, and a start would go on with what was in "
                     "force: "
                  << loss << '\n';
  if (!valid || !loss.empty()) return Exit::refused;
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
                 .type = Value::on},
                {.name = "--config-dir",
                 .value = "DIR",
                 .help = "the same as PATH, by the name that it has for weir-manager",
                 .names = Names::files},
                {.name = "--state-dir",
                 .value = "DIR",
                 .help = "where the manager keeps what is in force, by which it notices that the "
                         "directory is lost (default: /var/lib/weir)",
                 .names = Names::files}},
      .example = "weirctl check /etc/weir",
      .run = check,
      .details =
          "Errors, warnings and hints go to the error output, with file, line and "
          "column; only errors make the exit status 1. With --format json or yaml they "
          "are objects on the output. A directory that is missing or not mounted, where the "
          "manager had read resources from it, is an error too; that is told from what the manager "
          "keeps in its --state-dir: where it was given another one, give it here as well. --host "
          "needs no privilege for the host's settings; as root it "
          "also asks the links who answers for virtual addresses and tries the kernel out. What "
          "is wrong makes the exit status 1, with the command that mends it."};
}

}  // namespace weir::cli
