// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/types.h"
#include "config/words.h"

namespace weir::config {
namespace {

template <class T>
void index(const std::vector<Located<T>>& list,
           std::unordered_map<std::string_view, const Located<T>*>& names) {
  names.reserve(list.size());
  for (const auto& l : list) names.try_emplace(l.value.name, &l);
}

template <class T>
const Located<T>* find(const std::unordered_map<std::string_view, const Located<T>*>& names,
                       std::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second;
}

template <class T>
void checkUnique(const std::vector<Located<T>>& list, std::string_view what, Problems& problems) {
  std::unordered_map<std::string_view, const Located<T>*> seen;
  for (const auto& l : list) {
    if (l.value.name.empty()) continue;
    const auto [first, isNew] = seen.try_emplace(l.value.name, &l);
    if (isNew) continue;
    const std::string place = first->second->at().toString();
    problems.error(l.at(), fmt::format("duplicate name: there is a {} {} already{}{}", what,
                                       quote(l.value.name), place.empty() ? "" : " at ", place));
  }
}

template <class T>
std::vector<std::string> namesOf(const std::vector<Located<T>>& list) {
  std::vector<std::string> names;
  for (const auto& l : list)
    if (isResourceName(l.value.name)) names.push_back(l.value.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> namesIn(const Draft& draft, std::string_view collection) {
  if (collection == "healthChecks") return namesOf(draft.healthChecks);
  if (collection == "networkEndpointGroups") return namesOf(draft.groups);
  if (collection == "backendServices") return namesOf(draft.services);
  if (collection == "targetTcpProxies") return namesOf(draft.targetProxies);
  if (collection == "serviceLbPolicies") return namesOf(draft.lbPolicies);
  return namesOf(draft.rules);
}

}  // namespace

Index::Index(const Draft& draft) : draft_(draft) {
  index(draft.healthChecks, healthChecks_);
  index(draft.groups, groups_);
  index(draft.services, services_);
  index(draft.rules, rules_);
  index(draft.targetProxies, targetProxies_);
  index(draft.lbPolicies, lbPolicies_);
  for (const auto& route : draft.tlsRoutes)
    for (const std::string& proxy : route.value.targetProxies)
      if (auto& routes = tlsRoutes_[proxy]; routes.empty() || routes.back() != &route)
        routes.push_back(&route);
}

const Located<HealthCheck>* Index::healthCheck(std::string_view name) const {
  return find(healthChecks_, name);
}
const Located<NetworkEndpointGroup>* Index::group(std::string_view name) const {
  return find(groups_, name);
}
const Located<BackendService>* Index::service(std::string_view name) const {
  return find(services_, name);
}
const Located<ForwardingRule>* Index::rule(std::string_view name) const {
  return find(rules_, name);
}
const Located<TargetTcpProxy>* Index::targetProxy(std::string_view name) const {
  return find(targetProxies_, name);
}
const Located<ServiceLbPolicy>* Index::lbPolicy(std::string_view name) const {
  return find(lbPolicies_, name);
}
const std::vector<const Located<TlsRoute>*>& Index::tlsRoutesOf(std::string_view proxy) const {
  static const std::vector<const Located<TlsRoute>*> none;
  const auto found = tlsRoutes_.find(proxy);
  return found == tlsRoutes_.end() ? none : found->second;
}

const std::vector<std::string>& Index::names(std::string_view collection) const {
  auto found = namesOf_.find(collection);
  if (found == namesOf_.end())
    found = namesOf_.emplace(collection, namesIn(draft_, collection)).first;
  return found->second;
}

std::string Index::suggestion(std::string_view name, std::string_view collection) const {
  const auto& candidates = names(collection);
  if (candidates.size() > comparisonsLeft_) return "";
  comparisonsLeft_ -= candidates.size();
  return didYouMean(name, candidates);
}

void reportDangling(const Index& index, Problems& problems, const Origin& at,
                    const Dangling& reference) {
  const auto& names = index.names(reference.collection);
  std::string message = fmt::format("there is no {} {}{}", reference.what, quote(reference.name),
                                    index.suggestion(reference.name, reference.collection));
  message += names.empty() ? "; there are none at all" : "; there are " + join(names, "and");
  const auto& unread = index.draft().incompleteFiles;
  if (!unread.empty())
    message += fmt::format(" (not all of {} could be read)", join(unread, "and"));
  problems.error(at, std::move(message));
}

void checkNames(const Draft& draft, Problems& problems) {
  checkUnique(draft.healthChecks, "health check", problems);
  checkUnique(draft.groups, "network endpoint group", problems);
  checkUnique(draft.services, "backend service", problems);
  checkUnique(draft.rules, "forwarding rule", problems);
  checkUnique(draft.routes, "route", problems);
  checkUnique(draft.targetProxies, "target TCP proxy", problems);
  checkUnique(draft.tlsRoutes, "TLS route", problems);
  checkUnique(draft.lbPolicies, "service load-balancing policy", problems);
}

void checkNode(const Located<Node>& located, Problems& problems) {
  const Node& node = located.value;
  std::map<std::string_view, std::size_t> zones;
  std::map<Prefix, std::string_view> ranges;
  for (std::size_t i = 0; i < node.zones.size(); ++i) {
    const Zone& zone = node.zones[i];
    if (!zones.try_emplace(zone.name, i).second)
      problems.error(located.at(fmt::format("zones.{}.name", i)),
                     fmt::format("duplicate name: there is a zone {} already", quote(zone.name)));
    for (std::size_t j = 0; j < zone.clientRanges.size(); ++j) {
      const auto [first, isNew] = ranges.try_emplace(zone.clientRanges[j], zone.name);
      if (isNew) continue;
      problems.error(located.at(fmt::format("zones.{}.clientRanges.{}", i, j)),
                     fmt::format("{} is a client range of zone {} already; a client has one zone",
                                 zone.clientRanges[j].toString(), quote(first->second)));
    }
  }
  const auto own = zones.find(node.zone);
  if (own == zones.end() || node.region.empty()) return;
  const std::string& region = node.zones[own->second].region;
  if (!region.empty() && region != node.region)
    problems.error(located.at("location.region"),
                   fmt::format("zone {} lies in region {} by 'zones', not in {}", quote(node.zone),
                               quote(region), quote(node.region)));
}

void checkAll(Draft& draft, Problems& problems) {
  const Index index(draft);
  if (!draft.node.broken) checkNode(draft.node, problems);
  checkNames(draft, problems);
  checkServices(draft, index, problems);
  checkRules(draft, index, problems);
  checkTargetProxies(draft, index, problems);
  checkTlsRoutes(draft, index, problems);
  checkRoutes(draft, index, problems);
  if (problems.errors() != 0) return;
  giveHints(draft, index, problems);
  giveProxyHints(draft, index, problems);
}

}  // namespace weir::config
