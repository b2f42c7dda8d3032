// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/rule_words.h"

#include <array>
#include <utility>

namespace weir::cli {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kWords{{
    {"P2.1", "some backends are healthy: new connections go to these alone"},
    {"P2.2", "no backend is healthy: as a last resort, new connections go to all of them"},
    {"P2.3",
     "failover is active: no primary backend is healthy, so the healthy failover backends "
     "serve"},
    {"P2.4", "no failover backend is healthy: the healthy primary backends serve, however few"},
    {"P2.5",
     "a primary backend is healthy and the failover ratio is 0: the healthy primary "
     "backends serve"},
    {"P2.6", "enough primary backends are healthy: the healthy ones serve"},
    {"P2.7",
     "failover is active: too few primary backends are healthy, so the healthy failover "
     "backends serve"},
    {"P2.8",
     "no backend is healthy, and the service drops new connections then "
     "(dropTrafficIfUnhealthy)"},
    {"P2.9", "no backend is healthy: as a last resort, new connections go to all primary backends"},
    {"P3.3",
     "of these, only those of the client's zone; if none of the zone is healthy, the zone's "
     "unhealthy ones, whatever other zones have (ZONAL_AFFINITY_STAY_WITHIN_ZONE)"},
    {"P3.4",
     "the client's zone has a healthy backend, so only those of the zone are used "
     "(ZONAL_AFFINITY_SPILL_CROSS_ZONE)"},
    {"P3.5",
     "enough backends of the client's zone are healthy, so only those of the zone are used "
     "(ZONAL_AFFINITY_SPILL_CROSS_ZONE)"},
    {"P9.3",
     "the service is weighted: the first of healthy with a weight, unhealthy with a weight, "
     "healthy of weight 0, unhealthy of weight 0"},
    {"P9.4",
     "the service is weighted and no backend is healthy with a weight: primaries before "
     "failover backends, with a weight before weight 0"},
}};

}  // namespace

std::string_view wordsOf(std::string_view rule) noexcept {
  for (const auto& [number, words] : kWords)
    if (number == rule) return words;
  return "";
}

}  // namespace weir::cli
