// SPDX-License-Identifier: GPL-2.0-or-later
//
// The two kinds of load balancers that a loadBalancingScheme tells apart, and what to say of a
// field that stands in the wrong kind.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "config/schema.h"
#include "weir/model.h"

namespace weir::config {

constexpr bool isManaged(LoadBalancingScheme scheme) noexcept {
  return scheme == LoadBalancingScheme::internalManaged ||
         scheme == LoadBalancingScheme::externalManaged;
}

// Reports keys of `value` that belong to services of the other kind: `belongsTo` names it.
enum class ServiceKind : std::uint8_t { passthrough, proxy };
void refuseKeysOf(ServiceKind belongsTo, const Value& value,
                  std::initializer_list<std::string_view> keys, LoadBalancingScheme scheme,
                  Reader& reader);
// "loadBalancingScheme INTERNAL or EXTERNAL, not INTERNAL_MANAGED".
std::string needsScheme(ServiceKind kind, LoadBalancingScheme scheme);

}  // namespace weir::config
