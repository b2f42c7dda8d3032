// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

std::vector<Flag> ruleFlags() {
  Flag range = field("--port-range", Value::text, "portRange",
                     "the same as --ports with a range, such as 8000-8999");
  range.sets = {{"ports", nullptr}, {"allPorts", nullptr}};
  Flag backend = reference("--backend-service", Value::text, "backendService",
                           "where packets go: passthrough", "backendServices");
  backend.sets = {{"target", nullptr}};
  Flag target = reference("--target-tcp-proxy", Value::text, "target",
                          "where connections go: proxy", "targetTcpProxies");
  target.sets = {{"backendService", nullptr}};
  std::vector<Flag> flags{
      word("--load-balancing-scheme", "loadBalancingScheme",
           "passthrough or proxy, inside or outside (default INTERNAL)",
           {"INTERNAL", "EXTERNAL", "INTERNAL_MANAGED", "EXTERNAL_MANAGED"}),
      field("--address", Value::text, "IPAddress", "the virtual address, IPv4 or IPv6"),
      word("--ip-protocol", "IPProtocol", "L3_DEFAULT is every protocol (default TCP)",
           {"TCP", "UDP", "L3_DEFAULT"}),
      field("--ports", Value::ports, "", "1 to 5 ports, a range, or ALL"),
      std::move(range),
      std::move(backend),
      std::move(target),
      word("--announce", "announce",
           "how the network learns of the address (default NONE); weir's own flag",
           {"NONE", "ARP", "ROUTE"}),
      field("--description", Value::text, "description", "accepted; weir does not keep it"),
  };
  ignore(flags, {"--network", "--subnet", "--subnet-region", "--address-region",
                 "--backend-service-region", "--target-tcp-proxy-region", "--ip-version",
                 "--network-tier", "--service-label"});
  flags.push_back(ignoredSwitch("--allow-global-access"));
  flags.push_back(ignoredSwitch("--global-address"));
  flags.push_back(ignoredSwitch("--global-backend-service"));
  flags.push_back(ignoredSwitch("--global-target-tcp-proxy"));
  refuse(flags, {"--target-http-proxy", "--target-https-proxy", "--target-grpc-proxy"},
         "weir does not read HTTP");
  refuse(flags, {"--target-ssl-proxy"}, "weir does not end TLS");
  refuse(flags, {"--target-pool", "--target-instance"}, "use --backend-service");
  refuse(flags, {"--source-ip-ranges"},
         "a rule takes packets of every source; filter with nftables");
  refuse(flags, {"--is-mirroring-collector"}, "weir does not mirror packets");
  return flags;
}

std::string portsOf(const Json& rule) {
  if (rule.value("allPorts", false)) return "all";
  for (const char* key : {"portRange", "ports"})
    if (rule.contains(key)) return cellText(rule[key]);
  return "";
}

std::string protocolOf(const Json& rule) { return rule.value("IPProtocol", "TCP"); }

std::string destinationOf(const Json& rule) {
  for (const char* key : {"backendService", "target"})
    if (rule.contains(key)) return cellText(rule[key]);
  return "";
}

}  // namespace

const Collection& forwardingRules() {
  static const Collection kCollection{
      .command = "forwarding-rules",
      .api = "forwardingRules",
      .singular = "forwarding rule",
      .summary = "Forwarding rules: which virtual addresses and ports lead to which service",
      .columns = {column("NAME", "name"),
                  column("ADDRESS", "IPAddress"),
                  {"PROTOCOL", protocolOf},
                  {"PORTS", portsOf},
                  {"TARGET", destinationOf}},
      .exampleName = "web-vip"};
  return kCollection;
}

void addForwardingRules(std::vector<Command>& commands) {
  const Collection& collection = forwardingRules();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(
      createCommand(collection, ruleFlags(),
                    "weirctl forwarding-rules create web-vip --address=10.9.9.9 --ip-protocol=TCP "
                    "--ports=80,443 --backend-service=web"));
  commands.push_back(updateCommand(collection, ruleFlags(),
                                   "weirctl forwarding-rules update web-vip --ports=ALL"));
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
