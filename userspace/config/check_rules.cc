// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "config/checks.h"
#include "config/schemes.h"
#include "config/words.h"
#include "weir/model_words.h"

namespace weir::config {
namespace {

std::string_view toString(Family family) noexcept {
  return family == Family::ipv4 ? "IPv4" : "IPv6";
}

// Endpoints of a group that have no address of a family.
struct Lacking {
  std::size_t count = 0;
  std::string first;
};

class FamilyIndex {
 public:
  FamilyIndex(const Draft& draft, const Problems& problems) {
    for (const auto& group : draft.groups) {
      if (!isSound(problems, group, {"endpoints"})) continue;
      auto& entry = groups_[group.value.name];
      for (const Endpoint& endpoint : group.value.endpoints) {
        note(entry.first, endpoint, Family::ipv4);
        note(entry.second, endpoint, Family::ipv6);
      }
    }
  }

  const Lacking& lacking(const std::string& group, Family family) const {
    static const Lacking none;
    const auto found = groups_.find(group);
    if (found == groups_.end()) return none;
    return family == Family::ipv4 ? found->second.first : found->second.second;
  }

 private:
  static void note(Lacking& lacking, const Endpoint& endpoint, Family family) {
    if (endpoint.addressOf(family)) return;
    if (lacking.count++ == 0)
      lacking.first = endpoint.fqdn.empty() ? endpoint.identity() : endpoint.fqdn;
  }

  std::unordered_map<std::string_view, std::pair<Lacking, Lacking>> groups_;
};

// P8.3
void checkFamilies(const Located<ForwardingRule>& rule, const BackendService& service,
                   const FamilyIndex& families, Problems& problems) {
  const Family family = rule.value.address.family();
  for (const ServiceBackend& backend : service.backends) {
    const Lacking& lacking = families.lacking(backend.group, family);
    if (lacking.count == 0) continue;
    const std::string others =
        lacking.count == 1 ? "" : fmt::format(" (and {} more)", lacking.count - 1);
    problems.error(rule.at("IPAddress"),
                   fmt::format("endpoint {}{} of group {} has no {} address; every backend of a "
                               "rule's service needs an address of the rule's family",
                               lacking.first, others, quote(backend.group), toString(family)));
  }
}

// P8.1
void checkProtocol(const Located<ForwardingRule>& rule, const BackendService& service,
                   Problems& problems) {
  const ServiceProtocol protocol = service.protocol;
  const bool fits = protocol == ServiceProtocol::unspecified ||
                    (protocol == ServiceProtocol::tcp && rule.value.protocol == Protocol::tcp) ||
                    (protocol == ServiceProtocol::udp && rule.value.protocol == Protocol::udp);
  if (fits) return;
  problems.error(
      rule.at("IPProtocol"),
      fmt::format(
          "a rule with IPProtocol {} cannot have a service with protocol {} ({}); "
          "allowed {}",
          ruleProtocolName(rule.value.protocol), toString(protocol), quote(service.name),
          rule.value.protocol == Protocol::none
              ? "is UNSPECIFIED"
              : fmt::format("are {} and UNSPECIFIED", ruleProtocolName(rule.value.protocol))));
}

void checkService(const Index& index, const Located<ForwardingRule>& rule,
                  const FamilyIndex& families, Problems& problems) {
  const auto* service = index.service(rule.value.backendService);
  if (service == nullptr) {
    reportDangling(index, problems, rule.at("backendService"),
                   {"backendServices", "backend service", rule.value.backendService});
    return;
  }
  const auto areSound = [&](std::string_view ofRule, std::string_view ofService) {
    return isSound(problems, rule, {ofRule}) && isSound(problems, *service, {ofService});
  };
  if (areSound("loadBalancingScheme", "loadBalancingScheme") &&
      service->value.scheme != rule.value.scheme)
    problems.error(rule.at("loadBalancingScheme"),
                   fmt::format("the rule's loadBalancingScheme {} is not that of its service {}, "
                               "{}; both must be the same (INTERNAL when not given)",
                               toString(rule.value.scheme), quote(service->value.name),
                               toString(service->value.scheme)));
  if (areSound("IPProtocol", "protocol")) checkProtocol(rule, service->value, problems);
  if (isGiven(problems, rule, "IPAddress")) checkFamilies(rule, service->value, families, problems);
}

// P8.3: rules of one address and protocol must not share a port.
class OverlapCheck {
 public:
  void add(const Located<ForwardingRule>& rule, std::size_t order) {
    auto& claims = claims_[{rule.value.address, rule.value.protocol}];
    if (rule.value.ports.empty()) claims.push_back({{0, 65535}, &rule, order});
    for (const PortRange& ports : rule.value.ports) claims.push_back({ports, &rule, order});
  }

