// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/resources/collections.h"
#include "cli/resources/flags.h"

namespace weir::cli {

namespace {

std::vector<Flag> proxyFlags() {
  std::vector<Flag> flags{
      reference("--backend-service", Value::text, "service",
                "where connections go; without it, TLS routes name the proxy", "backendServices"),
      word("--proxy-header", "proxyHeader",
           "how backends learn the client's address (default NONE); PROXY_V2 is weir's own",
           {"NONE", "PROXY_V1", "PROXY_V2"}),
      field("--accept-proxy-from", Value::names, "acceptProxyFrom",
            "ranges whose connections begin with a PROXY header; weir's own flag"),
      field("--description", Value::text, "description", "accepted; weir does not keep it"),
  };
  ignore(flags, {"--backend-service-region", "--load-balancing-scheme"});
  flags.push_back(ignoredSwitch("--global-backend-service"));
  return flags;
}

}  // namespace

const Collection& targetTcpProxies() {
  static const Collection kCollection{
      .command = "target-tcp-proxies",
      .api = "targetTcpProxies",
      .singular = "target TCP proxy",
      .summary = "Target TCP proxies: where connections that weir ends go on",
      .columns = {column("NAME", "name"),
                  column("SERVICE", "service"),
                  {"PROXY HEADER",
                   [](const Json& proxy) { return proxy.value("proxyHeader", "NONE"); }}},
      .exampleName = "shop-proxy"};
  return kCollection;
}

void addTargetTcpProxies(std::vector<Command>& commands) {
  const Collection& collection = targetTcpProxies();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(
      createCommand(collection, proxyFlags(),
                    "weirctl target-tcp-proxies create shop-proxy --backend-service=shop "
                    "--proxy-header=PROXY_V1"));
  auto flags = proxyFlags();
  flags.push_back(toggle("--no-accept-proxy-from", Value::reset, "acceptProxyFrom",
                         "nobody's connections begin with a PROXY header"));
  commands.push_back(updateCommand(collection, std::move(flags),
                                   "weirctl target-tcp-proxies update shop-proxy "
                                   "--proxy-header=NONE"));
  commands.push_back(deleteCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(importCommand(collection));
}

}  // namespace weir::cli
