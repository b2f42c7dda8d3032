// SPDX-License-Identifier: GPL-2.0-or-later
//
// A request and its answer, without the socket.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::manager {

struct HttpRequest {
  std::string method;             // "GET"
  std::vector<std::string> path;  // "/v1/status" -> {"v1", "status"}, percent-decoded
  std::map<std::string, std::string> query;
  std::string body;
};

struct HttpResponse {
  unsigned status = 200;
  std::string contentType = "application/json";
  std::string body;
};

// Answers exactly once, at once or later.
using HttpRespond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpRespond)>;

// Splits a request target into path and query; nullopt: it is not one ("*", bad percent escapes).
struct HttpTarget {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;
};
std::optional<HttpTarget> parseTarget(std::string_view target);

// {"error": {"message": ...}}
HttpResponse errorResponse(unsigned status, std::string_view message);

}  // namespace weir::manager