  void report(Problems& problems) {
    for (auto& [key, claims] : claims_) {
      std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
        return std::tie(a.ports.first, a.order) < std::tie(b.ports.first, b.order);
      });
      const Claim* widest = nullptr;  // of those before, the one that reaches furthest
      for (const Claim& claim : claims) {
        const bool overlaps = widest != nullptr && claim.ports.first <= widest->ports.last;
        if (overlaps && claim.rule != widest->rule) reportPair(claim, *widest, problems);
        if (widest == nullptr || claim.ports.last > widest->ports.last) widest = &claim;
      }
    }
  }

 private:
  struct Claim {
    PortRange ports;
    const Located<ForwardingRule>* rule;
    std::size_t order;
  };

  // At the later one of the two, in the order of reading.
  static void reportPair(const Claim& a, const Claim& b, Problems& problems) {
    const Claim& later = a.order > b.order ? a : b;
    const Claim& earlier = a.order > b.order ? b : a;
    const ForwardingRule& rule = later.rule->value;
    const std::string place = earlier.rule->at().toString();
    problems.error(
        later.rule->at(rule.ports.empty() ? "allPorts" : "IPAddress"),
        fmt::format("rules {} and {}{}{}{} overlap: both take {} packets to {}{}; rules of one "
                    "address and protocol must have different ports",
                    quote(rule.name), quote(earlier.rule->value.name), place.empty() ? "" : " (",
                    place, place.empty() ? "" : ")", ruleProtocolName(rule.protocol),
                    rule.address.toString(),
                    rule.protocol == Protocol::none
                        ? ""
                        : fmt::format(" port {}",
                                      std::max({a.ports.first, b.ports.first, std::uint16_t{1}}))));
  }

  std::map<std::pair<Address, Protocol>, std::vector<Claim>> claims_;
};

// A passthrough rule for every protocol takes the packets of the address, those of a proxy's ports
// too, whose connections end here (X1.2).
void checkBesideProxies(const Draft& draft, Problems& problems) {
  std::map<Address, const Located<ForwardingRule>*> proxies;
  for (const auto& rule : draft.rules)
    if (isManaged(rule.value.scheme) && !rule.broken)
      proxies.try_emplace(rule.value.address, &rule);
  for (const auto& rule : draft.rules) {
    const auto proxy = proxies.find(rule.value.address);
    if (proxy == proxies.end() || rule.broken || rule.value.protocol != Protocol::none) continue;
    problems.error(
        rule.at("IPAddress"),
        fmt::format("rule {} takes every packet to {}, also those of rule {}, which is a "
                    "proxy's; give one of them another address",
                    quote(rule.value.name), rule.value.address.toString(),
                    quote(proxy->second->value.name)));
  }
}

// Next hops by address: the rules of the address that can be one.
const Located<ForwardingRule>* resolve(const Located<Route>& route, const Draft& draft,
                                       Address address, Problems& problems) {
  const Located<ForwardingRule>* found = nullptr;
  bool onlyL3Default = false;
  for (const auto& rule : draft.rules) {
    if (!isGiven(problems, rule, "IPAddress") || rule.value.address != address) continue;
    if (isManaged(rule.value.scheme)) continue;
    if (rule.value.protocol == Protocol::none) {
      onlyL3Default = found == nullptr;
      continue;
    }
    onlyL3Default = false;
    if (found != nullptr && found->value.backendService != rule.value.backendService) {
      problems.error(
          route.at("nextHopIlb"),
          fmt::format("rules {} and {} of address {} have different services; name the "
                      "rule instead of the address",
                      quote(found->value.name), quote(rule.value.name), address.toString()));
      return nullptr;
    }
    if (found == nullptr || rule.value.name < found->value.name) found = &rule;
  }
  if (found != nullptr) return found;
  problems.error(route.at("nextHopIlb"),
                 onlyL3Default
                     ? fmt::format("the rule of address {} has IPProtocol L3_DEFAULT; a route "
                                   "needs a rule with TCP or UDP",
                                   address.toString())
                     : fmt::format("there is no passthrough forwarding rule of address {}",
                                   address.toString()));
  return nullptr;
}

