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
#include "manager/kernel/skipped_rules.h"

namespace weir::manager {
namespace {

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

std::string ruleNoun(Family family) { return fmt::format("{} routing rule", familyName(family)); }
std::string routeNoun(Family family) { return fmt::format("{} route", familyName(family)); }

std::string nameOf(const BackendTable& route, const BackendTable* before) {
  if (route.interface != 0) return "to backend " + route.gateway.toString();
  if (before != nullptr && before->interface != 0)
    return fmt::format("to backend {}: unreachable", before->gateway.toString());
  return fmt::format("unreachable in table {}", route.table);
}

const BackendTable* find(const std::map<std::uint32_t, BackendTable>& tables, std::uint32_t table) {
  const auto found = tables.find(table);
  return found == tables.end() ? nullptr : &found->second;
}

// Fills both families' wishes and says who cannot be reached.
std::vector<UnreachableBackend> makeWishes(const KernelWish& wish, const NextHops& nextHops,
                                           const std::function<bool(Address)>& maySend,
                                           RoutingWishes& families) {
  std::vector<UnreachableBackend> unreachable;
  std::array<std::set<std::uint32_t>, kFamilies.size()> indices;
  for (const BackendRoute& backend : wish.backends) {
    const std::uint32_t index = indexOfMark(backend.mark, wish.fwmarkMask);
    const std::uint32_t table = wish.tableBase + index;
    for (const auto& address : {backend.ipv4, backend.ipv6}) {
      if (!address) continue;
      const Family family = address->family();
      const NextHop& hop = nextHops.at(*address);
      const bool sends = hop.interface != 0 && maySend(*address);
      families[indexOf(family)].tables[table] = {table, sends ? hop.interface : 0,
                                                 sends ? *address : Address{}};
      indices[indexOf(family)].insert(index);
      if (!hop.reason.empty()) unreachable.push_back({backend.mark, family, hop.reason});
    }
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

Status checkMask(const KernelWish& wish) {
  const std::uint32_t mask = wish.fwmarkMask;
  if (mask == 0 || ((mask >> std::countr_zero(mask)) & ((mask >> std::countr_zero(mask)) + 1)) != 0)
    return Error{fmt::format("fwmarkMask {:#x} is not a block of adjacent bits", mask)};
  return success();
}

std::vector<BackendRoute> takeMisfits(KernelWish& wish) {
  const auto fits = [mask = wish.fwmarkMask](const BackendRoute& backend) {
    const std::uint32_t index = indexOfMark(backend.mark, mask);
    return (backend.mark.value() & ~mask) == 0 && index != 0 && index < kMarkIndices;
  };
  const auto misfit = std::stable_partition(wish.backends.begin(), wish.backends.end(), fits);
  std::vector<BackendRoute> taken(misfit, wish.backends.end());
  wish.backends.erase(misfit, wish.backends.end());
  return taken;
}

std::string describeMisfit(const BackendRoute& backend, std::uint32_t fwmarkMask) {
  return fmt::format("mark {:#x} is not one of the {} marks under fwmarkMask {:#x}",
                     backend.mark.value(), kMarkIndices - 1, fwmarkMask);
}

Result<RoutingPass> RoutingPass::begin(Netlink& netlink, const KernelWish& wish,
                                       const NextHops& nextHops,
                                       const std::function<bool(Address)>& maySend,
                                       const RoutingWishes& before, bool pruned,
                                       std::span<const RoutingOwnership> former, ChangeLog& log) {
  RoutingPass pass(netlink, wish, before, pruned, log);
  pass.former_.assign(former.begin(), former.end());
  pass.unreachable_ = makeWishes(wish, nextHops, maySend, pass.wishes_);
  for (const Family family : kFamilies) {
    auto state = readState(netlink, family, routingOwnership(wish));
    if (!state) return state.error();
    if (!pass.wishes_[indexOf(family)].rules.empty())
      for (std::string& rule : skippedRules(state->ruleDump, family, pass.own_, former))
        pass.skipped_.push_back(std::move(rule));
    pass.states_[indexOf(family)] = std::move(*state);
    pass.keepLeftOver(family);
  }
  if (Status read = pass.readFormerTables(former); !read) return read.error();
  return pass;
}

void RoutingPass::keepLeftOver(Family family) {
  const RoutingWish& before = (*before_)[indexOf(family)];
  RoutingWish& wish = wishes_[indexOf(family)];
  std::set<RoutingRule> made(before.leftOver);
  made.insert(before.rules.begin(), before.rules.end());
  for (const RoutingRule& rule : wish.rules) made.erase(rule);
  for (const RoutingState::Rule& rule : states_[indexOf(family)].rules)
    if (rule.dumped.exact && made.contains(rule.dumped.rule))
      wish.leftOver.insert(rule.dumped.rule);
  for (const RoutingState::Route& route : states_[indexOf(family)].routes) {
    const std::uint32_t table = route.dumped.route.table;
    const bool wasMade = before.tables.contains(table) || before.leftOverTables.contains(table);
    if (route.dumped.exact && wasMade && !wish.tables.contains(table))
      wish.leftOverTables.insert(table);
  }
}

Status RoutingPass::readFormerTables(std::span<const RoutingOwnership> former) {
  for (const RoutingOwnership& own : former) {
    if (own.routeProtocol == protocol_) continue;
    for (const Family family : kFamilies) {
      Messages request;
      addRouteDump(request, family, own.routeProtocol);
      const auto routes = netlink_->dump(request);
      if (!routes) return routes.error();
      for (std::size_t i = 0; i < routes->size(); ++i)
        if (const auto route = readRoute(*routes->at(i), own.routeProtocol);
            route && route->replaceable)
          formerTables_[indexOf(family)].insert(route->route.table);
    }
  }
  return success();
}

Status RoutingPass::addRoutes(Family family) {
  std::map<std::uint32_t, BackendTable> present;
  std::set<std::uint32_t> ours = formerTables_[indexOf(family)];
  for (const RoutingState::Route& route : states_[indexOf(family)].routes) {
    if (route.dumped.exact) present.insert({route.dumped.route.table, route.dumped.route});
    if (route.dumped.replaceable) ours.insert(route.dumped.route.table);
  }
  const auto& before = (*before_)[indexOf(family)].tables;
  auto& tables = wishes_[indexOf(family)].tables;
  Messages messages;
  std::vector<std::uint32_t> sent;
  for (const auto& [table, route] : tables) {
    const BackendTable* there = find(present, table);
    if (there != nullptr && *there == route) continue;
    const BackendTable* last = find(before, table);
    if (last != nullptr) {
      log_->note(*last == route ? KernelChange::Kind::restored : KernelChange::Kind::followed,
                 routeNoun(family), nameOf(route, last));
      ours.insert(table);  // whose ever it is now, it took the place of weir's
    }
    addNewRoute(messages, family, route, protocol_,
                ours.contains(table) ? RoutePlace::ours : RoutePlace::unknown);
    sent.push_back(table);
  }
  std::vector<std::size_t> taken;
  Status status = sendCreations(*netlink_, messages, taken);
  for (const std::size_t index : taken) {
    const std::uint32_t table = sent[index];
    const std::string reason = fmt::format(
        "{} routing table {} has a default route that weir has not made, in the place "
        "of the {}: delete it (ip {}route del default table {}) or choose another "
        "tableBase in weir.yaml",
        familyName(family), table, messages.name(index), family == Family::ipv6 ? "-6 " : "",
        table);
    keepFirst(status, Error{reason});
    const Mark mark((table - own_.tableBase) << std::countr_zero(fwmarkMask_));
    if (tables.at(table).interface != 0) unreachable_.push_back({mark, family, reason});
    tables.erase(table);
  }
  return status;
}

Status RoutingPass::addRules(Family family) {
  std::set<RoutingRule> present;
  for (const RoutingState::Rule& rule : states_[indexOf(family)].rules)
    if (rule.dumped.exact) present.insert(rule.dumped.rule);
  const auto& last = (*before_)[indexOf(family)].rules;
  const std::set<RoutingRule> before(last.begin(), last.end());
  Messages messages;
  for (const RoutingRule& rule : wishes_[indexOf(family)].rules) {
    if (present.contains(rule)) continue;
    if (before.contains(rule))
      log_->note(KernelChange::Kind::restored, ruleNoun(family), std::to_string(rule.preference));
    addNewRule(messages, family, rule, protocol_);
  }
  return sendChanges(*netlink_, messages, {});
}

Status RoutingPass::addMissing() {
  Status status = success();
  for (const Family family : kFamilies) {
    keepFirst(status, addRoutes(family));
    keepFirst(status, addRules(family));
  }
  return status;
}

Status RoutingPass::removeOthers(Family family) {
  RoutingWish& wish = wishes_[indexOf(family)];
  const RoutingState& state = states_[indexOf(family)];
  const RoutingWish& before = (*before_)[indexOf(family)];
  // Beside what is left over, a second copy of a rule of the last pass.
  std::set<RoutingRule> made(before.rules.begin(), before.rules.end());
  made.insert(wish.leftOver.begin(), wish.leftOver.end());
  const auto stranger = pruned_ ? KernelChange::Kind::removed : KernelChange::Kind::cleaned;

  // What has former numbers of weir's that overlap with the present ones is nobody's doing.
  const auto isFormer = [&](std::uint32_t RoutingOwnership::*base, std::uint32_t number,
                            std::uint32_t count) {
    return std::ranges::any_of(former_, [&](const RoutingOwnership& own) {
      return own.routeProtocol == protocol_ && number - own.*base < count;
    });
  };

  std::set<RoutingRule> wanted(wish.rules.begin(), wish.rules.end());
  Messages rules;
  for (const RoutingState::Rule& rule : state.rules) {
    // A second copy of a wanted rule is no longer in the set, and goes.
    if (rule.dumped.exact && wanted.erase(rule.dumped.rule) != 0) continue;
    const std::uint32_t preference = rule.dumped.rule.preference;
    if (!made.contains(rule.dumped.rule) &&
        !isFormer(&RoutingOwnership::ruleBase, preference, kRulePreferences))
      log_->note(stranger, ruleNoun(family), std::to_string(preference));
    addDeletion(rules, *rule.message);
  }
  Status status = sendChanges(*netlink_, rules, {ENOENT, ESRCH});
  if (status) wish.leftOver.clear();

  Messages routes;
  for (const RoutingState::Route& route : state.routes) {
    // Such a route in a wanted table was right or has been replaced.
    const std::uint32_t table = route.dumped.route.table;
    if (route.dumped.replaceable && wish.tables.contains(table)) continue;
    const bool isWeirs = before.tables.contains(table) || wish.leftOverTables.contains(table);
    if (!(route.dumped.exact && isWeirs) &&
        !isFormer(&RoutingOwnership::tableBase, table, kMarkIndices))
      log_->note(stranger, routeNoun(family), fmt::format("in table {}", table));
    addDeletion(routes, *route.message);
  }
  const Status gone = sendChanges(*netlink_, routes, {ENOENT, ESRCH, ENODEV});
  if (gone) wish.leftOverTables.clear();
  keepFirst(status, gone);
  return status;
}

Status RoutingPass::removeOld() {
  Status status = success();
  for (const Family family : kFamilies) keepFirst(status, removeOthers(family));
  return status;
}

Status removeRouting(Netlink& netlink, const RoutingOwnership& own, const RoutingWishes& keep) {
  Status status = success();
  for (const Family family : kFamilies) {
    const auto state = readState(netlink, family, own);
    if (!state) {
      keepFirst(status, state.error());
      continue;
    }
    const RoutingWish& kept = keep[indexOf(family)];
    const std::set<RoutingRule> rules(kept.rules.begin(), kept.rules.end());
    Messages deletions;
    for (const RoutingState::Rule& rule : state->rules)
      if (!rules.contains(rule.dumped.rule)) addDeletion(deletions, *rule.message);
    for (const RoutingState::Route& route : state->routes)
      if (!kept.tables.contains(route.dumped.route.table)) addDeletion(deletions, *route.message);
    keepFirst(status, sendChanges(netlink, deletions, {ENOENT, ESRCH, ENODEV}));
  }
  return status;
}

}  // namespace weir::manager
