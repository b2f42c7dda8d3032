// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a request's body says.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "config/text.h"
#include "config/value.h"
#include "manager/api/http.h"
#include "manager/api/value_json.h"
#include "weir/result.h"

namespace weir::manager {

// Documents of the configuration, by the body's Content-Type: one of JSON, or any number of YAML.
struct Body {
  std::vector<config::ValuePtr> documents;
  std::unique_ptr<const config::Text> seen;  // YAML: what its places are in
};
// Otherwise the answer to be given. A body that is empty has no documents.
std::variant<Body, HttpResponse> bodyOf(const HttpRequest& request);

// A body that is a JSON object with these members at most; an empty body is an empty object.
Result<Json> objectIn(const HttpRequest& request, std::initializer_list<std::string_view> members);

// Refuses query parameters that are not among these.
Status checkQuery(const HttpRequest& request, std::span<const std::string_view> parameters);
// "true" or "false"; false when it is not there.
Result<bool> flagOf(const HttpRequest& request, const std::string& parameter);

}  // namespace weir::manager
