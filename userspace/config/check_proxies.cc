// SPDX-License-Identifier: GPL-2.0-or-later
//
// From a proxy's rule to its services: target proxies (X2) and TLS routes (X6).
#include <fmt/format.h>

#include <algorithm>

#include "config/checks.h"
#include "config/schemes.h"
#include "config/words.h"
#include "weir/model_words.h"

namespace weir::config {
namespace {

// A reference to the service of a proxy.
void checkProxyService(const Index& index, const Origin& at, const std::string& name,
                       Problems& problems) {
  if (name.empty()) return;
  const auto* service = index.service(name);
  if (service == nullptr) {
    reportDangling(index, problems, at, {"backendServices", "backend service", name});
  } else if (isSound(problems, *service, {"loadBalancingScheme"}) && !service->value.isManaged()) {
    problems.error(
        at, fmt::format("service {} is a passthrough service; a proxy's needs {}", quote(name),
                        needsScheme(ServiceKind::proxy, service->value.scheme)));
  }
}

// The services that a target proxy leads to, each with the TLS route that does; nullptr: by itself.
template <class Visit>
void forEachService(const Located<TargetTcpProxy>& proxy, const Index& index, Visit visit) {
  if (!proxy.value.service.empty()) visit(proxy.value.service, nullptr);
  for (const Located<TlsRoute>* route : index.tlsRoutesOf(proxy.value.name))
    for (const TlsRule& rule : route->value.rules)
      for (const TlsDestination& destination : rule.destinations)
        visit(destination.service, &route->value);
}

}  // namespace

void checkTarget(const Index& index, const Located<ForwardingRule>& rule, Problems& problems) {
  const auto* proxy = index.targetProxy(rule.value.target);
  if (proxy == nullptr) {
    reportDangling(index, problems, rule.at("target"),
                   {"targetTcpProxies", "target TCP proxy", rule.value.target});
    return;
  }
  bool told = false;
  forEachService(*proxy, index, [&](const std::string& name, const TlsRoute* route) {
    const auto* service = index.service(name);
    if (told || service == nullptr || !service->value.isManaged() ||
        service->value.scheme == rule.value.scheme)
      return;
    told = true;
    problems.error(
        rule.at("loadBalancingScheme"),
        fmt::format("the rule's loadBalancingScheme {} is not that of service {}, {}, to which "
                    "target proxy {} leads{}; both must be the same",
                    toString(rule.value.scheme), quote(name), toString(service->value.scheme),
                    quote(rule.value.target),
                    route == nullptr ? "" : ", by TLS route " + quote(route->name)));
  });
}

// X2.1
void checkTargetProxies(const Draft& draft, const Index& index, Problems& problems) {
  // A route that names no proxy, or a wrong one, may be meant for any.
  const bool routesAreKnown =
      std::all_of(draft.tlsRoutes.begin(), draft.tlsRoutes.end(), [&](const auto& route) {
        const auto& names = route.value.targetProxies;
        return !names.empty() && std::all_of(names.begin(), names.end(), [&](const auto& name) {
          return index.targetProxy(name) != nullptr;
        });
      });
  for (const auto& located : draft.targetProxies) {
    const TargetTcpProxy& proxy = located.value;
    checkProxyService(index, located.at("service"), proxy.service, problems);
    if (proxy.name.empty() || !isSound(problems, located, {"name", "service"})) continue;
    const auto& routes = index.tlsRoutesOf(proxy.name);
    if (!proxy.service.empty() && !routes.empty()) {
      const std::string place = routes.front()->at().toString();
      problems.error(located.at("service"),
                     fmt::format("target proxy {} has a service and TLS route {}{}{}; allowed is "
                                 "either a service or TLS routes",
                                 quote(proxy.name), quote(routes.front()->value.name),
                                 place.empty() ? "" : " at ", place));
    }
    if (proxy.service.empty() && routes.empty() && routesAreKnown)
      problems.error(located.at(),
                     fmt::format("target proxy {} leads nowhere: it needs the key 'service', or a "
                                 "TLS route that names it in targetProxies",
                                 quote(proxy.name)));
  }
}

// X6.1
void checkTlsRoutes(const Draft& draft, const Index& index, Problems& problems) {
  for (const auto& located : draft.tlsRoutes) {
    const TlsRoute& route = located.value;
    for (std::size_t i = 0; i < route.targetProxies.size(); ++i)
      if (!route.targetProxies[i].empty() && index.targetProxy(route.targetProxies[i]) == nullptr)
        reportDangling(index, problems, located.at(fmt::format("targetProxies.{}", i)),
                       {"targetTcpProxies", "target TCP proxy", route.targetProxies[i]});
    for (std::size_t i = 0; i < route.rules.size(); ++i)
      for (std::size_t j = 0; j < route.rules[i].destinations.size(); ++j)
        checkProxyService(
            index, located.at(fmt::format("rules.{}.action.destinations.{}.serviceName", i, j)),
            route.rules[i].destinations[j].service, problems);
  }
}

}  // namespace weir::config
