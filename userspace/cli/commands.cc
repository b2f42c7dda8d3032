// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/commands.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/explanation.h"
#include "cli/screens.h"

namespace weir::cli {

namespace {

using Print = void (*)(const Json&, std::ostream&);

// Errors as the manager words them; a refused configuration also has what is wrong with it.
Exit refuse(const Context& context, const Json& body, long status) {
  if (const auto diagnostics = body.find("diagnostics"); diagnostics != body.end())
    for (const auto& diagnostic : *diagnostics) context.err << diagnostic.value("text", "") << '\n';
  const auto message = body.value("/error/message"_json_pointer,
                                  "the manager answered with status " + std::to_string(status));
  context.err << "weirctl: " << message << '\n';
  return Exit::refused;
}

Exit present(const Context& context, const Result<Client::Answer>& answer, Print print) {
  if (!answer.ok()) {
    context.err << "weirctl: " << answer.error().message << '\n';
    return Exit::absent;
  }
  const Json body = Json::parse(answer->body, nullptr, false);
  if (body.is_discarded()) {
    context.err << "weirctl: the manager's answer is not JSON; are both of the same version?\n";
    return Exit::refused;
  }
  if (answer->status != 200) return refuse(context, body, answer->status);
  if (context.format == Format::table)
    print(body, context.out);
  else
    printValue(body, context.format, context.out);
  return Exit::done;
}

Exit get(const Context& context, const Client::Path& path, const Client::Query& query,
         Print print) {
  return present(context, Client(context.runDir).get(path, query), print);
}

Exit post(const Context& context, const Client::Path& path, const Json& body, Print print) {
  const std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return present(context, Client(context.runDir).post(path, text), print);
}

void printDone(const Json&, std::ostream& out) { out << "done\n"; }

Client::Query queryOf(const FlowFilter& filter) {
  Client::Query query;
  if (!filter.service.empty()) query["service"] = filter.service;
  if (!filter.client.empty()) query["client"] = filter.client;
  if (!filter.backend.empty()) query["backend"] = filter.backend;
  if (filter.limit) query["limit"] = std::to_string(*filter.limit);
  return query;
}

}  // namespace

Exit showStatus(const Context& context) { return get(context, {"v1", "status"}, {}, printStatus); }

Exit reload(const Context& context) {
  return post(context, {"v1", "reload"}, Json::object(), printReload);
}

Exit listServices(const Context& context) {
  return get(context, {"v1", "backendServices"}, {}, printServices);
}

Exit describeService(const Context& context, const std::string& name) {
  return get(context, {"v1", "backendServices", name}, {},
             [](const Json& body, std::ostream& out) { out << toYaml(body); });
}

Exit getHealth(const Context& context, const std::string& name) {
  return get(context, {"v1", "backendServices", name, "health"}, {}, printHealth);
}

Exit listConnections(const Context& context, const FlowFilter& filter) {
  return get(context, {"v1", "connections"}, queryOf(filter), printConnections);
}

Exit countConnections(const Context& context, const FlowFilter& filter) {
  return get(context, {"v1", "connections", "count"}, queryOf(filter),
             [](const Json& body, std::ostream& out) { out << body.value("count", 0ull) << '\n'; });
}

Exit flushConnections(const Context& context, const FlowFilter& filter) {
  Json body = Json::object();
  for (const auto& [key, value] : queryOf(filter)) body[key] = value;
  return post(context, {"v1", "connections", "flush"}, body,
              [](const Json& answer, std::ostream& out) {
                out << answer.value("flushed", 0ull) << " entries removed\n";
              });
}

Exit explain(const Context& context, const ExplainPacket& packet) {
  Json body{{"src", packet.source}, {"dst", packet.destination}, {"proto", packet.protocol}};
  if (packet.sourcePort) body["sport"] = *packet.sourcePort;
  if (packet.destinationPort) body["dport"] = *packet.destinationPort;
  if (!packet.flags.empty()) body["flags"] = packet.flags;
  return post(context, {"v1", "explain"}, body, printExplanation);
}

Exit drain(const Context& context, const std::string& service, const std::string& endpoint,
           std::optional<unsigned> timeoutSec) {
  Json body{{"endpoint", endpoint}};
  if (timeoutSec) body["timeoutSec"] = *timeoutSec;
  return post(context, {"v1", "backendServices", service, "drain"}, body, printDone);
}

Exit undrain(const Context& context, const std::string& service, const std::string& endpoint) {
  return post(context, {"v1", "backendServices", service, "undrain"}, {{"endpoint", endpoint}},
              printDone);
}

}  // namespace weir::cli
