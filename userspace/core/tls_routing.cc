// SPDX-License-Identifier: GPL-2.0-or-later
#include "weir/tls_routing.h"

#include <algorithm>

namespace weir {

namespace {

constexpr std::string_view kAnyLabels = "*.";

bool accepts(const std::vector<std::string>& wanted, std::span<const std::string> offered) {
  return wanted.empty() || std::ranges::any_of(offered, [&](const std::string& protocol) {
           return std::ranges::find(wanted, protocol) != wanted.end();
         });
}

}  // namespace

TlsRouting::TlsRouting(std::span<const TlsRoute* const> routes) {
  for (const TlsRoute* route : routes)
    for (const TlsRule& rule : route->rules)
      for (const TlsMatch& match : rule.matches)
        for (const std::string& host : match.sniHosts) {
          const bool isWildcard = host.starts_with(kAnyLabels);
          const std::string name = isWildcard ? host.substr(kAnyLabels.size()) : host;
          (isWildcard ? wildcards_ : exact_)[name].push_back({{route, &rule}, &match.alpn});
        }
}

TlsRouting::Match TlsRouting::firstOf(const Names& names, std::string_view name,
                                      std::span<const std::string> protocols) {
  const auto found = names.find(name);
  if (found == names.end()) return {};
  for (const Candidate& candidate : found->second)
    if (accepts(*candidate.protocols, protocols)) return candidate.match;
  return {};
}

TlsRouting::Match TlsRouting::find(std::string_view name,
                                   std::span<const std::string> protocols) const {
  if (const Match match = firstOf(exact_, name, protocols)) return match;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    name.remove_prefix(dot + 1);
    if (const Match match = firstOf(wildcards_, name, protocols)) return match;
  }
  return {};
}

}  // namespace weir
