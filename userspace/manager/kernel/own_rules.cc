// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/own_rules.h"

#include <fmt/format.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

constexpr std::array<std::uint16_t, 8> kStrangeSelectors{FRA_SRC,       FRA_IIFNAME,    FRA_OIFNAME,
                                                         FRA_FLOW,      FRA_TUN_ID,     FRA_L3MDEV,
                                                         FRA_UID_RANGE, FRA_SPORT_RANGE};

void add(Messages& messages, const OwnRule& rule, std::uint8_t routeProtocol, std::uint16_t type,
         std::uint16_t flags) {
  messages.add(rule.toString(), type, static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags),
               192, [&](nlmsghdr* m) {
                 fib_rule_hdr* header = putRule(m, rule.family, rule.rule, routeProtocol);
                 if (rule.inverted) header->flags |= FIB_RULE_INVERT;
                 if (rule.destination) {
                   header->dst_len = static_cast<std::uint8_t>(8 * addressLength(rule.family));
                   putAddress(m, FRA_DST, *rule.destination);
                 }
                 if (rule.protocol != 0) mnl_attr_put_u8(m, FRA_IP_PROTO, rule.protocol);
                 if (rule.ports != PortRange{}) {
                   const fib_rule_port_range range{rule.ports.first, rule.ports.last};
                   mnl_attr_put(m, FRA_DPORT_RANGE, sizeof range, &range);
                 }
               });
}

std::optional<OwnRule> readOwnRule(const nlmsghdr& message, Family family,
                                   std::uint8_t routeProtocol) {
  const auto dumped = readRule(message, routeProtocol);
  if (!dumped) return std::nullopt;
  const auto* header = static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(&message));
  OwnRule rule;
  rule.family = family;
  rule.rule = dumped->rule;
  rule.inverted = (header->flags & FIB_RULE_INVERT) != 0;
  rule.strange = header->src_len != 0 || header->tos != 0 ||
                 (header->dst_len != 0 && header->dst_len != 8 * addressLength(family));
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    const auto bytes = attributeBytes(attribute);
    if (type == FRA_DST) rule.destination = addressFrom(bytes);
    if (type == FRA_IP_PROTO) rule.protocol = static_cast<std::uint8_t>(attributeNumber(attribute));
    if (type == FRA_DPORT_RANGE && bytes.size() == sizeof(fib_rule_port_range)) {
      fib_rule_port_range range;
      std::memcpy(&range, bytes.data(), sizeof range);
      rule.ports = {range.start, range.end};
    }
    rule.strange |= std::ranges::find(kStrangeSelectors, type) != kStrangeSelectors.end();
  });
  return rule;
}

}  // namespace

std::string OwnRule::toString() const {
  std::string text = fmt::format("{} routing rule {}", familyName(family), rule.preference);
  if (destination) text += " to " + destination->toString();
  if (protocol != 0) text += fmt::format(" protocol {}", protocol);
  if (ports != PortRange{}) text += fmt::format(" ports {}-{}", ports.first, ports.last);
  return text;
}

void addOwnRule(Messages& messages, const OwnRule& rule, std::uint8_t routeProtocol) {
  // Not NLM_F_EXCL: a rule of somebody else's, or with a former protocol number, may say the same.
  add(messages, rule, routeProtocol, RTM_NEWRULE, NLM_F_CREATE);
}

void addOwnRuleDeletion(Messages& messages, const OwnRule& rule, std::uint8_t routeProtocol) {
  add(messages, rule, routeProtocol, RTM_DELRULE, 0);
}

Result<std::set<OwnRule>> ownRules(Netlink& netlink, const RoutingOwnership& own) {
  std::set<OwnRule> rules;
  for (const Family family : kFamilies) {
    Messages request;
    addRuleDump(request, family);
    const auto dump = netlink.dump(request);
    if (!dump) return dump.error();
    for (std::size_t i = 0; i < dump->size(); ++i) {
      const auto rule = readOwnRule(*dump->at(i), family, own.routeProtocol);
      if (rule && own.ruleBase - rule->rule.preference - 1 < kOwnPreferences) rules.insert(*rule);
    }
  }
  return rules;
}

}  // namespace weir::manager
