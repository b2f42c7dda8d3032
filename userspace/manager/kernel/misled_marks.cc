// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/misled_marks.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>

#include "manager/kernel/attributes.h"
#include "manager/kernel/interface_name.h"
#include "manager/kernel/route_messages.h"

namespace weir::manager {
namespace {

struct Question {
  Family family;
  const BackendTable* route;
  std::uint32_t mark;
};

// A virtual address, since an intruding route may be for it alone; else the backend itself.
Address destinationFor(const KernelWish& wish, Family family, const BackendTable& route) {
  const auto address =
      std::ranges::find_if(wish.divert, [family](const Prefix& p) { return p.family() == family; });
  return address == wish.divert.end() ? route.gateway : address->address();
}

std::string opening(const Question& question) {
  return fmt::format("packets for backend {} (mark {:#x})", question.route->gateway.toString(),
                     question.mark);
}

std::string tableHint(const Question& question) {
  return fmt::format(
      "a route that weir has not made comes before weir's in table {} (ip {}route show table {})",
      question.route->table, question.family == Family::ipv6 ? "-6 " : "", question.route->table);
}

// Empty: all is well, or it is not for this check to say.
std::string fault(const Question& question, const NetlinkAnswer& answer) {
  if (answer.reply == nullptr) {
    // What routes of the types unreachable, prohibit and blackhole bring.
    if (answer.error != EHOSTUNREACH && answer.error != EACCES && answer.error != EINVAL) return {};
    return fmt::format("{} are refused: {}", opening(question), tableHint(question));
  }
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(answer.reply));
  // An address of this host's own is looked up before all rules.
  if (route->rtm_type != RTN_UNICAST) return {};
  std::uint32_t table = route->rtm_table;
  unsigned interface = 0;
  std::optional<Address> gateway;
  forEachAttribute(*answer.reply, sizeof *route, [&](const nlattr* attribute) {
    const std::uint16_t type = mnl_attr_get_type(attribute);
    if (type == RTA_TABLE) table = attributeNumber(attribute);
    if (type == RTA_OIF) interface = attributeNumber(attribute);
    if (type == RTA_GATEWAY) gateway = addressFrom(attributeBytes(attribute));
  });
  if (table != question.route->table) {
    // The main table takes what has just lost its own one, with a link; the next comparison says.
    if (table == RT_TABLE_MAIN || table == RT_TABLE_DEFAULT || table == RT_TABLE_LOCAL) return {};
    return fmt::format(
        "{} are routed by table {}: a routing rule that weir has not made comes "
        "before weir's (ip rule)",
        opening(question), table);
  }
  if (interface == question.route->interface && gateway == question.route->gateway) return {};
  return fmt::format("{} go to {} on {}: {}", opening(question),
                     gateway ? gateway->toString() : "their destination", interfaceName(interface),
                     tableHint(question));
}

}  // namespace

Result<std::vector<std::string>> misledMarks(Netlink& netlink, const KernelWish& wish,
                                             const RoutingWishes& routing) {
  std::vector<Question> questions;
  Messages requests;
  for (const Family family : kFamilies) {
    for (const auto& [table, route] : routing[indexOf(family)].tables) {
      if (route.interface == 0) continue;
      const std::uint32_t mark = (table - wish.tableBase) << std::countr_zero(wish.fwmarkMask);
      questions.push_back({family, &route, mark});
      addRouteQuestion(requests, destinationFor(wish, family, route), mark);
    }
  }
  std::vector<std::string> faults;
  const Status asked = netlink.exchange(requests, [&](const NetlinkAnswer& answer) {
    std::string words = fault(questions[answer.request], answer);
    if (!words.empty()) faults.push_back(std::move(words));
  });
  if (!asked) return asked.error();
  return faults;
}

}  // namespace weir::manager
