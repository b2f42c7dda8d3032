// SPDX-License-Identifier: GPL-2.0-or-later
//
// From values to what is read: resources in normal form (C1). The normal form of a resource is a
// mapping with its name first, then the fields that are not at their default in the order in which
// they are declared. Reading it gives the same resource, and equal resources have equal forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "weir/model.h"

namespace weir::config {

// One collection as an export knows it.
struct CollectionName {
  std::string_view name;  // "backendServices"
  std::string_view kind;  // "compute#backendService"
};
// nullopt: weir has no such collection.
std::optional<CollectionName> collectionNamed(std::string_view name);
// The collection of an exported resource: by its kind, or by the path in its name; nullopt: the
// value is none.
std::optional<CollectionName> collectionOfExport(const Value& resource);
// A resource's name, also where it is the end of a path; empty: it has none.
std::string nameOfResource(const Value& resource);

// Calls `visit(name, list)` for each collection of a configuration, in the order of the reference.
template <class C, class Visit>
void forEachCollection(C& configuration, Visit visit) {
  visit("healthChecks", configuration.healthChecks);
  visit("networkEndpointGroups", configuration.groups);
  visit("backendServices", configuration.services);
  visit("forwardingRules", configuration.rules);
  visit("routes", configuration.routes);
  visit("targetTcpProxies", configuration.targetProxies);
  visit("tlsRoutes", configuration.tlsRoutes);
  visit("serviceLbPolicies", configuration.lbPolicies);
}

struct WrittenResource {
  CollectionName collection;
  std::string name;
  ValuePtr value;  // its normal form
};

// Every resource, collection by collection in the order of the reference, by name inside of each.
std::vector<WrittenResource> writtenResources(const Configuration&);
// One of them, or those of one collection.
std::optional<WrittenResource> writtenResource(const Configuration&, std::string_view collection,
                                               std::string_view name);
std::vector<WrittenResource> writtenCollection(const Configuration&, std::string_view collection);
// The same as one mapping of collections (empty ones are left out); with the node's settings that
// are not at their default in front when `node` is given.
ValuePtr writtenConfiguration(const std::vector<WrittenResource>&, const Node* node);

// A stable hash of the content, 16 hexadecimal digits; keys count in the order they have.
std::string fingerprint(const Value&);

// Equal in everything but place.
bool isSame(const Value& a, const Value& b);

// YAML in block style, which weir reads as the same value. Ends with a line end.
std::string yamlText(const Value&);

// Where the resources of a text stand, for texts with one resource per list item.
struct WrittenFile {
  std::string text;
  std::vector<unsigned> lines;  // of each resource, from 1
};
// A file of conf.d: `header`, of whole comment lines, then the resources, which are in the order of
// writtenResources().
WrittenFile writtenFile(std::string_view header, const std::vector<WrittenResource>&);

}  // namespace weir::config
