// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a change of the configuration does to traffic, told before it is made: two control planes
// are compared, the running one and one that has the change already.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/control_plane.h"

namespace weir::manager {

struct ServiceEffects {
  std::string service;
  // Share of all possible new connections that would go to another backend than now (of clients
  // without a zone of their own): by the tables that select, slot by slot; where connections get
  // other keys, the share to be expected.
  double moved = 0.0;
  std::vector<std::string> effects;  // in words
  // Whose tracked connections end at once.
  bool allEnd = false;
  std::vector<std::string> endingEndpoints;
  // More may end: which depends on their protocol, or on keys that change.
  bool moreMayEnd = false;
};

struct Effects {
  std::vector<ServiceEffects> services;  // with a change in the data plane, by name
  // By collection and name of the resource that they come from.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> byResource;
};

Effects effectsOf(const ControlPlane& before, const ControlPlane& after, Time now);

}  // namespace weir::manager
