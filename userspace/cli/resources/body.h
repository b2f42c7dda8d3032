// SPDX-License-Identifier: GPL-2.0-or-later
//
// From flags to the JSON of resources.
#pragma once

#include "cli/command.h"

namespace weir::cli {

// The fields that the flags of a command line set: a JSON merge patch (RFC 7396), null where a
// field goes back to its default.
Json patchOf(const Invocation&);

// The same for a resource that is made: without the nulls.
Json withoutNulls(const Json&);

// Sets the field at `path`, dots between levels; objects on the way are made.
void setField(Json& object, std::string_view path, Json value);

// A resource as it is configured: without what only answers have (kind, fingerprint, status,
// diagnostics).
Json configured(Json resource);

}  // namespace weir::cli