// N5
void checkNextHop(const Located<Route>& route, const Located<ForwardingRule>& rule,
                  Problems& problems) {
  if (isManaged(rule.value.scheme)) {
    problems.error(route.at("nextHopIlb"),
                   fmt::format("rule {} is a proxy's ({}); a route needs a passthrough rule",
                               quote(rule.value.name), toString(rule.value.scheme)));
    return;
  }
  if (isSound(problems, rule, {"IPProtocol"}) && rule.value.protocol == Protocol::none)
    problems.error(route.at("nextHopIlb"),
                   fmt::format("rule {} has IPProtocol L3_DEFAULT; a route needs a rule with TCP "
                               "or UDP (it carries every protocol all the same)",
                               quote(rule.value.name)));
  if (isGiven(problems, rule, "IPAddress") && isGiven(problems, route, "destRange") &&
      rule.value.address.family() != route.value.destRange.family())
    problems.error(
        route.at("destRange"),
        fmt::format("destRange {} is {}, but rule {} has the {} address {}; the "
                    "families must match",
                    route.value.destRange.toString(), toString(route.value.destRange.family()),
                    quote(rule.value.name), toString(rule.value.address.family()),
                    rule.value.address.toString()));
}

// N5, as far as it is the same on every host: what no router forwards, no route can carry.
void checkDestination(const Located<Route>& route, Problems& problems) {
  struct Local {
    const char* range;
    const char* what;
  };
  static constexpr Local kLocal[]{{"0.0.0.0/32", "is no address"},
                                  {"127.0.0.0/8", "is loopback"},
                                  {"224.0.0.0/4", "is multicast"},
                                  {"255.255.255.255/32", "is broadcast"},
                                  {"::/127", "is unspecified or loopback"},
                                  {"fe80::/10", "is link-local"},
                                  {"ff00::/8", "is multicast"}};
  if (!isGiven(problems, route, "destRange")) return;
  const Prefix& destination = route.value.destRange;
  for (const auto& [range, what] : kLocal) {
    const Prefix local = *Prefix::parse(range);
    if (local.family() == destination.family() && local.length() <= destination.length() &&
        local.contains(destination.address()))
      problems.error(route.at("destRange"),
                     fmt::format("destRange {} {} ({}), which no host forwards; a route is for "
                                 "packets that this host would route to another machine",
                                 destination.toString(), what, range));
  }
}

}  // namespace

void checkRules(const Draft& draft, const Index& index, Problems& problems) {
  const FamilyIndex families(draft, problems);
  OverlapCheck overlaps;
  for (std::size_t i = 0; i < draft.rules.size(); ++i) {
    const auto& rule = draft.rules[i];
    const bool managed = isManaged(rule.value.scheme);
    if (managed && !rule.value.target.empty()) checkTarget(index, rule, problems);
    if (!managed && !rule.value.backendService.empty())
      checkService(index, rule, families, problems);
    if (!rule.broken) overlaps.add(rule, i);
  }
  overlaps.report(problems);
  checkBesideProxies(draft, problems);
}

void checkRoutes(Draft& draft, const Index& index, Problems& problems) {
  for (auto& route : draft.routes) {
    checkDestination(route, problems);
    if (route.value.nextHopIlb.empty()) continue;
    const Located<ForwardingRule>* rule = nullptr;
    if (const auto address = Address::parse(route.value.nextHopIlb)) {
      rule = resolve(route, draft, *address, problems);
      if (rule != nullptr) route.value.nextHopIlb = rule->value.name;
    } else {
      rule = index.rule(route.value.nextHopIlb);
      if (rule == nullptr)
        reportDangling(index, problems, route.at("nextHopIlb"),
                       {"forwardingRules", "forwarding rule", route.value.nextHopIlb});
    }
    if (rule != nullptr) checkNextHop(route, *rule, problems);
  }
}

}  // namespace weir::config
