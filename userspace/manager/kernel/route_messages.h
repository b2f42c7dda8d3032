// SPDX-License-Identifier: GPL-2.0-or-later
//
// Routing rules and backends' routes as rtnetlink messages, both ways.
#pragma once

#include <linux/fib_rules.h>
#include <linux/netlink.h>

#include <compare>
#include <cstdint>
#include <optional>

#include "manager/kernel/netlink.h"
#include "manager/kernel/rule_tree.h"
#include "weir/address.h"
#include "weir/types.h"

namespace weir::manager {

// The only route of a backend's table: default via the backend itself. Without a next hop it is an
// `unreachable` route, so that marked packets never go on to the main table.
struct BackendTable {
  std::uint32_t table = 0;
  unsigned interface = 0;  // 0: unreachable
  Address gateway;         // when interface != 0
  friend bool operator==(const BackendTable&, const BackendTable&) = default;
};

// What a dump shows of a message that carries our protocol number.
struct DumpedRule {
  RoutingRule rule;
  bool exact = false;  // nothing in it but what `rule` says
};
struct DumpedRoute {
  BackendTable route;
  bool exact = false;        // nothing in it but what `route` says
  bool replaceable = false;  // addNewRoute() for this table takes its place
};

void addRuleDump(Messages&, Family);
// How would a packet of this host with this mark go to the address? One message answers, which
// names the table too.
void addRouteQuestion(Messages&, Address, std::uint32_t mark = 0);
// By which route would an unmarked packet to the address be forwarded? The answer is the route as
// it stands in its table.
void addRouteMatchQuestion(Messages&, Address);
void addRouteDump(Messages&, Family, std::uint8_t protocol);
// What a message about this rule says; further selectors may follow.
fib_rule_hdr* putRule(nlmsghdr*, Family, const RoutingRule&, std::uint8_t protocol);
void addNewRule(Messages&, Family, const RoutingRule&, std::uint8_t protocol);
// Whose is the place of a new route? Another's route is never replaced.
enum class RoutePlace : std::uint8_t {
  ours,    // what may be there is replaced
  unknown  // refused with EEXIST when something is there
};
constexpr std::uint16_t creationFlags(RoutePlace place) noexcept {
  return static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
                                    (place == RoutePlace::ours ? NLM_F_REPLACE : NLM_F_EXCL));
}
void addNewRoute(Messages&, Family, const BackendTable&, std::uint8_t protocol, RoutePlace);
// Deletes exactly what a dumped message shows.
void addDeletion(Messages&, const nlmsghdr& dumped);

// nullopt: of another protocol number.
std::optional<DumpedRule> readRule(const nlmsghdr&, std::uint8_t protocol);
std::optional<DumpedRoute> readRoute(const nlmsghdr&, std::uint8_t protocol);

}  // namespace weir::manager
