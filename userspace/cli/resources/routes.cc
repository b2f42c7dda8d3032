// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

std::vector<Flag> routeFlags() {
  std::vector<Flag> flags{
      field("--destination-range", Value::text, "destRange",
            "packets to these addresses, such as 0.0.0.0/0"),
      field("--priority", Value::number, "priority",
            "0 to 65535; lower wins among routes of the same range (default 1000)"),
      reference("--next-hop-ilb", Value::text, "nextHopIlb",
                "forwarding rule, by name or address, whose service they go through",
                "forwardingRules"),
      field("--description", Value::text, "description", "accepted; weir does not keep it"),
  };
  ignore(flags, {"--network", "--next-hop-ilb-region"});
  refuse(
      flags,
      {"--next-hop-address", "--next-hop-gateway", "--next-hop-instance", "--next-hop-vpn-tunnel"},
      "weir routes to load balancers only (--next-hop-ilb); the kernel has the other routes");
  refuse(flags, {"--tags"}, "a route is for every packet that this machine routes");
  return flags;
}

}  // namespace

const Collection& routes() {
  static const Collection kCollection{
      .command = "routes",
      .api = "routes",
      .singular = "route",
      .summary = "Routes: which destinations are reached through a load balancer",
      .columns = {column("NAME", "name"),
                  column("DESTINATION", "destRange"),
                  {"PRIORITY",
                   [](const Json& route) {
                     return std::to_string(route.value("priority", 1000u));
                   }},
                  column("NEXT HOP", "nextHopIlb")},
      .exampleName = "via-firewall"};
  return kCollection;
}

void addRoutes(std::vector<Command>& commands) {
  const Collection& collection = routes();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(createCommand(collection, routeFlags(),
                                   "weirctl routes create via-firewall "
                                   "--destination-range=0.0.0.0/0 --next-hop-ilb=fw-vip"));
  commands.push_back(
      updateCommand(collection, routeFlags(), "weirctl routes update via-firewall --priority=500"));
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
