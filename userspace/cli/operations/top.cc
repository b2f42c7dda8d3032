// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/operations/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "cli/answer.h"
#include "cli/operations/live_terminal.h"
#include "config/words.h"

namespace weir::cli {

namespace {

constexpr unsigned kMostInterval = 3600;
// A key ends the live screen; it must not wait long for a manager that hangs.
constexpr unsigned kLiveTimeoutSec = 2;

struct Plan {
  std::chrono::seconds interval{1};
  std::optional<std::uint64_t> count;  // nullopt: until it is ended
  std::string service;
};

std::chrono::duration<double> now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Asked for one service that there is not, a screen would stay empty without a word.
Status checkService(const Json& status, const std::string& service) {
  if (service.empty()) return success();
  std::vector<std::string> names;
  for (const Json& known : status.value("services", Json::array()))
    names.push_back(known.value("name", ""));
  if (std::find(names.begin(), names.end(), service) != names.end()) return success();
  return Error{fmt::format("there is no backend service {}{}", config::quote(service),
                           config::didYouMean(service, names))};
}

// For a terminal: one screen over the other. A manager that goes away for a while is said and asked
// again; what watches a restart must not end with it.
Exit watch(const Context& context, const Plan& plan) {
  auto opened = LiveTerminal::open();
  if (!opened) return complain(context, opened.error().message);
  LiveTerminal terminal = std::move(*opened);
  Context hasty = context;
  hasty.timeoutSec = context.timeoutSec.value_or(kLiveTimeoutSec);
  std::unique_ptr<const Moment> before;
  for (std::uint64_t i = 0; !plan.count || i < *plan.count; ++i) {
    if (i != 0 && terminal.wantsToEnd(plan.interval)) break;
    const Answer answer = ask(hasty, {.path = {"v1", "status"}});
    if (i == 0 && answer.ok()) {
      if (const Status known = checkService(answer.body, plan.service); !known) {
        { const LiveTerminal ended = std::move(terminal); }  // what it shows goes with it
        return complain(context, known.error().message);
      }
    }
    Moment moment{answer.body, now()};
    // Home, the screen, and nothing of what was there before.
    context.out() << "\x1b[H\x1b[2J";
    if (answer.ok())
      context.out() << topScreen(before.get(), moment, plan.service, terminal.rows(), context);
    else
      context.out() << answer.failure << '\n';
    context.out().flush();
    before.reset();
    if (answer.ok()) before = std::make_unique<const Moment>(std::move(moment));
  }
  return Exit::done;
}

// For everything else: screens one after the other, or values for programs.
Exit print(const Context& context, const Plan& plan) {
  std::unique_ptr<const Moment> before;
  for (std::uint64_t i = 0; !plan.count || i < *plan.count; ++i) {
    if (i != 0) std::this_thread::sleep_for(plan.interval);
    const Answer answer = ask(context, {.path = {"v1", "status"}});
    if (!answer.ok()) return complain(context, answer);
    if (i == 0)
      if (const Status known = checkService(answer.body, plan.service); !known)
        return complain(context, known.error().message);
    Moment moment{answer.body, now()};
    if (context.format == Format::table)
      context.out() << (i == 0 ? "" : "\n")
                    << topScreen(before.get(), moment, plan.service, 0, context);
    else if (context.format == Format::json)
      context.out() << moment.status.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    else
      context.out() << "---\n" << toYaml(moment.status);
    context.out().flush();
    if (!context.out()) return Exit::refused;  // who read it is gone
    before = std::make_unique<const Moment>(std::move(moment));
  }
  return Exit::done;
}

Exit top(const Context& context, const Invocation& invocation) {
  Plan plan;
  plan.service = invocation.text("--service");
  if (const auto interval = invocation.number("--interval")) {
    if (*interval < 1 || *interval > kMostInterval)
      return complain(context, "--interval must be from 1s to 1h", Exit::usage);
    plan.interval = std::chrono::seconds(*interval);
  }
  plan.count = invocation.number("--count");
  if (plan.count && *plan.count == 0)
    return complain(context, "--count must be at least 1", Exit::usage);
  const bool live = context.terminal.outIsTerminal && context.format == Format::table;
  return live ? watch(context, plan) : print(context, plan);
}

}  // namespace

Command topCommand() {
  return {.words = {"top"},
          .summary = "Show the status live, with rates and each backend's share; q ends it",
          .arguments = {},
          .flags = {{.name = "--interval",
                     .value = "S",
                     .help = "from one screen to the next (default 1s)",
                     .type = Value::seconds},
                    {.name = "--count",
                     .value = "N",
                     .help = "ends after so many screens",
                     .type = Value::number,
                     .shortName = "-n"},
                    {.name = "--service",
                     .value = "SERVICE",
                     .help = "shows this backend service only",
                     .names = Names::resources,
                     .collection = "backendServices"}},
          .example = "weirctl top -n 2 --service web",
          .run = top,
          .details =
              "Without a terminal the screens follow each other, with an empty line between. "
              "With --format json there is one line for each moment."};
}

}  // namespace weir::cli
