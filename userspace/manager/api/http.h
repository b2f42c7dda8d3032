// SPDX-License-Identifier: GPL-2.0-or-later
//
// A request and its answer, without the socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::manager {

// What a peer may do.
enum class Access : std::uint8_t { none, view, full };

struct HttpRequest {
  std::string method;             // "GET"
  std::vector<std::string> path;  // "/v1/status" -> {"v1", "status"}, percent-decoded
  std::map<std::string, std::string> query;
  std::string body;
  std::string contentType{};  // lower case, without parameters; empty: not said
  Access access = Access::full;
};

struct HttpResponse {
  unsigned status = 200;
  std::string contentType = "application/json";
  std::string body;
  std::string allow{};  // the methods that there are, for status 405 and OPTIONS
};

// Answers exactly once, at once or later.
using HttpRespond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpRespond)>;

// Splits a request target into path and query; nullopt: it is not one ("*", bad percent
// escapes, a parameter given twice).
struct HttpTarget {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;
};
std::optional<HttpTarget> parseTarget(std::string_view target);

// "Application/JSON; charset=utf-8" -> "application/json".
std::string mediaType(std::string_view contentType);

// {"error": {"message": ...}}
HttpResponse errorResponse(unsigned status, std::string_view message);

}  // namespace weir::manager
