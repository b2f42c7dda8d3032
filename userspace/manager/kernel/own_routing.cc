// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/own_routing.h"

#include <fmt/format.h>

#include <cerrno>

#include "manager/kernel/own_numbers.h"

namespace weir::manager {

Status OwnRouting::addRoutes(const std::set<OwnRoute>& found, std::set<OwnRoute> wanted,
                             const RoutingOwnership& own, std::span<const RoutingOwnership> former,
                             ChangeLog& log) {
  // Where a route of weir's is, or was before somebody replaced it.
  std::set<std::pair<Prefix, std::uint32_t>> places;
  const auto note = [&places](const std::set<OwnRoute>& routes) {
    for (const OwnRoute& route : routes) places.emplace(route.destination, route.table);
  };
  note(found);
  note(routes_.made());
  for (const RoutingOwnership& other : former) {
    if (other.routeProtocol == own.routeProtocol) continue;
    const auto routes = ownRoutes(netlink_, {own.ruleBase, own.tableBase, other.routeProtocol});
    if (!routes) return routes.error();
    note(*routes);
  }
  routes_.compare(found, std::move(wanted), log);
  Messages messages;
  for (const OwnRoute& route : routes_.missing())
    addOwnRoute(
        messages, route, own.routeProtocol,
        places.contains({route.destination, route.table}) ? RoutePlace::ours : RoutePlace::unknown);
  std::vector<std::size_t> taken;
  Status status = sendCreations(netlink_, messages, taken);
  for (const std::size_t index : taken) {
    const OwnRoute& route = routes_.missing()[index];
    routes_.refused(route);
    keepFirst(status, Error{fmt::format(
                          "there is a {} that weir has not made, in the place of its "
                          "own: delete that one or choose another {} in weir.yaml",
                          route.toString(),
                          route.table == announceTable(own) ? "routeProtocol" : "tableBase")});
  }
  return status;
}

Status OwnRouting::addMissing(OwnRoutingWish wish, const RoutingOwnership& own,
                              std::span<const RoutingOwnership> former, ChangeLog& log) {
  const auto routes = ownRoutes(netlink_, own);
  if (!routes) return routes.error();
  const auto rules = ownRules(netlink_, own);
  if (!rules) return rules.error();
  Status status = addRoutes(*routes, std::move(wish.routes), own, former, log);
  rules_.compare(*rules, std::move(wish.rules), log);
  Messages messages;
  for (const OwnRule& rule : rules_.missing()) addOwnRule(messages, rule, own.routeProtocol);
  keepFirst(status, sendChanges(netlink_, messages, {}));
  return status;
}

Status OwnRouting::remove(const std::vector<OwnRoute>& routes, const std::vector<OwnRule>& rules,
                          std::uint8_t protocol) {
  Messages messages;
  for (const OwnRule& rule : rules) addOwnRuleDeletion(messages, rule, protocol);
  Status status = sendChanges(netlink_, messages, {ENOENT, ESRCH});
  Messages routeMessages;
  for (const OwnRoute& route : routes) addOwnRouteDeletion(routeMessages, route, protocol);
  keepFirst(status, sendChanges(netlink_, routeMessages, {ENOENT, ESRCH, ENODEV}));
  return status;
}

Status OwnRouting::removeOthers(const RoutingOwnership& own) {
  // One that stood in the place of a wanted route has been replaced by it.
  std::set<std::pair<Prefix, std::uint32_t>> taken;
  for (const OwnRoute& route : routes_.missing()) taken.emplace(route.destination, route.table);
  std::vector<OwnRoute> routes;
  for (const OwnRoute& route : routes_.others())
    if (!taken.contains({route.destination, route.table})) routes.push_back(route);
  const Status status = remove(routes, rules_.others(), own.routeProtocol);
  routes_.removed();
  rules_.removed();
  return status;
}

Status OwnRouting::removeAll(const RoutingOwnership& own, bool keep) {
  const auto routes = ownRoutes(netlink_, own);
  if (!routes) return routes.error();
  const auto rules = ownRules(netlink_, own);
  if (!rules) return rules.error();
  std::vector<OwnRoute> oldRoutes;
  for (const OwnRoute& route : *routes)
    if (!keep || !routes_.made().contains(route)) oldRoutes.push_back(route);
  std::vector<OwnRule> oldRules;
  for (const OwnRule& rule : *rules)
    if (!keep || !rules_.made().contains(rule)) oldRules.push_back(rule);
  if (!keep) forget();
  return remove(oldRoutes, oldRules, own.routeProtocol);
}

}  // namespace weir::manager
