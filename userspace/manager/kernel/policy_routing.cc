// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/policy_routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>
#include <set>

#include "manager/kernel/attributes.h"
#include "manager/kernel/next_hop.h"
#include "manager/kernel/route_messages.h"
#include "manager/kernel/rule_tree.h"

namespace weir::manager {
namespace {

// Sends changes and gathers the first refusal. `goals` are errors that mean that someone else has
// removed the same already.
Status change(Netlink& netlink, Messages& messages, std::initializer_list<int> goals) {
  Status first = success();
  std::size_t refused = 0;
  const Status sent = netlink.exchange(messages, [&](const NetlinkAnswer& answer) {
    if (answer.error == 0 || std::ranges::find(goals, answer.error) != goals.end()) return;
    if (refused++ == 0) {
      first = Error{fmt::format("the kernel refused the {}: {}", messages.name(answer.request),
                                describe(answer))};
    }
  });
  if (!sent) return sent;
  if (refused > 1)
    return Error{fmt::format("{} (and {} more)", first.error().message, refused - 1)};
  return first;
}

Result<RoutingState> readState(Netlink& netlink, Family family, const RoutingOwnership& own) {
  RoutingState state;
  Messages request;
  addRuleDump(request, family);
  Result<Messages> rules = netlink.dump(request);
  if (!rules) return rules.error();
  Messages routeRequest;
  addRouteDump(routeRequest, family, own.routeProtocol);
  Result<Messages> routes = netlink.dump(routeRequest);
  if (!routes) return routes.error();
  state.ruleDump = std::move(*rules);
  state.routeDump = std::move(*routes);

  for (std::size_t i = 0; i < state.ruleDump.size(); ++i) {
    const nlmsghdr* message = state.ruleDump.at(i);
    const auto rule = readRule(*message, own.routeProtocol);
    if (rule && rule->rule.preference - own.ruleBase < kRulePreferences)
      state.rules.push_back({*rule, message});
  }
  for (std::size_t i = 0; i < state.routeDump.size(); ++i) {
    const nlmsghdr* message = state.routeDump.at(i);
    const auto route = readRoute(*message, own.routeProtocol);
    if (route && route->route.table - own.tableBase < kMarkIndices)
      state.routes.push_back({*route, message});
  }
  return state;
}

Status addRoutesAndRules(Netlink& netlink, Family family, const RoutingWish& wish,
                         const RoutingState& state, std::uint8_t protocol) {
  std::map<std::uint32_t, BackendTable> tables;
  for (const RoutingState::Route& route : state.routes)
    if (route.dumped.exact) tables.insert({route.dumped.route.table, route.dumped.route});
  Messages routes;
  for (const auto& [table, route] : wish.tables) {
    const auto there = tables.find(table);
    if (there == tables.end() || there->second != route)
      addNewRoute(routes, family, route, protocol);
  }
  Status status = change(netlink, routes, {});

  std::set<RoutingRule> present;
  for (const RoutingState::Rule& rule : state.rules)
    if (rule.dumped.exact) present.insert(rule.dumped.rule);
  Messages rules;
  for (const RoutingRule& rule : wish.rules)
    if (!present.contains(rule)) addNewRule(rules, family, rule, protocol);
  keepFirst(status, change(netlink, rules, {}));
  return status;
}

Status removeOthers(Netlink& netlink, const RoutingWish& wish, const RoutingState& state) {
  std::set<RoutingRule> wanted(wish.rules.begin(), wish.rules.end());
  Messages rules;
  for (const RoutingState::Rule& rule : state.rules) {
    // A second copy of a wanted rule is no longer in the set, and goes.
    if (!rule.dumped.exact || wanted.erase(rule.dumped.rule) == 0)
      addDeletion(rules, *rule.message);
  }
  Status status = change(netlink, rules, {ENOENT, ESRCH});

  Messages routes;
  for (const RoutingState::Route& route : state.routes) {
    // Such a route in a wanted table was right or has been replaced.
    const bool replaced =
        route.dumped.replaceable && wish.tables.contains(route.dumped.route.table);
    if (!replaced) addDeletion(routes, *route.message);
  }
  keepFirst(status, change(netlink, routes, {ENOENT, ESRCH, ENODEV}));
  return status;
}

Status checkWish(const KernelWish& wish) {
  const std::uint32_t mask = wish.fwmarkMask;
  if (mask == 0 || ((mask >> std::countr_zero(mask)) & ((mask >> std::countr_zero(mask)) + 1)) != 0)
    return Error{fmt::format("fwmarkMask {:#x} is not a block of adjacent bits", mask)};
  for (const BackendRoute& backend : wish.backends) {
    const std::uint32_t index = indexOfMark(backend.mark, mask);
    if ((backend.mark.value() & ~mask) != 0 || index == 0 || index >= kMarkIndices)
      return Error{fmt::format("mark {:#x} is not one of the {} marks under fwmarkMask {:#x}",
                               backend.mark.value(), kMarkIndices - 1, mask)};
  }
  return success();
}

// Fills both families' wishes and says who cannot be reached.
Result<std::vector<UnreachableBackend>> makeWishes(
    Netlink& netlink, const KernelWish& wish, std::array<RoutingWish, kFamilies.size()>& families) {
  struct Wanted {
    Mark mark;
    std::uint32_t index;
    Family family;
  };
  std::vector<Wanted> wanted;
  std::vector<Address> addresses;
  for (const BackendRoute& backend : wish.backends) {
    for (const auto& address : {backend.ipv4, backend.ipv6}) {
      if (!address) continue;
      wanted.push_back(
          {backend.mark, indexOfMark(backend.mark, wish.fwmarkMask), address->family()});
      addresses.push_back(*address);
    }
  }
  const auto nextHops = findNextHops(netlink, addresses);
  if (!nextHops) return nextHops.error();

  std::vector<UnreachableBackend> unreachable;
  std::array<std::set<std::uint32_t>, kFamilies.size()> indices;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t family = indexOf(wanted[i].family);
    const NextHop& hop = (*nextHops)[i];
    const std::uint32_t table = wish.tableBase + wanted[i].index;
    families[family].tables[table] = {table, hop.interface,
                                      hop.interface != 0 ? addresses[i] : Address{}};
    indices[family].insert(wanted[i].index);
    if (!hop.reason.empty()) unreachable.push_back({wanted[i].mark, wanted[i].family, hop.reason});
  }
  for (const Family family : kFamilies) {
    const auto& set = indices[indexOf(family)];
    const std::vector<std::uint32_t> sorted(set.begin(), set.end());
    families[indexOf(family)].rules =
        layRuleTree({wish.ruleBase, wish.tableBase, wish.fwmarkMask}, sorted);
  }
  std::ranges::sort(unreachable, {}, [](const UnreachableBackend& backend) {
    return std::pair(backend.mark, backend.family);
  });
  return unreachable;
}

}  // namespace

