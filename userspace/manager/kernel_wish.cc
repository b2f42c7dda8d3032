// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel_wish.h"

#include <algorithm>
#include <map>
#include <set>

namespace weir::manager {

KernelWish wishOf(const ControlPlane& controlPlane) {
  const Configuration& configuration = controlPlane.configuration();
  std::set<Prefix> divert;
  for (const auto& rule : configuration.rules)
    if (rule.target.empty())  // a proxy's connections end at this host
      divert.emplace(rule.address, rule.address.isIpv4() ? 32u : 128u);
  for (const auto& route : configuration.routes) divert.insert(route.destRange);

  const Node& node = configuration.node;
  KernelWish wish;
  wish.backends = controlPlane.routes();
  wish.divert.assign(divert.begin(), divert.end());
  wish.fwmarkMask = node.fwmarkMask;
  wish.ruleBase = node.ruleBase;
  wish.tableBase = node.tableBase;
  wish.routeProtocol = node.routeProtocol;
  wish.queueBase = node.queueBase;
  wish.queues = static_cast<std::uint16_t>(node.queues);
  return wish;
}

KernelWish unionOf(const KernelWish& old, const KernelWish& wanted) {
  KernelWish both = wanted;
  std::map<Mark, BackendRoute> backends;
  for (const auto& route : wanted.backends) backends.emplace(route.mark, route);
  for (const auto& route : old.backends) backends.emplace(route.mark, route);
  both.backends.clear();
  for (auto& [mark, route] : backends) both.backends.push_back(route);
  std::set<Prefix> divert(wanted.divert.begin(), wanted.divert.end());
  divert.insert(old.divert.begin(), old.divert.end());
  both.divert.assign(divert.begin(), divert.end());
  return both;
}

}  // namespace weir::manager
