// SPDX-License-Identifier: GPL-2.0-or-later
//
// Changes to a configuration that is already there: by the events of a scenario, by the API. The
// result is validated as a whole; one with an error must not be used, not even in part.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "config/load.h"
#include "config/value.h"
#include "weir/model.h"

namespace YAML {
class Node;
}

namespace weir::config {

// `base` with the resources of `changes` (a mapping of collections as in C1) put in: a resource of
// the same name is replaced where it stands, others are added at the end. `changes` is a node of
// the YAML document `source`; diagnostics have its positions. What is wrong with a resource of
// `base` in the light of the change is told at the position of `changes`.
Loaded merge(const Configuration& base, const YAML::Node& changes, const Source& source);

// The same for a value that was read from `text` already.
Loaded merge(const Configuration& base, const ValuePtr& changes, const Text& text);

// loadScenario() for a text whose document, a mapping, was read already.
Loaded loadScenario(const Text& text, const ValuePtr& document);

// merge() for a whole text: collections, or exported resources with their `kind`.
Loaded merge(const Configuration& base, const Source& changes);

// The checks between resources (dangling names, overlaps, families, limits, ...) and the hints,
// without positions: for configurations that something was taken out of.
Loaded validate(Configuration configuration);

// Documents in the place of one file of conf.d, which need not exist yet.
struct Overlay {
  std::filesystem::path file;
  const Text& text;  // in which the documents have their places
  std::vector<ValuePtr> documents;
};
// loadDirectory() with what the overlay says instead of what its file holds.
Loaded loadDirectory(const std::filesystem::path& directory, const Overlay& overlay);

// A whole configuration out of documents that were read already; they may hold settings of the
// node, which add to those of `node`.
Loaded loadDocuments(const Node& node, const Text& text, const std::vector<ValuePtr>& documents);

// The resources of documents each by itself, without the checks between them. Meaningful only when
// ok(), but `definitions` always are.
Loaded readDocuments(const Text& text, const std::vector<ValuePtr>& documents);

// One member of a group, as in networkEndpointGroups[].endpoints[]. nullopt: errors were added.
std::optional<Endpoint> readEndpoint(const YAML::Node& node, const Source& source,
                                     std::vector<Diagnostic>& diagnostics);

}  // namespace weir::config
