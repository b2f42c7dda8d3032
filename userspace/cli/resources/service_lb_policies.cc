// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

std::vector<Flag> policyFlags() {
  std::vector<Flag> flags{
      word("--load-balancing-algorithm", "loadBalancingAlgorithm",
           "how load fills groups, zones and regions (default WATERFALL_BY_REGION)",
           {"WATERFALL_BY_REGION", "SPRAY_TO_REGION", "WATERFALL_BY_ZONE", "SPRAY_TO_WORLD"}),
      toggle("--auto-capacity-drain", Value::onOff, "autoCapacityDrain.enable",
             "a group with fewer than 25% of its members healthy gets nothing new (default off)"),
      field("--failover-health-threshold", Value::number, "failoverConfig.failoverHealthThreshold",
            "percent of healthy members, 1 to 99, below which load spills over (default 70)"),
      word("--isolation-config-granularity", "isolationConfig.isolationGranularity",
           "UNSPECIFIED turns isolation off", {"UNSPECIFIED", "REGION"}),
      word("--isolation-config-mode", "isolationConfig.isolationMode",
           "how strictly load stays in the region", {"UNSPECIFIED", "NEAREST", "STRICT"}),
      field("--description", Value::text, "description", "accepted; weir does not keep it"),
  };
  flags.push_back(ignoredSwitch("--async"));
  return flags;
}

}  // namespace

const Collection& serviceLbPolicies() {
  static const Collection kCollection{
      .command = "service-lb-policies",
      .api = "serviceLbPolicies",
      .singular = "service load-balancing policy",
      .summary = "Service load-balancing policies: where a proxy's load goes across groups",
      .columns = {column("NAME", "name"),
                  {"ALGORITHM",
                   [](const Json& policy) {
                     return policy.value("loadBalancingAlgorithm", "WATERFALL_BY_REGION");
                   }},
                  {"AUTO DRAIN",
                   [](const Json& policy) -> std::string {
                     return policy.value("/autoCapacityDrain/enable"_json_pointer, false) ? "yes"
                                                                                          : "no";
                   }},
                  {"THRESHOLD",
                   [](const Json& policy) {
                     return std::to_string(
                         policy.value("/failoverConfig/failoverHealthThreshold"_json_pointer, 70u));
                   }},
                  column("ISOLATION", "isolationConfig.isolationMode")},
      .exampleName = "spread"};
  return kCollection;
}

void addServiceLbPolicies(std::vector<Command>& commands) {
  const Collection& collection = serviceLbPolicies();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(createCommand(collection, policyFlags(),
                                   "weirctl service-lb-policies create spread "
                                   "--load-balancing-algorithm=SPRAY_TO_REGION "
                                   "--auto-capacity-drain"));
  commands.push_back(updateCommand(collection, policyFlags(),
                                   "weirctl service-lb-policies update spread "
                                   "--no-auto-capacity-drain --failover-health-threshold=70"));
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
