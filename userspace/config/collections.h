// SPDX-License-Identifier: GPL-2.0-or-later
//
// From documents to a draft: which collection a resource belongs to (C1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/draft.h"
#include "config/schema.h"

namespace weir::config {

// The collections that weir reads, for the reference and the tests.
struct CollectionInfo {
  std::string_view name;  // "backendServices"
  std::string_view kind;  // of an export, "compute#backendService"
  const MappingInfo& (*item)();
};
const std::vector<CollectionInfo>& collections();

// Puts the documents of one text into a draft. A resource that replaces one without a place
// (Draft::from) takes its position; all others are added at the end.
class DocumentReader {
 public:
  // mayHoldNode: weir.yaml, whose settings of the node stand beside the collections.
  enum class Holds : std::uint8_t { resources, nodeAndResources };
  DocumentReader(Reader& reader, Draft& draft, Holds holds)
      : reader_(reader), draft_(draft), holds_(holds) {}

  // A document: collections, or an exported resource with its `kind`, or a list of those.
  void read(const ValuePtr& document);
  // A mapping of collections only.
  void readCollections(const ValuePtr& mapping);

 private:
  // An exported resource, known by its kind or, as those of networkservices are, by the path in its
  // name ("projects/p/locations/global/tlsRoutes/t"). False: this is none.
  bool readExport(const ValuePtr& resource);
  void readKind(const ValuePtr& resource, const Value::Entry& kind);
  void readKey(const Value::Entry& entry, Value& nodeSettings);
  void reportUnknown(const Value::Entry& entry);

  Reader& reader_;
  Draft& draft_;
  Holds holds_;
  std::map<std::string, Mark, std::less<>> nodeKeys_;  // seen in earlier documents
};

}  // namespace weir::config
