// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/skipped_rules.h"

#include <fmt/format.h>
#include <linux/fib_rules.h>

#include <algorithm>
#include <optional>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

struct ForeignRule {
  std::uint32_t preference = 0;
  std::uint8_t protocol = 0;
  std::string text;  // as ip rule shows it, as far as weir knows the words
};

ForeignRule read(const nlmsghdr& message) {
  const auto* header = static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(&message));
  ForeignRule rule;
  std::string source = "from all", selectors;
  std::uint32_t table = header->table, mark = 0, mask = 0, jump = 0;
  const auto prefix = [](const nlattr* attribute, unsigned length) {
    const auto address = addressFrom(attributeBytes(attribute));
    return address ? fmt::format("{}/{}", address->toString(), length) : std::string("?");
  };
  forEachAttribute(message, sizeof *header, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == FRA_PRIORITY) rule.preference = attributeNumber(attribute);
    if (type == FRA_PROTOCOL) rule.protocol = static_cast<std::uint8_t>(attributeNumber(attribute));
    if (type == FRA_SRC) source = "from " + prefix(attribute, header->src_len);
    if (type == FRA_DST) selectors += " to " + prefix(attribute, header->dst_len);
    if (type == FRA_IIFNAME) selectors += fmt::format(" iif {}", mnl_attr_get_str(attribute));
    if (type == FRA_OIFNAME) selectors += fmt::format(" oif {}", mnl_attr_get_str(attribute));
    if (type == FRA_FWMARK) mark = attributeNumber(attribute);
    if (type == FRA_FWMASK) mask = attributeNumber(attribute);
    if (type == FRA_TABLE) table = attributeNumber(attribute);
    if (type == FRA_GOTO) jump = attributeNumber(attribute);
  });
  if (mask != 0) selectors += fmt::format(" fwmark {:#x}/{:#x}", mark, mask);
  rule.text = ((header->flags & FIB_RULE_INVERT) != 0 ? "not " : "") + source + selectors;
  if (header->action == FR_ACT_TO_TBL) rule.text += fmt::format(" lookup {}", table);
  if (header->action == FR_ACT_GOTO) rule.text += fmt::format(" goto {}", jump);
  return rule;
}

}  // namespace

std::vector<std::string> skippedRules(const Messages& dump, Family family,
                                      const RoutingOwnership& own,
                                      std::span<const RoutingOwnership> former) {
  const auto isOurs = [&](std::uint8_t protocol) {
    return protocol == own.routeProtocol ||
           std::ranges::find(former, protocol, &RoutingOwnership::routeProtocol) != former.end();
  };
  // One at the last preference is met after the jump.
  const std::uint32_t last = own.ruleBase + kRulePreferences - 1;
  std::vector<std::string> result;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const ForeignRule rule = read(*dump.at(i));
    if (rule.preference < own.ruleBase || rule.preference >= last || isOurs(rule.protocol))
      continue;
    result.push_back(fmt::format(
        "{} routing rule {} ({}) lies between weir's first and last one ({} to {}), which packets "
        "without a mark of weir's jump over: it does not take them. Give it a preference below {} "
        "or from {} on, or choose another ruleBase in weir.yaml",
        familyName(family), rule.preference, rule.text, own.ruleBase, last,
        own.ruleBase - kOwnPreferences, last + 1));
  }
  return result;
}

Result<std::vector<std::string>> findSkippedRules(Netlink& netlink, Family family,
                                                  const RoutingOwnership& own) {
  Messages request;
  addRuleDump(request, family);
  const auto dump = netlink.dump(request);
  if (!dump) return dump.error();
  return skippedRules(*dump, family, own, {});
}

}  // namespace weir::manager
