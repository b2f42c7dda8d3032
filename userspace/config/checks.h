// SPDX-License-Identifier: GPL-2.0-or-later
//
// The rules between resources. They look at values alone, so that they hold for every way in which
// a configuration comes about; places are used for messages where there are some.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/draft.h"
#include "config/problems.h"

namespace weir::config {

// Resources by name, the first where there are several. Lives as long as the draft is unchanged.
class Index {
 public:
  explicit Index(const Draft& draft);
  // nullptr: there is none.
  const Located<HealthCheck>* healthCheck(std::string_view name) const;
  const Located<NetworkEndpointGroup>* group(std::string_view name) const;
  const Located<BackendService>* service(std::string_view name) const;
  const Located<ForwardingRule>* rule(std::string_view name) const;
  const Located<TargetTcpProxy>* targetProxy(std::string_view name) const;
  const Located<ServiceLbPolicy>* lbPolicy(std::string_view name) const;
  // The TLS routes that name a target proxy, in the order in which they were read (X6.3).
  const std::vector<const Located<TlsRoute>*>& tlsRoutesOf(std::string_view proxy) const;

  // The names of a collection's resources, sorted, for messages.
  const std::vector<std::string>& names(std::string_view collection) const;
  // didYouMean() among them; empty when looking for near names has cost too much already.
  std::string suggestion(std::string_view name, std::string_view collection) const;
  const Draft& draft() const noexcept { return draft_; }

 private:
  const Draft& draft_;
  mutable std::map<std::string, std::vector<std::string>, std::less<>>
      namesOf_;                                    // made when needed
  mutable std::size_t comparisonsLeft_ = 300'000;  // of names; about half a second

  template <class T>
  using Names = std::unordered_map<std::string_view, const Located<T>*>;
  Names<HealthCheck> healthChecks_;
  Names<NetworkEndpointGroup> groups_;
  Names<BackendService> services_;
  Names<ForwardingRule> rules_;
  Names<TargetTcpProxy> targetProxies_;
  Names<ServiceLbPolicy> lbPolicies_;
  std::unordered_map<std::string_view, std::vector<const Located<TlsRoute>*>> tlsRoutes_;
};

// All rules, and the hints when there is no error. Next hops that were given by address become the
// names of rules.
void checkAll(Draft& draft, Problems& problems);

// May a rule be judged that depends on these fields? Not when something is wrong with one.
template <class T>
bool isSound(const Problems& problems, const Located<T>& located,
             std::initializer_list<std::string_view> paths) {
  if (!located.broken || located.text == nullptr) return true;
  for (const std::string_view path : paths) {
    const Value* value = valueAt(*located.tree, path);
    if (value != nullptr && problems.isWrong(*value)) return false;
  }
  return true;
}
// The same for fields that must be there.
template <class T>
bool isGiven(const Problems& problems, const Located<T>& located, std::string_view path) {
  return !located.broken || (valueAt(*located.tree, path) && isSound(problems, located, {path}));
}

// Its parts.
void checkNode(const Located<Node>& located, Problems& problems);
void checkNames(const Draft& draft, Problems& problems);
void checkServices(const Draft& draft, const Index& index, Problems& problems);
void checkRules(const Draft& draft, const Index& index, Problems& problems);
void checkTargetProxies(const Draft& draft, const Index& index, Problems& problems);
void checkTlsRoutes(const Draft& draft, const Index& index, Problems& problems);
// The destination of a proxy's rule (X1.1).
void checkTarget(const Index& index, const Located<ForwardingRule>& rule, Problems& problems);
void checkRoutes(Draft& draft, const Index& index, Problems& problems);
void giveHints(const Draft& draft, const Index& index, Problems& problems);
// Can a health check of this type read numbers from the backend's answer (P9.1, H13)?
bool readsHeaders(HealthCheck::Type type) noexcept;
void giveProxyHints(const Draft& draft, const Index& index, Problems& problems);

// A reference to nothing: says so, with near names and those there are.
struct Dangling {
  std::string_view collection;
  std::string_view what;  // "backend service"
  const std::string& name;
};
void reportDangling(const Index& index, Problems& problems, const Origin& at,
                    const Dangling& reference);

}  // namespace weir::config
