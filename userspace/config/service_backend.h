// SPDX-License-Identifier: GPL-2.0-or-later
//
// backendServices[].backends[]: a group and, for proxies, its target capacity (X4.2).
#pragma once

#include <cstdint>
#include <optional>

#include "config/schema.h"
#include "weir/model.h"

namespace weir::config {

// Google spells the limit of one endpoint in two ways, and a mode that is not given is no mode that
// is wrong; so this keeps what was written.
struct RawBackend : ServiceBackend, GroupCapacity {
  std::optional<BalancingMode> declaredMode;
  std::optional<std::uint32_t> maxConnectionsPerInstance;
  std::optional<double> maxRatePerInstance;
  std::optional<double> declaredUtilization;
  friend bool operator==(const RawBackend&, const RawBackend&) = default;
};

const Schema<RawBackend>& backendSchema();

// The backend that was written, after checkBackend() found nothing wrong with it.
ServiceBackend takeBackend(const RawBackend& raw, bool managed);
RawBackend rawOf(const ServiceBackend& backend);

// What a backend may have in a service of this scheme.
void checkBackend(const Value& value, const RawBackend& raw, LoadBalancingScheme scheme,
                  Reader& reader);

}  // namespace weir::config
