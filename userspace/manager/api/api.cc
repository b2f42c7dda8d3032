// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/collections.h"
#include "config/words.h"
#include "config/write.h"
#include "manager/api/body.h"
#include "manager/api/handlers.h"

namespace weir::manager {

namespace {

struct Entry {
  std::string_view method;
  std::vector<std::string_view> path;  // "*": any one segment; "COLLECTION": one of those
  Serve serve;
  Access access = Access::full;                // that one needs
  std::vector<std::string_view> parameters{};  // of the query
};

const std::vector<Entry>& entries() {
  using enum Access;
  static const std::vector<Entry> kEntries{
      {"GET", {"v1", "status"}, status, view},
      {"GET", {"v1", "backendServices", "*", "health"}, showHealth, view},
      {"POST", {"v1", "backendServices", "*", "drain"}, drain},
      {"POST", {"v1", "backendServices", "*", "undrain"}, undrain},
      {"GET",
       {"v1", "connections"},
       listConnections,
       view,
       {"service", "client", "backend", "limit"}},
      {"GET",
       {"v1", "connections", "count"},
       countConnections,
       view,
       {"service", "client", "backend"}},
      {"POST",
       {"v1", "connections", "flush"},
       flushConnections,
       full,
       {"service", "client", "backend"}},
      {"POST", {"v1", "explain"}, explain, view},
      {"POST", {"v1", "reload"}, reload},
      {"POST", {"v1", "apply"}, applyResources, full, {"dryRun", "name"}},
      {"GET", {"v1", "export"}, exportResources, view, {"node"}},
      {"POST", {"v1", "diff"}, diff, view, {"name"}},
      {"GET", {"v1", "COLLECTION"}, listResources, view},
      {"POST", {"v1", "COLLECTION"}, createResource, full, {"dryRun", "name"}},
      {"GET", {"v1", "COLLECTION", "*"}, describeResource, view},
      {"PUT", {"v1", "COLLECTION", "*"}, replaceResource, full, {"dryRun", "name"}},
      {"PATCH", {"v1", "COLLECTION", "*"}, patchResource, full, {"dryRun", "name"}},
      {"DELETE", {"v1", "COLLECTION", "*"}, deleteResource, full, {"dryRun", "name"}},
  };
  return kEntries;
}

bool matches(const Entry& entry, const std::vector<std::string>& path) {
  return std::equal(entry.path.begin(), entry.path.end(), path.begin(), path.end(),
                    [](std::string_view pattern, const std::string& segment) {
                      if (pattern == "COLLECTION")
                        return config::collectionNamed(segment).has_value();
                      return pattern == "*" || pattern == segment;
                    });
}

HttpResponse nothingHere(const HttpRequest& request) {
  std::string known;
  if (request.path.size() >= 2 && request.path[0] == "v1") {
    std::vector<std::string> names;
    for (const Entry& entry : entries())
      if (entry.path[1] != "COLLECTION") names.emplace_back(entry.path[1]);
    for (const config::CollectionInfo& collection : config::collections())
      names.emplace_back(collection.name);
    known = config::didYouMean(request.path[1], names);
  }
  return errorResponse(404, fmt::format("there is nothing at this path{}", known));
}

// What the path can be asked, for those who asked for something else.
std::string methodsOf(const std::vector<const Entry*>& here) {
  std::string methods;
  for (const Entry* entry : here) {
    methods += fmt::format("{}, ", entry->method);
    if (entry->method == "GET") methods += "HEAD, ";
  }
  return methods + "OPTIONS";
}

void route(Manager& manager, const HttpRequest& request, HttpRespond respond) {
  std::vector<const Entry*> here;
  for (const Entry& entry : entries())
    if (matches(entry, request.path)) here.push_back(&entry);
  if (here.empty()) return respond(nothingHere(request));
  if (request.method == "OPTIONS") {
    HttpResponse methods;
    methods.status = 204;
    methods.allow = methodsOf(here);
    return respond(std::move(methods));
  }
  // A HEAD is a GET whose answer's body is not sent.
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const Entry* entry : here) {
    if (entry->method != method) continue;
    const bool mayDo = request.access == Access::full ||
                       (request.access == Access::view && entry->access == Access::view);
    if (!mayDo)
      return respond(errorResponse(
          403, "you may look, but not change anything: that is for root and the group weir"));
    if (const Status known = checkQuery(request, entry->parameters); !known.ok())
      return respond(errorResponse(400, known.error().message));
    return entry->serve(manager, request, std::move(respond));
  }
  HttpResponse refused =
      errorResponse(405, fmt::format("{} is not possible here; possible are {}",
                                     config::quote(request.method), methodsOf(here)));
  refused.allow = methodsOf(here);
  respond(std::move(refused));
}

}  // namespace

HttpHandler apiHandler(Manager& manager) {
  return [&manager](const HttpRequest& request, HttpRespond respond) {
    route(manager, request, std::move(respond));
  };
}

}  // namespace weir::manager
