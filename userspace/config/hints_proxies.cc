// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is allowed of proxies but probably not meant.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "config/checks.h"
#include "config/words.h"
#include "weir/model_words.h"

namespace weir::config {
namespace {

bool readsNumbers(const Index& index, const std::string& healthCheck) {
  const auto* check = index.healthCheck(healthCheck);
  return check != nullptr && readsHeaders(check->value.type);
}

// Policies that hash choose the same backend for the same client; the others do not (X4).
bool keepsAffinity(LocalityPolicy policy) noexcept {
  switch (policy) {
    case LocalityPolicy::maglev:
    case LocalityPolicy::ringHash:
      return true;
    case LocalityPolicy::roundRobin:
    case LocalityPolicy::leastRequest:
    case LocalityPolicy::random:
    case LocalityPolicy::weightedRoundRobin:
    case LocalityPolicy::originalDestination:
      return false;
  }
  return false;
}

void hintPolicies(const Located<BackendService>& located, const Index& index, Problems& problems) {
  const BackendService& service = located.value;
  const auto locality = service.proxy.locality;
  if (locality && !keepsAffinity(*locality) && service.affinity != SessionAffinity::none)
    problems.hint(located.at("localityLbPolicy"),
                  fmt::format("sessionAffinity {} has no effect with localityLbPolicy {}; MAGLEV "
                              "and RING_HASH keep clients at their backends",
                              toString(service.affinity), toString(*locality)));
  bool anyFixed = false;
  for (const ServiceBackend& backend : service.backends)
    if (const auto* group = index.group(backend.group))
      for (const Endpoint& endpoint : group->value.endpoints)
        anyFixed = anyFixed || endpoint.weight;
  const bool weighted = locality == LocalityPolicy::weightedRoundRobin;
  if (anyFixed && !weighted)
    problems.hint(located.at("backends"),
                  fmt::format("weights of endpoints have no effect in service {}: its "
                              "localityLbPolicy is not WEIGHTED_ROUND_ROBIN",
                              quote(service.name)));
  if (weighted && !anyFixed && !readsNumbers(index, service.healthCheck))
    problems.warning(located.at("localityLbPolicy"),
                     fmt::format("no backend of service {} can have a weight: it needs a health "
                                 "check of type HTTP, HTTPS or HTTP2, or 'weight' in endpoints",
                                 quote(service.name)));
}

void hintCapacity(const Located<BackendService>& located, const Index& index, Problems& problems) {
  const BackendService& service = located.value;
  const bool noneLeft =
      !service.backends.empty() &&
      std::all_of(service.backends.begin(), service.backends.end(),
                  [](const ServiceBackend& b) { return b.capacity.capacityScaler == 0; });
  if (noneLeft)
    problems.warning(located.at("backends"),
                     fmt::format("every group of service {} has capacityScaler 0: its connections "
                                 "are closed",
                                 quote(service.name)));
  if (readsNumbers(index, service.healthCheck)) return;
  for (std::size_t i = 0; i < service.backends.size(); ++i)
    if (service.backends[i].capacity.mode == BalancingMode::utilization)
      problems.hint(located.at(fmt::format("backends.{}.balancingMode", i)),
                    "balancingMode UTILIZATION never acts without a health check of type HTTP, "
                    "HTTPS or HTTP2, whose answers tell the utilization");
}

// S1: with groups in several zones, distance counts.
void hintLocation(const Draft& draft, const Index& index, Problems& problems) {
  if (!draft.node.value.zone.empty() || !draft.node.value.region.empty()) return;
  for (const auto& service : draft.services) {
    if (!service.value.isManaged()) continue;
    std::set<std::string_view> zones;
    for (const ServiceBackend& backend : service.value.backends)
      if (const auto* group = index.group(backend.group)) zones.insert(group->value.zone);
    if (zones.size() < 2) continue;
    problems.hint(service.at(),
                  fmt::format("service {} has groups in several zones, but weir.yaml does not say "
                              "by 'location' where this node is: none of them is nearest",
                              quote(service.value.name)));
    return;
  }
}

// X6.3: names of one proxy in the order in which they are tried.
class NameTable {
 public:
  // `told` is shared by the tables of all proxies: a route of several is told of once.
  using Told = std::set<std::pair<const Text*, Mark>>;
  explicit NameTable(Told& told) : told_(told) {}

