// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>
#include <string>

#include "weir/data_plane.h"
#include "weir/result.h"
#include "weir/tracking_table.h"

namespace weir::engine {

// Which tracking-table entries an operation is about. Absent: any.
struct FlowFilter {
  std::optional<ServiceId> service;
  std::optional<Prefix> client;
  std::string backend;  // the endpoint's identity; empty: any

  // The error names a service that is not known, or an address that is none.
  static Result<FlowFilter> make(const World&, const std::string& service,
                                 const std::string& client, const std::string& backend);

  // Keys of services behind a route are symmetric (N6): there the client is either side.
  bool matches(const World&, const TrackingTable::Visited&) const noexcept;
};

}  // namespace weir::engine
