// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/operations/operations.h"
#include "cli/table.h"
#include "cli/words.h"
#include "config/words.h"
#include "weir/address.h"

namespace weir::cli {

namespace {

constexpr std::uint64_t kMostListed = 100'000;

std::vector<Flag> filterFlags() {
  return {{.name = "--service",
           .value = "SERVICE",
           .help = "only connections of this backend service",
           .names = Names::resources,
           .collection = "backendServices"},
          {.name = "--client",
           .value = "ADDRESS",
           .help = "only connections of this client, or of a range: 10.1.0.7 or 10.1.0.0/16"},
          {.name = "--backend",
           .value = "ENDPOINT",
           .help = "only connections to this backend, as get-health shows it",
           .names = Names::backends}};
}

// What can be seen to be wrong without asking anybody.
Status checkFilter(const Invocation& invocation) {
  if (const auto* client = invocation.find("--client"))
    if (!Address::parse(client->text) && !Prefix::parse(client->text))
      return Error{
          fmt::format("--client must be an address or a range without host bits, such as "
                      "10.1.0.7 or 10.1.0.0/16, not {}",
                      config::quote(client->text))};
  const auto limit = invocation.number("--limit");
  if (limit && (*limit < 1 || *limit > kMostListed))
    return Error{fmt::format("--limit must be from 1 to {}", kMostListed)};
  return success();
}

Client::Query queryOf(const Invocation& invocation) {
  Client::Query query;
  for (const char* name : {"service", "client", "backend", "limit"})
    if (const auto* given = invocation.find(std::string("--") + name)) query[name] = given->text;
  return query;
}

// Whose connections the answer does not have.
void tellMissing(const Json& body, const Context& context) {
  if (!body.is_object()) return;
  for (const Json& part : body.value("missing", Json::array()))
    context.err() << fmt::format("weirctl: without those of {}: {}\n", part.value("program", ""),
                                 part.value("reason", ""));
}

void printConnections(const Json& list, const Context& context) {
  Table table({"SERVICE", "PROTOCOL", "SOURCE", "DESTINATION", "BACKEND", "STATE", "IDLE"});
  for (const Json& entry : list.value("connections", Json::array()))
    table.add({entry.value("service", ""), protocolOf(entry), sideOf(entry, "source", "sourcePort"),
               sideOf(entry, "destination", "destinationPort"), entry.value("backend", ""),
               entry.value("state", ""), duration(entry.value("idleSec", 0ull))});
  if (table.empty()) {
    context.err() << "weirctl: no connection fits\n";
    return;
  }
  table.print(context.out(), context.terminal.color);
  if (list.value("truncated", false))
    context.err() << "weirctl: there are more; --limit N shows more of them\n";
}

Exit list(const Context& context, const Invocation& invocation) {
  const Answer answer =
      ask(context, {.path = {"v1", "connections"}, .query = queryOf(invocation)}, Effort::work);
  const Exit exit = present(context, answer, printConnections);
  tellMissing(answer.body, context);
  return exit;
}

Exit count(const Context& context, const Invocation& invocation) {
  const Answer answer =
      ask(context, {.path = {"v1", "connections", "count"}, .query = queryOf(invocation)},
          Effort::work);
  const Exit exit = present(context, answer, [](const Json& body, const Context& to) {
    to.out() << body.value("count", 0ull) << '\n';
  });
  tellMissing(answer.body, context);
  return exit;
}

Exit flush(const Context& context, const Invocation& invocation) {
  Json body = Json::object();
  for (const auto& [key, value] : queryOf(invocation)) body[key] = value;
  if (body.empty() && !invocation.has("--quiet") &&
      !confirm(context, "Remove every connection of every service?"))
    return complain(context, "nothing was removed");
  return present(context, ask(context, "POST", {"v1", "connections", "flush"}, body),
                 [](const Json& answer, const Context& to) {
                   to.out() << config::count(answer.value("flushed", 0ull), "connection")
                            << " removed\n";
                 });
}

using Act = Exit (*)(const Context&, const Invocation&);

Command filtered(const char* verb, const char* summary, const char* example, Act act) {
  return {.words = {"connections", verb},
          .summary = summary,
          .arguments = {},
          .flags = filterFlags(),
          .example = example,
          .run = [act](const Context& context, const Invocation& invocation) {
            const Status filter = checkFilter(invocation);
            return filter ? act(context, invocation)
                          : complain(context, filter.error().message, Exit::usage);
          }};
}

}  // namespace

void addConnectionCommands(std::vector<Command>& commands) {
  Command listing = filtered("list", "Show connections: tracked ones and those through the proxy",
                             "weirctl connections list --service web --client 10.1.0.0/16", list);
  listing.details =
      "STATE of a connection through the proxy is new, established or closing. That of a tracked "
      "one is the entry's in the tracking table: new while only a SYN was seen, then established. "
      "weir does not see the answers and goes by no FIN or RST, so that an entry stays after its "
      "connection was closed, until it has been idle for idleTimeoutSec. IDLE is the time since "
      "its last packet, through the proxy since its last byte. When weir-engine or weir-proxy is "
      "not connected, the other's connections are listed, and a line at the error output (with "
      "--format json the member missing as well) names who is away.";
  listing.flags.push_back({.name = "--limit",
                           .value = "N",
                           .help = "at most so many, up to 100000 (default 1000)",
                           .type = Value::number});
  commands.push_back(std::move(listing));
  commands.push_back(filtered("count", "Count connections, like list",
                              "weirctl connections count --backend 10.2.0.11", count));
  Command flushing = filtered("flush", "Forget tracked connections, close those through the proxy",
                              "weirctl connections flush --backend 10.2.0.11", flush);
  flushing.details = "Without a filter every connection of every service is removed.";
  flushing.flags.push_back({.name = "--quiet",
                            .value = "",
                            .help = "asks nothing (without a terminal nothing is asked anyway)",
                            .type = Value::on,
                            .shortName = "-q"});
  commands.push_back(std::move(flushing));
}

}  // namespace weir::cli
