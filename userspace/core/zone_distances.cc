// SPDX-License-Identifier: GPL-2.0-or-later
#include "zone_distances.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace weir {

void ZoneDistances::setZones(std::map<EndpointRef, std::string> zoneOf) {
  zones_ = std::move(zoneOf);
  std::erase_if(roundTrips_, [&](const auto& known) { return !zones_.contains(known.first); });
  std::set<std::string> present;
  for (const auto& [endpoint, zone] : zones_) present.insert(zone);
  std::erase_if(distances_, [&](const auto& known) { return !present.contains(known.first); });
}

const std::string& ZoneDistances::zoneOf(const EndpointRef& endpoint) const {
  static const std::string kNone;
  const auto zone = zones_.find(endpoint);
  return zone == zones_.end() ? kNone : zone->second;
}

bool ZoneDistances::update(const std::string& zone) {
  std::vector<double> measured;
  for (const auto& [endpoint, roundTrip] : roundTrips_)
    if (zoneOf(endpoint) == zone) measured.push_back(static_cast<double>(roundTrip.count()) / 1000);
  if (measured.empty()) return false;
  const auto middle = measured.begin() + static_cast<std::ptrdiff_t>(measured.size() / 2);
  std::nth_element(measured.begin(), middle, measured.end());
  double median = *middle;
  if (measured.size() % 2 == 0) median = (median + *std::max_element(measured.begin(), middle)) / 2;

  const auto [distance, first] = distances_.try_emplace(zone, Distance{median, median});
  if (first) return true;
  double& smoothed = distance->second.smoothedMs;
  double& published = distance->second.publishedMs;
  smoothed += kSmoothing * (median - smoothed);
  if (std::abs(smoothed - published) <= std::max(kLeastMs, published / 10)) return false;
  published = smoothed;
  return true;
}

std::map<std::string, double> ZoneDistances::published() const {
  std::map<std::string, double> result;
  for (const auto& [zone, distance] : distances_) result[zone] = distance.publishedMs;
  return result;
}

}  // namespace weir
