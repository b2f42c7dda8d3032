// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/help.h"
#include "cli/operations/operations.h"
#include "cli/words.h"

namespace weir::cli {

namespace {

constexpr unsigned kMostTimeout = 3600;

Client::Path pathOf(const Invocation& invocation, const char* verb) {
  return {"v1", "backendServices", invocation.argument(0), verb};
}

// "03:20:10 UTC" of "2026-12-01T03:20:10.000Z".
std::string timeOfDay(const std::string& timestamp) {
  constexpr std::size_t kAt = 11, kLength = 8;
  return timestamp.size() < kAt + kLength ? timestamp : timestamp.substr(kAt, kLength) + " UTC";
}

// What becomes of the backend's connections; `chosen`: the timeout is the command's own.
void tellEnd(const Json& answer, const Invocation& invocation, bool chosen, std::ostream& out) {
  const std::string service = invocation.argument(0), endpoint = invocation.argument(1);
  out << fmt::format("{} of {} gets no new connections; ", endpoint, service);
  if (const std::uint64_t timeout = numberAt(answer, "/timeoutSec"); timeout != 0) {
    out << fmt::format("those it has may go on until {} ({}) and end then\n",
                       timeOfDay(answer.value("endsAt", "")), duration(timeout));
    return;
  }
  out << "those it had end now";
  if (!chosen)
    out << fmt::format(
        ", because the draining timeout of {0} is 0\n"
        "(weirctl drain {0} {1} --timeout 300s lets them end by themselves)",
        service, endpoint);
  out << '\n';
}

Exit drain(const Context& context, const Invocation& invocation) {
  Json body{{"endpoint", invocation.argument(1)}};
  const auto timeout = invocation.number("--timeout");
  if (timeout && *timeout > kMostTimeout)
    return misused(invocation.command(), "--timeout must be at most 1h", context.err());
  if (timeout) body["timeoutSec"] = *timeout;
  const Answer reply = ask(context, "POST", pathOf(invocation, "drain"), body);
  return present(context, reply, [&](const Json& answer, const Context& to) {
    tellEnd(answer, invocation, timeout.has_value(), to.out());
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
       .summary = "Give a backend no new connections, and those it has a time to end",
       .arguments = backendArguments(),
       .flags = {{.name = "--timeout",
                  .value = "S",
                  .help = "how long its connections live on, up to 1h; 0: they end at once "
                          "(default: the service's draining timeout, which is 0 unless set)",
                  .type = Value::seconds}},
       .example = "weirctl drain web 10.2.0.11 --timeout 5m",
       .run = drain,
       .details = "Without --timeout and without a draining timeout of the service "
                  "(--connection-draining-timeout) its connections end at once: TCP clients see a "
                  "reset. When they have ended, get-health says so and since when, and the "
                  "backend stays without new ones until undrain."});
  commands.push_back({.words = {"undrain"},
                      .summary = "Let a backend serve again that was drained by command",
                      .arguments = backendArguments(),
                      .flags = {},
                      .example = "weirctl undrain web 10.2.0.11",
                      .run = undrain});
}

}  // namespace weir::cli
