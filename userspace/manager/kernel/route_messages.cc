// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/route_messages.h"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "manager/kernel/attributes.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kIpv6DefaultMetric = 1024;  // given by the kernel when none is asked for

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

void addNewRule(Messages& messages, Family family, const RoutingRule& rule, std::uint8_t protocol) {
  messages.add(fmt::format("{} routing rule {}", familyName(family), rule.preference), RTM_NEWRULE,
               NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 128, [&](nlmsghdr* m) {
                 fib_rule_hdr* header = putRuleHeader(m);
                 header->family = addressFamily(family);
                 header->action = kernelAction(rule.action);
                 mnl_attr_put_u32(m, FRA_PRIORITY, rule.preference);
                 mnl_attr_put_u8(m, FRA_PROTOCOL, protocol);
                 if (rule.mask != 0) {
                   mnl_attr_put_u32(m, FRA_FWMARK, rule.mark);
                   mnl_attr_put_u32(m, FRA_FWMASK, rule.mask);
                 }
                 if (rule.action == RoutingRule::Action::lookup)
                   mnl_attr_put_u32(m, FRA_TABLE, rule.target);
                 if (rule.action == RoutingRule::Action::jump)
                   mnl_attr_put_u32(m, FRA_GOTO, rule.target);
               });
}

void addNewRoute(Messages& messages, Family family, const BackendTable& route,
                 std::uint8_t protocol) {
  std::string name = route.interface != 0
                         ? fmt::format("route to backend {}", route.gateway.toString())
                         : fmt::format("unreachable route in table {}", route.table);
  messages.add(std::move(name), RTM_NEWROUTE,
               NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, 128, [&](nlmsghdr* m) {
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
    switch (mnl_attr_get_type(attribute)) {
      case FRA_PRIORITY:
        rule.preference = attributeNumber(attribute);
        break;
      case FRA_PROTOCOL:
        ours = attributeNumber(attribute) == protocol;
        break;
      case FRA_FWMARK:
        rule.mark = attributeNumber(attribute);
        break;
      case FRA_FWMASK:
        rule.mask = attributeNumber(attribute);
        break;
      case FRA_TABLE:
        table = attributeNumber(attribute);
        break;
      case FRA_GOTO:
        jump = attributeNumber(attribute);
        break;
      case FRA_SUPPRESS_PREFIXLEN:
      case FRA_SUPPRESS_IFGROUP:
        if (attributeNumber(attribute) != 0xffffffff) plain = false;
        break;
      case FRA_DST:
      case FRA_SRC:
      case FRA_IIFNAME:
      case FRA_OIFNAME:
      case FRA_FLOW:
      case FRA_TUN_ID:
      case FRA_L3MDEV:
      case FRA_UID_RANGE:
      case FRA_IP_PROTO:
      case FRA_SPORT_RANGE:
      case FRA_DPORT_RANGE:
        plain = false;
        break;
      default:  // what later kernels tell in addition
        break;
    }
  });
  if (!ours) return std::nullopt;
  switch (header->action) {
    case FR_ACT_TO_TBL:
      rule.action = RoutingRule::Action::lookup;
      rule.target = table;
      break;
    case FR_ACT_GOTO:
      rule.action = RoutingRule::Action::jump;
      rule.target = jump;
      break;
    case FR_ACT_NOP:
      rule.action = RoutingRule::Action::nothing;
      break;
    default:
      plain = false;
      break;
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
  bool plain = header->rtm_dst_len == 0 && header->rtm_src_len == 0 && header->rtm_tos == 0;
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    switch (mnl_attr_get_type(attribute)) {
      case RTA_TABLE:
        route.table = attributeNumber(attribute);
        break;
      case RTA_OIF:
        interface = attributeNumber(attribute);
        break;
      case RTA_PRIORITY:
        metric = attributeNumber(attribute);
        break;
      case RTA_GATEWAY:
        if (const auto gateway = addressFrom(attributeBytes(attribute))) {
          route.gateway = *gateway;
          hasGateway = true;
        }
        break;
      case RTA_DST:
      case RTA_SRC:
      case RTA_PREFSRC:
      case RTA_METRICS:
      case RTA_MULTIPATH:
      case RTA_FLOW:
      case RTA_VIA:
      case RTA_ENCAP:
      case RTA_NH_ID:
        plain = false;
        break;
      default:  // what later kernels tell in addition
        break;
    }
  });
  if (header->rtm_type == RTN_UNICAST) {
    route.interface = interface;
    plain = plain && hasGateway && interface != 0 && (header->rtm_flags & RTNH_F_ONLINK) != 0;
  } else {
    // IPv6 shows such routes on the loopback interface.
    plain = plain && header->rtm_type == RTN_UNREACHABLE && !hasGateway;
  }
  result.exact = plain && metric == (ipv6 ? kIpv6DefaultMetric : 0);
  return result;
}

}  // namespace weir::manager
