// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "config/load.h"
#include "config/utf8.h"
#include "config/words.h"

namespace weir::config {

int runCheck(const std::filesystem::path& path, std::ostream& out, std::ostream& err) {
  using Severity = Diagnostic::Severity;
  const Loaded loaded = loadDirectory(path);
  for (const Diagnostic& diagnostic : loaded.diagnostics) err << diagnostic.toString() << '\n';

  const auto number = [&](Severity severity) {
    return static_cast<std::size_t>(
        std::count_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                      [&](const Diagnostic& d) { return d.severity == severity; }));
  };
  const std::string remarks = fmt::format("{}, {}", count(number(Severity::warning), "warning"),
                                          count(number(Severity::hint), "hint"));
  if (!loaded.ok()) {
    out << fmt::format("{}: {}, {}; not applicable\n", escaped(path.string()),
                       count(number(Severity::error), "error"), remarks);
    return 1;
  }
  const Configuration& c = loaded.configuration;
  std::size_t endpoints = 0;
  for (const auto& group : c.groups) endpoints += group.endpoints.size();
  // What only proxies have is told where there is any.
  std::string ofProxies;
  for (const auto& [n, what] : {std::pair(c.targetProxies.size(), "target proxy"),
                                {c.tlsRoutes.size(), "TLS route"},
                                {c.lbPolicies.size(), "service policy"}})
    if (n != 0) ofProxies += ", " + count(n, what);
  out << fmt::format("{}: valid: {}, {}, {}, {}, {}, {}{}; {}\n", escaped(path.string()),
                     count(c.rules.size(), "forwarding rule"), count(c.services.size(), "service"),
                     count(c.groups.size(), "group"), count(endpoints, "endpoint"),
                     count(c.healthChecks.size(), "health check"), count(c.routes.size(), "route"),
                     ofProxies, remarks);
  return 0;
}

}  // namespace weir::config