  void add(const Located<TlsRoute>& route, Problems& problems) {
    for (std::size_t i = 0; i < route.value.rules.size(); ++i) {
      const TlsRule& rule = route.value.rules[i];
      for (std::size_t j = 0; j < rule.matches.size(); ++j)
        for (std::size_t k = 0; k < rule.matches[j].sniHosts.size(); ++k)
          addName(rule.matches[j].sniHosts[k], rule.matches[j].alpn, rule,
                  route.at(fmt::format("rules.{}.matches.{}.sniHost.{}", i, j, k)), problems);
    }
  }

  // HTTP/2 clients use one connection for all names of a certificate (RFC 9113, 9.1.1): a request
  // for the narrower name can arrive at the wildcard's service. One hint for each proxy.
  void hintCoalescing(Problems& problems) const {
    for (const std::string& name : order_) {
      const Use& narrow = uses_.at(name).front();
      std::string_view rest = name.substr(0, 2) == "*." ? std::string_view(name).substr(2) : name;
      for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
        rest.remove_prefix(dot + 1);
        const auto wide = uses_.find("*." + std::string(rest));
        if (wide == uses_.end() || sameServices(*wide->second.front().rule, *narrow.rule)) continue;
        if (narrow.at.text != nullptr && !told_.emplace(narrow.at.text, narrow.at.mark).second)
          return;
        problems.hint(narrow.at,
                      fmt::format("{} and {} lead to different services: HTTP/2 clients that see "
                                  "one certificate for both send both over one connection, so to "
                                  "one of the services; use certificates that do not overlap, or "
                                  "another port or address",
                                  name, wide->first));
        return;
      }
    }
  }

 private:
  struct Use {
    const std::vector<std::string>* alpn;
    const TlsRule* rule;
    Origin at;
  };

  static bool sameServices(const TlsRule& a, const TlsRule& b) {
    return a.destinations == b.destinations;
  }

  // Is every connection that `later` matches taken by `earlier` already?
  static bool covers(const std::vector<std::string>& earlier,
                     const std::vector<std::string>& later) {
    if (earlier.empty()) return true;
    return !later.empty() && std::all_of(later.begin(), later.end(), [&](const std::string& p) {
      return std::find(earlier.begin(), earlier.end(), p) != earlier.end();
    });
  }

  void addName(const std::string& name, const std::vector<std::string>& alpn, const TlsRule& rule,
               const Origin& at, Problems& problems) {
    auto& uses = uses_[name];
    for (const Use& earlier : uses) {
      if (!covers(*earlier.alpn, alpn)) continue;
      if (at.text != nullptr && !told_.emplace(at.text, at.mark).second) break;
      const std::string place = earlier.at.toString();
      problems.warning(at, fmt::format("{} is never matched here: an earlier match{}{} takes every "
                                       "such connection",
                                       name, place.empty() ? "" : " at ", place));
      break;
    }
    if (uses.empty()) order_.push_back(name);
    uses.push_back({&alpn, &rule, at});
  }

  Told& told_;
  std::unordered_map<std::string, std::vector<Use>> uses_;
  std::vector<std::string> order_;
};

void hintTargetProxies(const Draft& draft, const Index& index, Problems& problems) {
  NameTable::Told told;
  for (const auto& located : draft.targetProxies) {
    const auto& ranges = located.value.acceptProxyFrom;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (ranges[i].length() == 0)
        problems.warning(
            located.at(fmt::format("acceptProxyFrom.{}", i)),
            fmt::format("with {} anybody can claim to be any client", ranges[i].toString()));
    NameTable names(told);
    for (const Located<TlsRoute>* route : index.tlsRoutesOf(located.value.name))
      names.add(*route, problems);
    names.hintCoalescing(problems);
  }
}

void hintUnused(const Draft& draft, Problems& problems) {
  std::unordered_set<std::string_view> proxies, policies;
  for (const auto& rule : draft.rules) proxies.insert(rule.value.target);
  for (const auto& service : draft.services) policies.insert(service.value.proxy.lbPolicy);
  for (const auto& l : draft.targetProxies)
    if (!proxies.contains(l.value.name))
      problems.hint(
          l.at(), fmt::format("no forwarding rule leads to target proxy {}", quote(l.value.name)));
  for (const auto& l : draft.lbPolicies)
    if (!policies.contains(l.value.name))
      problems.hint(l.at(), fmt::format("no service uses policy {}", quote(l.value.name)));
}

}  // namespace

void giveProxyHints(const Draft& draft, const Index& index, Problems& problems) {
  for (const auto& service : draft.services) {
    if (!service.value.isManaged()) continue;
    hintPolicies(service, index, problems);
    hintCapacity(service, index, problems);
  }
  hintLocation(draft, index, problems);
  hintTargetProxies(draft, index, problems);
  hintUnused(draft, problems);
}

}  // namespace weir::config
