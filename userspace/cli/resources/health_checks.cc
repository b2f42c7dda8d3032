// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/help.h"
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
  const char* defaultPort;
  const char* summary;
};
constexpr std::array<Protocol, 7> kProtocols{{
    {"tcp", "TCP", "tcpHealthCheck", Family::connect, "80", "that connects"},
    {"ssl", "SSL", "sslHealthCheck", Family::connect, "443",
     "that connects and shakes hands by TLS"},
    {"http", "HTTP", "httpHealthCheck", Family::http, "80", "that wants status 200"},
    {"https", "HTTPS", "httpsHealthCheck", Family::http, "443", "that wants status 200 over TLS"},
    {"http2", "HTTP2", "http2HealthCheck", Family::http, "443",
     "that wants status 200 over HTTP/2"},
    {"grpc", "GRPC", "grpcHealthCheck", Family::grpc, "", "that asks gRPC's health service"},
    {"grpc-with-tls", "GRPC_WITH_TLS", "grpcTlsHealthCheck", Family::grpc, "",
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

void makeCreate(Command& command, const Protocol& protocol) {
  command.words = {"health-checks", "create", protocol.word};
  // A flag that is always there would need no place on the command line; the type is put in here.
  command.run = [run = command.run, &protocol](const Context& context,
                                               const Invocation& invocation) {
    static const Flag kType = field("--type", Value::text, "type", "");
    Invocation typed = invocation;
    typed.add({&kType, protocol.type, protocol.type});
    return run(context, typed);
  };
}

// The command's type must be the check's own: it says which flags there are, and changes nothing.
void makeUpdate(Command& command, const Protocol& protocol) {
  command.words = {"health-checks", "update", protocol.word};
  command.run = [&protocol](const Context& context, const Invocation& invocation) {
    const std::string name = invocation.argument(0);
    const Json patch = patchOf(invocation);
    if (patch.empty())
      return misused(invocation.command(), "nothing to change: no flag sets a field",
                     context.err());
    const auto change = [&](const Json& check) -> Result<Json> {
      // TCP is the default, which is not written.
      const std::string type = check.value("type", check.contains("name") ? "TCP" : protocol.type);
      if (type == protocol.type) return patch;
      const auto own = std::find_if(kProtocols.begin(), kProtocols.end(),
                                    [&](const Protocol& p) { return p.type == type; });
      const std::string word = own == kProtocols.end() ? type : own->word;
      return Error{fmt::format(
          "health check {0} is of type {1}, not {2}; change it with weirctl health-checks update "
          "{3} {0}, or make one of type {2} and give that to the service",
          name, type, protocol.type, word)};
    };
    return edit(context, healthChecks(), name, invocation, change, "updated");
  };
}

std::string portOf(const Json& check) {
  for (const Protocol& protocol : kProtocols) {
    if (!check.contains(protocol.block)) continue;
    const Json& block = check[protocol.block];
    if (block.value("portSpecification", "") == "USE_SERVING_PORT") return "serving";
    if (block.contains("port")) return cellText(block["port"]);
  }
  // H3: what is not given has a default, except for gRPC.
  const std::string type = check.value("type", "TCP");
  const auto own = std::find_if(kProtocols.begin(), kProtocols.end(),
                                [&](const Protocol& protocol) { return protocol.type == type; });
  return own == kProtocols.end() ? "" : own->defaultPort;
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
    makeCreate(create, protocol);
    commands.push_back(std::move(create));
  }
  for (const Protocol& protocol : kProtocols) {
    Command update =
        updateCommand(collection, checkFlags(protocol),
                      fmt::format("weirctl health-checks update {} web-hc --unhealthy-threshold=3",
                                  protocol.word));
    update.summary = fmt::format("Change fields of a health check {}", protocol.summary);
    makeUpdate(update, protocol);
    commands.push_back(std::move(update));
  }
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
