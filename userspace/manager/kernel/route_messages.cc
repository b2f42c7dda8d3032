// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/route_messages.h"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <iterator>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kIpv6DefaultMetric = 1024;  // given by the kernel when none is asked for
constexpr std::uint32_t kNotSuppressed = 0xffffffff;

// What makes a rule or a route another than ours. Attributes that are in neither list are those
// that later kernels tell in addition.
constexpr std::uint16_t kOtherSelectors[] = {
    FRA_DST,    FRA_SRC,       FRA_IIFNAME,  FRA_OIFNAME,     FRA_FLOW,       FRA_TUN_ID,
    FRA_L3MDEV, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE};
constexpr std::uint16_t kOtherRoutes[] = {RTA_DST,     RTA_SRC,       RTA_PREFSRC,
                                          RTA_METRICS, RTA_MULTIPATH, RTA_FLOW,
                                          RTA_VIA,     RTA_ENCAP,     RTA_NH_ID};

std::uint8_t kernelAction(RoutingRule::Action action) noexcept {
  switch (action) {
    case RoutingRule::Action::lookup:
      return FR_ACT_TO_TBL;
    case RoutingRule::Action::jump:
      return FR_ACT_GOTO;
    case RoutingRule::Action::nothing:
      return FR_ACT_NOP;
  }
  return FR_ACT_UNSPEC;
}

rtmsg* putRouteHeader(nlmsghdr* message) {
  return static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
}

fib_rule_hdr* putRuleHeader(nlmsghdr* message) {
  return static_cast<fib_rule_hdr*>(mnl_nlmsg_put_extra_header(message, sizeof(fib_rule_hdr)));
}

}  // namespace

void addRuleDump(Messages& messages, Family family) {
  messages.add(fmt::format("{} routing rules", familyName(family)), RTM_GETRULE, NLM_F_REQUEST, 64,
               [family](nlmsghdr* m) { putRuleHeader(m)->family = addressFamily(family); });
}

void addRouteDump(Messages& messages, Family family, std::uint8_t protocol) {
  messages.add(fmt::format("{} routes", familyName(family)), RTM_GETROUTE, NLM_F_REQUEST, 64,
               [family, protocol](nlmsghdr* m) {
                 rtmsg* route = putRouteHeader(m);
                 route->rtm_family = addressFamily(family);
                 // The kernel filters: a router's full table stays where it is.
                 route->rtm_protocol = protocol;
               });
}

namespace {

void addQuestion(Messages& messages, Address address, std::uint32_t mark, unsigned flags) {
  messages.add("route", RTM_GETROUTE, NLM_F_REQUEST, 96, [=](nlmsghdr* m) {
    rtmsg* route = putRouteHeader(m);
    route->rtm_family = addressFamily(address.family());
    route->rtm_dst_len = static_cast<std::uint8_t>(8 * addressLength(address.family()));
    route->rtm_flags = flags;
    putAddress(m, RTA_DST, address);
    if (mark != 0) mnl_attr_put_u32(m, RTA_MARK, mark);
  });
}

}  // namespace

void addRouteQuestion(Messages& messages, Address address, std::uint32_t mark) {
  // IPv6 always tells the table.
  const bool ask = mark != 0 && address.isIpv4();
  addQuestion(messages, address, mark, ask ? RTM_F_LOOKUP_TABLE : 0);
}

void addRouteMatchQuestion(Messages& messages, Address address) {
  addQuestion(messages, address, 0, RTM_F_FIB_MATCH);
}

fib_rule_hdr* putRule(nlmsghdr* m, Family family, const RoutingRule& rule, std::uint8_t protocol) {
  fib_rule_hdr* header = putRuleHeader(m);
  header->family = addressFamily(family);
  header->action = kernelAction(rule.action);
  mnl_attr_put_u32(m, FRA_PRIORITY, rule.preference);
  mnl_attr_put_u8(m, FRA_PROTOCOL, protocol);
  if (rule.mask != 0) {
    mnl_attr_put_u32(m, FRA_FWMARK, rule.mark);
    mnl_attr_put_u32(m, FRA_FWMASK, rule.mask);
  }
  if (rule.action == RoutingRule::Action::lookup) mnl_attr_put_u32(m, FRA_TABLE, rule.target);
  if (rule.action == RoutingRule::Action::jump) mnl_attr_put_u32(m, FRA_GOTO, rule.target);
  return header;
}

void addNewRule(Messages& messages, Family family, const RoutingRule& rule, std::uint8_t protocol) {
  messages.add(fmt::format("{} routing rule {}", familyName(family), rule.preference), RTM_NEWRULE,
               NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 128,
               [&](nlmsghdr* m) { putRule(m, family, rule, protocol); });
}

