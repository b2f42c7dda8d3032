// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is done to the documents of a request before they are read.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/value.h"

namespace weir::config {

// RFC 7396: members of `patch` replace those of `target`, null takes them out.
ValuePtr mergePatch(const ValuePtr& target, const ValuePtr& patch);

// A resource without what only answers have: kind, fingerprint, status, diagnostics.
ValuePtr withoutOutputFields(const ValuePtr& resource);
// The same for every resource of a document; an exported one keeps its kind.
ValuePtr withoutOutputFieldsInside(const ValuePtr& document);

// A resource with `name` in front where it has none.
ValuePtr withName(const ValuePtr& resource, const std::string& name);
// A mapping of one collection with one resource.
ValuePtr collectionOf(std::string_view collection, const ValuePtr& resource);

// A document without the resources that `isUnwanted` names.
ValuePtr withoutResources(
    const ValuePtr& document,
    const std::function<bool(std::string_view collection, const std::string& name)>& isUnwanted);

}  // namespace weir::config
