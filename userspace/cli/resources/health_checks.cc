// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <array>

#include "cli/resources/body.h"
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

enum class Family : unsigned char { connect, http, grpc };

// gcloud has a command of its own for each type.
struct Protocol {
  const char* word;  // "grpc-with-tls"
  const char* type;  // "GRPC_WITH_TLS"
  const char* block;
  Family family;
  const char* summary;
};
constexpr std::array<Protocol, 7> kProtocols{{
    {"tcp", "TCP", "tcpHealthCheck", Family::connect, "that connects"},
    {"ssl", "SSL", "sslHealthCheck", Family::connect, "that connects and shakes hands by TLS"},
    {"http", "HTTP", "httpHealthCheck", Family::http, "that wants status 200"},
    {"https", "HTTPS", "httpsHealthCheck", Family::http, "that wants status 200 over TLS"},
    {"http2", "HTTP2", "http2HealthCheck", Family::http, "that wants status 200 over HTTP/2"},
    {"grpc", "GRPC", "grpcHealthCheck", Family::grpc, "that asks gRPC's health service"},
    {"grpc-with-tls", "GRPC_WITH_TLS", "grpcTlsHealthCheck", Family::grpc,
     "that asks gRPC's health service over TLS"},
}};

std::vector<Flag> portFlags(const std::string& block) {
  Flag port = field("--port", Value::number, block + "port", "the port that is probed");
  port.sets = {{block + "portSpecification", nullptr}};
  Flag serving = toggle("--use-serving-port", Value::on, "",
                        "probe the port of the endpoint (proxy services)");
  serving.sets = {{block + "portSpecification", "USE_SERVING_PORT"}, {block + "port", nullptr}};
  return {std::move(port), std::move(serving)};
}

std::vector<Flag> familyFlags(Family family, const std::string& block) {
  const auto at = [&](const char* name, const char* path, const char* help) {
    return field(name, Value::text, block + path, help);
  };
  Flag proxyHeader = word("--proxy-header", block + "proxyHeader",
                          "what precedes the probe (default NONE)", {"NONE", "PROXY_V1"});
  switch (family) {
    case Family::connect:
      return {at("--request", "request", "text that is sent after connecting"),
              at("--response", "response", "text that the answer must begin with"),
              std::move(proxyHeader)};
    case Family::http:
      return {at("--request-path", "requestPath", "path that is asked for (default /)"),
              at("--host", "host", "the Host header (default: the address that is probed)"),
              at("--response", "response", "text that the first 1,024 bytes of the body must hold"),
              std::move(proxyHeader)};
    case Family::grpc:
      return {at("--grpc-service-name", "grpcServiceName", "service that is asked for")};
  }
  return {};
}

std::vector<Flag> checkFlags(const Protocol& protocol) {
  const std::string block = std::string(protocol.block) + ".";
  std::vector<Flag> flags = portFlags(block);
  append(flags, familyFlags(protocol.family, block));
  append(flags,
         {field("--check-interval", Value::seconds, "checkIntervalSec",
                "from the start of one probe to the start of the next (default 5s)"),
          field("--timeout", Value::seconds, "timeoutSec",
                "after so long a probe has failed; at most the interval (default 5s)"),
          field("--healthy-threshold", Value::number, "healthyThreshold",
                "successes in a row that make a backend healthy (default 2)"),
          field("--unhealthy-threshold", Value::number, "unhealthyThreshold",
                "failures in a row that make a backend unhealthy (default 2)"),
          word("--probe-target", "probeTarget",
               "where probes of passthrough services go (default VIRTUAL_IP); weir's own flag",
               {"VIRTUAL_IP", "ENDPOINT"}),
          toggle("--enable-logging", Value::onOff, "logConfig.enable",
                 "a log line for each transition"),
          field("--description", Value::text, "description", "accepted; weir does not keep it")});
  refuse(flags, {"--port-name"}, "named ports belong to instance groups; give the port");
  refuse(flags, {"--source-regions"}, "every node of weir probes for itself");
  return flags;
}

// The type goes with the flags: a check of another type then refuses the block (H1).
void makeTyped(Command& command, const Protocol& protocol, const char* verb) {
  command.words = {"health-checks", verb, protocol.word};
  // A flag that is always there would need no place on the command line; the type is put in here.
  command.run = [run = command.run, &protocol](const Context& context,
                                               const Invocation& invocation) {
    static const Flag kType = field("--type", Value::text, "type", "");
    Invocation typed = invocation;
    if (!patchOf(invocation).empty() || invocation.command().words[1] == "create")
      typed.add({&kType, protocol.type, protocol.type});
    return run(context, typed);
  };
}

std::string portOf(const Json& check) {
  for (const Protocol& protocol : kProtocols) {
    if (!check.contains(protocol.block)) continue;
    const Json& block = check[protocol.block];
    if (block.value("portSpecification", "") == "USE_SERVING_PORT") return "serving";
    if (block.contains("port")) return cellText(block["port"]);
  }
  return "";
}

std::string secondsOr5(const Json& check, const char* key) {
  return fmt::format("{}s", check.value(key, 5u));
}

}  // namespace

const Collection& healthChecks() {
  static const Collection kCollection{
      .command = "health-checks",
      .api = "healthChecks",
      .singular = "health check",
      .summary = "Health checks: how weir finds out which backends work",
      .columns = {column("NAME", "name"),
                  {"TYPE", [](const Json& check) { return check.value("type", "TCP"); }},
                  {"PORT", portOf},
                  {"INTERVAL",
                   [](const Json& check) { return secondsOr5(check, "checkIntervalSec"); }},
                  {"TIMEOUT", [](const Json& check) { return secondsOr5(check, "timeoutSec"); }}},
      .exampleName = "web-hc"};
  return kCollection;
}

void addHealthChecks(std::vector<Command>& commands) {
  const Collection& collection = healthChecks();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  for (const Protocol& protocol : kProtocols) {
    const char* port = protocol.family == Family::grpc ? "50051" : "80";
    Command create = createCommand(
        collection, checkFlags(protocol),
        fmt::format("weirctl health-checks create {} web-hc --port={} --check-interval=2s "
                    "--timeout=1s",
                    protocol.word, port));
    create.summary = fmt::format("Create a health check {}", protocol.summary);
    makeTyped(create, protocol, "create");
    commands.push_back(std::move(create));
  }
  for (const Protocol& protocol : kProtocols) {
    Command update =
        updateCommand(collection, checkFlags(protocol),
                      fmt::format("weirctl health-checks update {} web-hc --unhealthy-threshold=3",
                                  protocol.word));
    update.summary = fmt::format("Change fields of a health check {}", protocol.summary);
    makeTyped(update, protocol, "update");
    commands.push_back(std::move(update));
  }
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
