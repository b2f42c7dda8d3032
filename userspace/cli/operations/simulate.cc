// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/simulate/simulate.h"

#include "cli/answer.h"
#include "cli/operations/operations.h"

namespace weir::cli {

void addSimulateCommand(std::vector<Command>& commands) {
  commands.push_back(
      {.words = {"simulate"},
       .summary = "Run a scenario through the real decisions, without a network or daemons",
       .arguments = {{.name = "FILE", .help = "scenario", .names = Names::files, .repeated = true}},
       .flags = {{.name = "--check",
                  .value = "",
                  .help = "prints only what differs from what the scenario expects",
                  .type = Value::on}},
       .example = "weirctl simulate --check failover.yaml",
       .run =
           [](const Context& context, const Invocation& invocation) {
             if (context.format == Format::yaml)
               return complain(context, "simulate prints lines of JSON; it has no other format",
                               Exit::usage);
             return runSimulate(invocation.arguments(), invocation.has("--check"), context.out(),
                                context.err()) == 0
                        ? Exit::done
                        : Exit::refused;
           },
       .details = "One line of JSON for each packet, connection and load event, whatever --format "
                  "says."});
}

}  // namespace weir::cli
