// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/words.h"
#include "manager/api/views.h"

namespace weir::manager {

namespace {

bool isJson(const std::string& type) {
  return type.empty() || type == "application/json" || type == "application/merge-patch+json";
}
bool isYaml(const std::string& type) {
  return type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml";
}

HttpResponse unsupported(const std::string& type) {
  return errorResponse(415, fmt::format("the body is sent as {}; send Content-Type: "
                                        "application/json (curl --json), or application/yaml",
                                        config::quote(type)));
}

std::variant<Body, HttpResponse> yamlBody(const HttpRequest& request) {
  const auto name = request.query.find("name");
  Body body;
  body.seen = std::make_unique<const config::Text>(
      config::Source{name != request.query.end() ? name->second : "the request", request.body});
  config::Problems problems;
  body.documents = config::parse(*body.seen, problems).values;
  std::size_t size = 0;  // aliases expanded
  for (const auto& document : body.documents) size += document->size;
  if (size > kMaxBodyValues)
    return errorResponse(413, fmt::format("the body has more than {} values", kMaxBodyValues));
  const auto diagnostics = problems.take();
  if (diagnostics.empty()) return body;
  return refusal(400, diagnostics.front().message, config::EditPlaces().translate(diagnostics));
}

std::string namesOf(std::span<const std::string_view> names) {
  if (names.size() == 0) return "none is known";
  const std::vector<std::string> words(names.begin(), names.end());
  return fmt::format("known {} {}", words.size() == 1 ? "is" : "are", config::join(words, "and"));
}

}  // namespace

std::variant<Body, HttpResponse> bodyOf(const HttpRequest& request) {
  if (request.body.empty()) return Body{};
  if (isYaml(request.contentType)) return yamlBody(request);
  if (!isJson(request.contentType)) return unsupported(request.contentType);
  auto value = valueFromJson(request.body);
  if (!value.ok()) return errorResponse(400, value.error().message);
  Body body;
  body.documents.push_back(std::move(value).value());
  return body;
}

Result<Json> objectIn(const HttpRequest& request, std::initializer_list<std::string_view> members) {
  if (request.body.empty()) return Json::object();
  if (!isJson(request.contentType))
    return Error{"the body must be a JSON object, sent with Content-Type: application/json"};
  const auto value = valueFromJson(request.body);
  if (!value.ok()) return value.error();
  Json body = jsonOf(**value);
  if (!body.is_object()) return Error{"the body must be a JSON object"};
  for (const auto& [name, member] : body.items())
    if (std::find(members.begin(), members.end(), name) == members.end())
      return Error{fmt::format("unknown member {}; {}", config::quote(name),
                               namesOf({members.begin(), members.size()}))};
  return body;
}

Status checkQuery(const HttpRequest& request, std::span<const std::string_view> parameters) {
  for (const auto& [name, value] : request.query)
    if (std::find(parameters.begin(), parameters.end(), name) == parameters.end())
      return Error{
          fmt::format("unknown parameter {}; {}", config::quote(name), namesOf(parameters))};
  return success();
}

Result<bool> flagOf(const HttpRequest& request, const std::string& parameter) {
  const auto given = request.query.find(parameter);
  if (given == request.query.end() || given->second == "false") return false;
  if (given->second == "true") return true;
  return Error{
      fmt::format("{} must be true or false, not {}", parameter, config::quote(given->second))};
}

}  // namespace weir::manager
