// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/operations/operations.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

Client::Path pathOf(const Invocation& invocation, const char* verb) {
  return {"v1", "backendServices", invocation.argument(0), verb};
}

Exit drain(const Context& context, const Invocation& invocation) {
  Json body{{"endpoint", invocation.argument(1)}};
  const auto timeout = invocation.number("--timeout");
  if (timeout) body["timeoutSec"] = *timeout;
  const Answer answer = ask(context, "POST", pathOf(invocation, "drain"), body);
  return present(context, answer, [&](const Json&, const Context& to) {
    to.out() << fmt::format(
        "{} of {} gets no new connections; its connections end {}\n", invocation.argument(1),
        invocation.argument(0),
        timeout ? "in " + duration(*timeout) : std::string("after the service's draining timeout"));
  });
}

Exit undrain(const Context& context, const Invocation& invocation) {
  const Answer answer =
      ask(context, "POST", pathOf(invocation, "undrain"), {{"endpoint", invocation.argument(1)}});
  return present(context, answer, [&](const Json&, const Context& to) {
    to.out() << fmt::format("{} of {} is a backend again\n", invocation.argument(1),
                            invocation.argument(0));
  });
}

std::vector<Argument> backendArguments() {
  return {{.name = "SERVICE",
           .help = "backend service",
           .names = Names::resources,
           .collection = "backendServices"},
          {.name = "ENDPOINT",
           .help = "one of its backends, as get-health shows it: 10.2.0.11 or 10.2.0.11:8080",
           .names = Names::backends}};
}

}  // namespace

void addDrainingCommands(std::vector<Command>& commands) {
  commands.push_back(
      {.words = {"drain"},
       .summary = "Give a backend no new connections and let those it has end",
       .arguments = backendArguments(),
       .flags = {{.name = "--timeout",
                  .value = "S",
                  .help = "how long its connections live on, up to 1h (default: the service's "
                          "draining timeout)",
                  .type = Value::seconds}},
       .example = "weirctl drain web 10.2.0.11 --timeout 5m",
       .run = drain});
  commands.push_back({.words = {"undrain"},
                      .summary = "Let a backend serve again that was drained by command",
                      .arguments = backendArguments(),
                      .flags = {},
                      .example = "weirctl undrain web 10.2.0.11",
                      .run = undrain});
}

}  // namespace weir::cli
