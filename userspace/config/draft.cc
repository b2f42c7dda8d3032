// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/draft.h"

#include <charconv>

namespace weir::config {
namespace {

template <class T>
std::vector<Located<T>> locatedFrom(const std::vector<T>& values) {
  std::vector<Located<T>> out;
  out.reserve(values.size());
  for (const T& value : values) out.push_back({value, nullptr, nullptr, false});
  return out;
}

template <class T>
std::vector<T> valuesOf(const std::vector<Located<T>>& located) {
  std::vector<T> out;
  out.reserve(located.size());
  for (const auto& l : located) out.push_back(l.value);
  return out;
}

const Value* step(const Value& from, std::string_view name) {
  if (from.kind == Value::Kind::mapping) {
    const auto* entry = from.find(name);
    return entry == nullptr ? nullptr : entry->value.get();
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool isIndex = error == std::errc() && end == name.data() + name.size();
  return isIndex && index < from.items.size() ? from.items[index].get() : nullptr;
}

}  // namespace

Mark locate(const Value& tree, std::string_view path) {
  const Value* at = &tree;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const Value* next = step(*at, path.substr(0, dot));
    if (next == nullptr) break;
    at = next;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  if (at != &tree) return at->mark;
  const Value* name = step(tree, "name");
  return name == nullptr ? tree.mark : name->mark;
}

const Value* valueAt(const Value& tree, std::string_view path) {
  const Value* at = &tree;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = step(*at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

Draft Draft::from(const Configuration& configuration) {
  Draft draft;
  draft.replaces = true;
  draft.node.value = configuration.node;
  draft.healthChecks = locatedFrom(configuration.healthChecks);
  draft.groups = locatedFrom(configuration.groups);
  draft.services = locatedFrom(configuration.services);
  draft.rules = locatedFrom(configuration.rules);
  draft.routes = locatedFrom(configuration.routes);
  draft.targetProxies = locatedFrom(configuration.targetProxies);
  draft.tlsRoutes = locatedFrom(configuration.tlsRoutes);
  draft.lbPolicies = locatedFrom(configuration.lbPolicies);
  return draft;
}

Configuration Draft::finish() const {
  Configuration configuration;
  configuration.node = node.value;
  configuration.healthChecks = valuesOf(healthChecks);
  configuration.groups = valuesOf(groups);
  configuration.services = valuesOf(services);
  configuration.rules = valuesOf(rules);
  configuration.routes = valuesOf(routes);
  configuration.targetProxies = valuesOf(targetProxies);
  configuration.tlsRoutes = valuesOf(tlsRoutes);
  configuration.lbPolicies = valuesOf(lbPolicies);
  return configuration;
}

}  // namespace weir::config
