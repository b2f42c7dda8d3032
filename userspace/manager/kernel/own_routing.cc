// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/own_routing.h"

#include <cerrno>

namespace weir::manager {

Status OwnRouting::addMissing(OwnRoutingWish wish, const RoutingOwnership& own, ChangeLog& log) {
  const auto routes = ownRoutes(netlink_, own);
  if (!routes) return routes.error();
  const auto rules = ownRules(netlink_, own);
  if (!rules) return rules.error();
  routes_.compare(*routes, std::move(wish.routes), log);
  rules_.compare(*rules, std::move(wish.rules), log);
  Messages messages;
  for (const OwnRoute& route : routes_.missing()) addOwnRoute(messages, route, own.routeProtocol);
  Status status = sendChanges(netlink_, messages, {});
  Messages ruleMessages;
  for (const OwnRule& rule : rules_.missing()) addOwnRule(ruleMessages, rule, own.routeProtocol);
  keepFirst(status, sendChanges(netlink_, ruleMessages, {EEXIST}));
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
  if (!keep) {
    routes_.forget();
    rules_.forget();
  }
  return remove(oldRoutes, oldRules, own.routeProtocol);
}

}  // namespace weir::manager
