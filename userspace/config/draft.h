// SPDX-License-Identifier: GPL-2.0-or-later
//
// A configuration on its way: resources as they were read, each with its place, before the checks
// between them have been made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/problems.h"
#include "config/value.h"
#include "weir/model.h"

namespace weir::config {

// The place of a value inside `tree`: path steps are keys and, in lists, numbers, joined by dots
// ("backends.2.group"). What is not written has the place of the nearest thing around it that is;
// a resource as a whole that of its name.
Mark locate(const Value& tree, std::string_view path);
// The value itself; nullptr when it is not written.
const Value* valueAt(const Value& tree, std::string_view path);

// What was read, and from where.
template <class T>
struct Located {
  T value{};
  const Text* text = nullptr;  // nullptr: was there already, has no place
  ValuePtr tree;
  bool broken = false;  // something in it is wrong, and was told

  Origin at(std::string_view path = "name") const {
    return text == nullptr ? Origin{} : Origin{text, locate(*tree, path)};
  }
};

struct Draft {
  Located<Node> node;
  std::vector<Located<HealthCheck>> healthChecks;
  std::vector<Located<NetworkEndpointGroup>> groups;
  std::vector<Located<BackendService>> services;
  std::vector<Located<ForwardingRule>> rules;
  std::vector<Located<Route>> routes;
  std::vector<Located<TargetTcpProxy>> targetProxies;
  std::vector<Located<TlsRoute>> tlsRoutes;
  std::vector<Located<ServiceLbPolicy>> lbPolicies;

  std::vector<std::string> incompleteFiles;  // files with errors in their YAML
  std::vector<Definition> definitions;
  bool replaces = false;  // resources of the same name and without a place give way

  static Draft from(const Configuration& configuration);
  Configuration finish() const;
};

}  // namespace weir::config