void addNewRoute(Messages& messages, Family family, const BackendTable& route,
                 std::uint8_t protocol, RoutePlace place) {
  std::string name = route.interface != 0
                         ? fmt::format("route to backend {}", route.gateway.toString())
                         : fmt::format("unreachable route in table {}", route.table);
  messages.add(std::move(name), RTM_NEWROUTE, creationFlags(place), 128, [&](nlmsghdr* m) {
    rtmsg* header = putRouteHeader(m);
    header->rtm_family = addressFamily(family);
    header->rtm_protocol = protocol;
    header->rtm_table = RT_TABLE_UNSPEC;
    header->rtm_scope = RT_SCOPE_UNIVERSE;
    header->rtm_type = route.interface != 0 ? RTN_UNICAST : RTN_UNREACHABLE;
    mnl_attr_put_u32(m, RTA_TABLE, route.table);
    if (route.interface == 0) return;
    // The kernel was asked before: the gateway is on the link, even where only a host
    // route says so.
    header->rtm_flags = RTNH_F_ONLINK;
    mnl_attr_put_u32(m, RTA_OIF, route.interface);
    putAddress(m, RTA_GATEWAY, route.gateway);
  });
}

void addDeletion(Messages& messages, const nlmsghdr& dumped) {
  const bool rule = dumped.nlmsg_type == RTM_NEWRULE;
  messages.addCopy(rule ? "deletion of a routing rule" : "deletion of a route", dumped);
  nlmsghdr* copy = messages.at(messages.size() - 1);
  copy->nlmsg_type = rule ? RTM_DELRULE : RTM_DELROUTE;
  copy->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
}

std::optional<DumpedRule> readRule(const nlmsghdr& message, std::uint8_t protocol) {
  const auto* header = static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(&message));
  DumpedRule result;
  RoutingRule& rule = result.rule;
  bool ours = false;
  bool plain = header->dst_len == 0 && header->src_len == 0 && header->tos == 0 &&
               (header->flags & ~static_cast<std::uint32_t>(FIB_RULE_UNRESOLVED)) == 0;
  std::uint32_t table = header->table;
  std::uint32_t jump = 0;
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == FRA_PRIORITY) rule.preference = attributeNumber(attribute);
    if (type == FRA_PROTOCOL) ours = attributeNumber(attribute) == protocol;
    if (type == FRA_FWMARK) rule.mark = attributeNumber(attribute);
    if (type == FRA_FWMASK) rule.mask = attributeNumber(attribute);
    if (type == FRA_TABLE) table = attributeNumber(attribute);
    if (type == FRA_GOTO) jump = attributeNumber(attribute);
    if (type == FRA_SUPPRESS_PREFIXLEN || type == FRA_SUPPRESS_IFGROUP)
      plain = plain && attributeNumber(attribute) == kNotSuppressed;
    plain = plain && std::ranges::find(kOtherSelectors, type) == std::end(kOtherSelectors);
  });
  if (!ours) return std::nullopt;
  if (header->action == FR_ACT_TO_TBL) {
    rule.action = RoutingRule::Action::lookup;
    rule.target = table;
  } else if (header->action == FR_ACT_GOTO) {
    rule.action = RoutingRule::Action::jump;
    rule.target = jump;
  } else {
    rule.action = RoutingRule::Action::nothing;
    plain = plain && header->action == FR_ACT_NOP;
  }
  result.exact = plain;
  return result;
}

std::optional<DumpedRoute> readRoute(const nlmsghdr& message, std::uint8_t protocol) {
  const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  if (header->rtm_protocol != protocol || (header->rtm_flags & RTM_F_CLONED) != 0)
    return std::nullopt;
  const bool ipv6 = header->rtm_family == AF_INET6;
  DumpedRoute result;
  BackendTable& route = result.route;
  route.table = header->rtm_table;
  std::uint32_t metric = 0;
  unsigned interface = 0;
  bool hasGateway = false;
  bool plain = true;
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_TABLE) route.table = attributeNumber(attribute);
    if (type == RTA_OIF) interface = attributeNumber(attribute);
    if (type == RTA_PRIORITY) metric = attributeNumber(attribute);
    if (type == RTA_GATEWAY) {
      const auto gateway = addressFrom(attributeBytes(attribute));
      route.gateway = gateway.value_or(Address{});
      hasGateway = gateway.has_value();
    }
    plain = plain && std::ranges::find(kOtherRoutes, type) == std::end(kOtherRoutes);
  });
  if (header->rtm_type == RTN_UNICAST) {
    route.interface = interface;
    plain = plain && hasGateway && interface != 0 && (header->rtm_flags & RTNH_F_ONLINK) != 0;
  } else {
    // IPv6 shows such routes on the loopback interface.
    plain = plain && header->rtm_type == RTN_UNREACHABLE && !hasGateway;
  }
  result.replaceable = header->rtm_dst_len == 0 && header->rtm_src_len == 0 &&
                       header->rtm_tos == 0 && metric == (ipv6 ? kIpv6DefaultMetric : 0);
  result.exact = plain && result.replaceable;
  return result;
}

}  // namespace weir::manager