Result<RoutingPass> RoutingPass::begin(Netlink& netlink, const KernelWish& wish) {
  if (Status valid = checkWish(wish); !valid) return valid.error();
  RoutingPass pass(netlink, wish.routeProtocol);
  auto unreachable = makeWishes(netlink, wish, pass.wishes_);
  if (!unreachable) return unreachable.error();
  pass.unreachable_ = std::move(*unreachable);
  for (const Family family : kFamilies) {
    auto state = readState(netlink, family, routingOwnership(wish));
    if (!state) return state.error();
    pass.states_[indexOf(family)] = std::move(*state);
  }
  return pass;
}

Status RoutingPass::addMissing() {
  Status status = success();
  for (const Family family : kFamilies)
    keepFirst(status, addRoutesAndRules(*netlink_, family, wishes_[indexOf(family)],
                                        states_[indexOf(family)], protocol_));
  return status;
}

Status RoutingPass::removeOld() {
  Status status = success();
  for (const Family family : kFamilies)
    keepFirst(status, removeOthers(*netlink_, wishes_[indexOf(family)], states_[indexOf(family)]));
  return status;
}

Status removeRouting(Netlink& netlink, const RoutingOwnership& own) {
  Status status = success();
  for (const Family family : kFamilies) {
    const auto state = readState(netlink, family, own);
    if (!state) {
      keepFirst(status, state.error());
      continue;
    }
    keepFirst(status, removeOthers(netlink, {}, *state));
  }
  return status;
}

}  // namespace weir::manager
