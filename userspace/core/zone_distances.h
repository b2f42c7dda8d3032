// SPDX-License-Identifier: GPL-2.0-or-later
//
// How far zones are, as the probes of their endpoints measure it (S1).
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "weir/control_plane.h"

namespace weir {

// The median of the round trips of a zone's endpoints, smoothed over time. What is published moves
// only when the smoothed value has left it by more than a tenth and by more than kLeastMs, so that
// zones that are equally far do not change places with every probe.
class ZoneDistances {
 public:
  static constexpr double kSmoothing = 0.125;
  static constexpr double kLeastMs = 0.05;

  struct Distance {
    double smoothedMs = 0;
    double publishedMs = 0;
  };

  void measure(const EndpointRef& endpoint, std::chrono::microseconds roundTrip) {
    roundTrips_[endpoint] = roundTrip;
  }
  // Which zone an endpoint is in; those without one here are forgotten.
  void setZones(std::map<EndpointRef, std::string> zoneOf);
  // Takes the zone's new median in. True: what is published changed.
  bool update(const std::string& zone);
  // Empty: in no zone.
  const std::string& zoneOf(const EndpointRef& endpoint) const;

  std::map<std::string, double> published() const;  // milliseconds by zone
  const std::map<std::string, Distance>& memory() const noexcept { return distances_; }
  void restore(std::map<std::string, Distance> memory) { distances_ = std::move(memory); }

 private:
  std::map<EndpointRef, std::string> zones_;
  std::map<EndpointRef, std::chrono::microseconds> roundTrips_;
  std::map<std::string, Distance> distances_;
};

}  // namespace weir
