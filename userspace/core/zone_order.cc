// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <limits>
#include <tuple>

#include "weir/placement.h"

namespace weir {

namespace {
constexpr double kUnknown = std::numeric_limits<double>::infinity();
}

ZoneOrder::ZoneOrder(const Zone& node, std::vector<Zone> zones,
                     const std::map<std::string, double>& configured,
                     const std::map<std::string, double>& measured)
    : node_(node) {
  const auto distance = [&](const std::string& name) {
    if (const auto found = configured.find(name); found != configured.end()) return found->second;
    if (const auto found = measured.find(name); found != measured.end()) return found->second;
    return kUnknown;
  };
  std::map<std::string, double> regions;
  for (const Zone& zone : zones) {
    const double ms = distance(zone.name);
    distances_[zone.name] = ms;
    double& region = regions.try_emplace(zone.region, kUnknown).first->second;
    region = std::min(region, ms);
  }
  for (auto& [name, ms] : regions)
    if (const auto found = configured.find(name); found != configured.end()) ms = found->second;

  std::vector<std::tuple<bool, double, std::string>> order;  // not the node's own, distance, name
  for (const auto& [name, ms] : regions) order.emplace_back(name != node.region, ms, name);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) regions_[std::get<2>(order[i])] = i;

  const auto key = [&](const Zone& zone) {
    return std::tuple(regions_.at(zone.region), zone.name != node.name, distances_.at(zone.name),
                      zone.name);
  };
  std::sort(zones.begin(), zones.end(),
            [&](const Zone& a, const Zone& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < zones.size(); ++i)
    zones_.try_emplace({zones[i].region, zones[i].name}, i);
}

ZoneOrder::ZoneOrder(const Zone& node, std::span<const Zone> nearestFirst) : node_(node) {
  for (const Zone& zone : nearestFirst) {
    regions_.try_emplace(zone.region, regions_.size());
    zones_.try_emplace({zone.region, zone.name}, zones_.size());
  }
}

std::vector<ZoneOrder::Zone> ZoneOrder::nearestFirst() const {
  std::vector<Zone> zones(zones_.size());
  for (const auto& [key, rank] : zones_) zones[rank] = {key.second, key.first};
  return zones;
}

std::size_t ZoneOrder::regionRank(const std::string& region) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? regions_.size() : found->second;
}

std::size_t ZoneOrder::zoneRank(const std::string& region, const std::string& zone) const {
  const auto found = zones_.find({region, zone});
  return found == zones_.end() ? zones_.size() : found->second;
}

double ZoneOrder::milliseconds(const std::string& zone) const {
  const auto found = distances_.find(zone);
  return found == distances_.end() ? kUnknown : found->second;
}

}  // namespace weir
