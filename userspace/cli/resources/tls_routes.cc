// SPDX-License-Identifier: GPL-2.0-or-later
//
// TLS routes are made from documents only, as gcloud does: their rules do not fit into flags.
#include <fmt/format.h>

#include "cli/resources/collections.h"

namespace weir::cli {

namespace {

// The first names of all rules, and how many more there are.
std::string namesOf(const Json& route) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t count = 0;
  for (const Json& rule : route.value("rules", Json::array()))
    for (const Json& match : rule.value("matches", Json::array()))
      for (const Json& host : match.value("sniHost", Json::array()))
        if (count++ < kShown) text += (text.empty() ? "" : ",") + cellText(host);
  return count > kShown ? fmt::format("{} and {} more", text, count - kShown) : text;
}

}  // namespace

const Collection& tlsRoutes() {
  static const Collection kCollection{
      .command = "tls-routes",
      .api = "tlsRoutes",
      .singular = "TLS route",
      .summary = "TLS routes: which server names a proxy sends to which service",
      .columns = {column("NAME", "name"),
                  column("TARGET PROXIES", "targetProxies"),
                  {"SERVER NAMES", namesOf}},
      .exampleName = "shop-names"};
  return kCollection;
}

void addTlsRoutes(std::vector<Command>& commands) {
  const Collection& collection = tlsRoutes();
  commands.push_back(listCommand(collection));
  commands.push_back(describeCommand(collection));
  commands.push_back(importCommand(collection));
  commands.push_back(exportCommand(collection));
  commands.push_back(deleteCommand(collection));
}

}  // namespace weir::cli
